import { DatabaseSync } from "node:sqlite";

/** Rows of a table, by column. */
type Rows = readonly Readonly<Record<string, string | number | null>>[];

/** The columns that New-API's tables have, as far as they matter. */
const NEW_API = [
  `create table channels (id integer primary key autoincrement, type integer default 0,
    key text not null, openai_organization text, test_model text, status integer default 1,
    name text, weight integer default 0, created_time bigint, base_url text default '',
    other text, models text, "group" varchar(64) default 'default', used_quota bigint default 0,
    model_mapping text, status_code_mapping varchar(1024) default '', priority bigint default 0,
    auto_ban integer default 1, other_info text, tag text, setting text, param_override text,
    header_override text, remark varchar(255), channel_info json, settings text)`,
  `create table tokens (id integer primary key autoincrement, user_id integer, key char(48),
    status integer default 1, name text, created_time bigint, accessed_time bigint,
    expired_time bigint default -1, remain_quota integer default 0, unlimited_quota numeric,
    model_limits_enabled numeric, model_limits text, allow_ips text default '',
    used_quota integer default 0, "group" text default '', cross_group_retry numeric,
    deleted_at datetime)`,
  `create table users (id integer primary key autoincrement, username text unique,
    password text not null, display_name text, role integer default 1, status integer default 1,
    email text, access_token char(32), quota integer default 0, used_quota integer default 0,
    request_count integer default 0, "group" varchar(64) default 'default', aff_code varchar(32),
    inviter_id integer, deleted_at datetime, setting text)`,
  `create table options ("key" text primary key, value text)`,
  `create table abilities ("group" varchar(64), model varchar(255), channel_id integer,
    enabled numeric, priority bigint default 0, weight integer default 0,
    primary key ("group", model, channel_id))`,
  `create table logs (id integer primary key autoincrement, user_id integer, content text)`,
];

/** One-API, from which New-API comes. */
const ONE_API = [
  `create table channels (id integer primary key autoincrement, type integer default 0, key text,
    status integer default 1, name text, weight integer default 0, created_time bigint,
    base_url text default '', other text, balance real, models text,
    "group" varchar(32) default 'default', used_quota bigint default 0,
    model_mapping varchar(1024) default '', priority bigint default 0, config text,
    system_prompt text)`,
  `create table tokens (id integer primary key autoincrement, user_id integer, key char(48),
    status integer default 1, name text, created_time bigint, accessed_time bigint,
    expired_time bigint default -1, remain_quota bigint default 0, unlimited_quota numeric default
    false, used_quota bigint default 0, models text, subnet text default '')`,
  `create table users (id integer primary key autoincrement, username text unique,
    password text not null, display_name text, role integer default 1, status integer default 1,
    email text, access_token char(32), quota bigint default 0, "group" varchar(32) default 'default')`,
  `create table options ("key" text primary key, value text)`,
];

/** Makes a database of New-API or One-API. */
export function makeSource(
  path: string,
  flavour: "new-api" | "one-api",
  tables: Readonly<Record<string, Rows>>,
): void {
  const database = new DatabaseSync(path);
  database.exec("pragma journal_mode = wal"); // as New-API's own driver opens it
  for (const sql of flavour === "new-api" ? NEW_API : ONE_API) database.exec(sql);
  for (const [table, rows] of Object.entries(tables)) {
    for (const row of rows) {
      const columns = Object.keys(row);
      database.prepare(
        `insert into ${table} (${columns.map((one) => `"${one}"`).join(", ")})
          values (${columns.map(() => "?").join(", ")})`,
      ).run(...Object.values(row));
    }
  }
  database.close();
}

const key = (character: string) => character.repeat(48);

/** Keys of its tokens, as clients send them. */
export const KEYS = { ada: `sk-${key("a")}`, bob: `sk-${key("b")}`, root: `sk-${key("r")}` };

/** A shop with two providers, three users and a group of its own. */
export function shop(): Record<string, Rows> {
  return {
    channels: [
      {
        type: 1,
        key: "sk-channel-secret-1\nsk-channel-secret-2\nsk-channel-off\n",
        name: "OpenAI main",
        models: "gpt-4o,gpt-4o-mini,house-model,text-embedding-3-small",
        group: "default,vip",
        priority: 10,
        weight: 3,
        channel_info: '{"is_multi_key":true,"multi_key_status_list":{"2":2}}',
      },
      {
        type: 8,
        key: "sk-reseller-secret",
        name: "Reseller",
        base_url: "https://reseller.example/",
        models: "gpt-4o",
        model_mapping: '{"gpt-4o":"vendor/gpt-4o"}',
        priority: 10,
        param_override: '{"temperature":0}',
      },
      {
        type: 14,
        key: "sk-ant-secret",
        name: "Claude",
        models: "gpt-4o,claude-sonnet-4-5,per-call",
        model_mapping: '{"gpt-4o":"claude-sonnet-4-5"}',
      },
      { type: 14, key: "sk-vip-secret", name: "VIP", models: "claude-opus-4-5", group: "vip" },
      {
        type: 33,
        key: "AKIA-secret|aws-secret-value|eu-central-1",
        name: "Bedrock",
        models: "claude-sonnet-4-5-20250929,nova-pro-v1:0",
      },
      { type: 1, key: "sk-off-secret", name: "Off", models: "gpt-4", status: 2 },
    ],
    users: [
      { username: "root", password: "hash", role: 100, quota: 100_000_000, email: "" },
      {
        username: "ada",
        password: "hash",
        display_name: "Ada L.",
        email: "Ada@Example.com",
        quota: 1_250_000,
        access_token: "personal-access-secret",
      },
      { username: "bob", password: "hash", email: "ada@example.com", quota: 499 },
      { username: "off", password: "hash", status: 2, quota: 500_000 },
      { username: "gone", password: "hash", deleted_at: "2026-01-01 00:00:00", quota: 500_000 },
    ],
    tokens: [
      { user_id: 1, key: key("r"), name: "root token", unlimited_quota: 1 },
      {
        user_id: 2,
        key: key("a"),
        name: "laptop",
        remain_quota: 600_000,
        model_limits_enabled: 1,
        model_limits: "gpt-4o,nowhere",
        expired_time: 4_000_000_000,
        allow_ips: "10.0.0.1",
      },
      { user_id: 3, key: key("b"), name: "ci", unlimited_quota: 1, group: "vip" },
      { user_id: 2, key: key("c"), name: "old", expired_time: 1_000_000_000, unlimited_quota: 1 },
      { user_id: 2, key: key("d"), name: "off", status: 2, unlimited_quota: 1 },
      { user_id: 4, key: key("e"), name: "of the disabled", unlimited_quota: 1 },
      { user_id: 2, key: "short", name: "strange", remain_quota: 500 },
      { user_id: 2, key: key("f"), deleted_at: "2026-01-01 00:00:00", unlimited_quota: 1 },
    ],
    options: [
      {
        key: "ModelRatio",
        value: '{"gpt-4o":1.25,"gpt-4o-mini":0.075,"house-model":2,"claude-sonnet-4-5":1.5}',
      },
      { key: "CompletionRatio", value: '{"gpt-4o":4,"house-model":3}' },
      { key: "CacheRatio", value: '{"gpt-4o":0.5}' },
      { key: "ModelPrice", value: '{"per-call":0.02}' },
      { key: "GroupRatio", value: '{"default":1,"vip":0.5}' },
      { key: "SMTPToken", value: "smtp-secret-value" },
    ],
    logs: [{ user_id: 1, content: "private" }, { user_id: 2, content: "private" }],
  };
}
