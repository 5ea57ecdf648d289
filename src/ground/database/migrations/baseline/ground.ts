import { isJson, randomHex } from "../../../sql/mod.ts";

/** What the database knows about itself, and what gateways keep in it for a while. */
export const GROUND = [
  // One row: the rules that are installed, and the objects that they made, to be dropped before the next ones.
  `create table installed_rules (
    id integer primary key check (id = 1),
    revision integer not null check (revision >= 0),
    hash text not null,
    objects text not null check (${isJson("objects")}),
    installed_at_ms integer not null check (installed_at_ms >= 0)
  ) strict`,
  `insert into installed_rules (id, revision, hash, objects, installed_at_ms)
    values (1, 0, '', '[]', 0)`,
  // One row: which database it is. A gateway whose file was replaced by another must not go on in that one.
  `create table database_identity (
    only_row integer primary key check (only_row = 1),
    id text not null check (length(id) = 32)
  ) strict`,
  `insert into database_identity (only_row, id) values (1, ${randomHex(16)})`,
  // One row that is rewritten to see whether the database takes writes.
  `create table probes (
    id integer primary key check (id = 1),
    number integer not null
  ) strict`,
  // Secrets that all gateways at one server share.
  `create table secrets (
    name text primary key,
    value text not null,
    created_at_ms integer not null
  ) strict, without rowid`,
  // Items of replies that clients may refer to for a while, sealed. With a rowid, as a row may be long.
  `create table kept_items (
    account_id text not null references accounts (id),
    item_id text not null,
    bytes integer not null check (bytes > 0),
    created_at_ms integer not null,
    expires_at_ms integer not null,
    sealed text not null,
    primary key (account_id, item_id)
  ) strict`,
  // each has all that is read to find out which are surplus: of an account, and of all
  `create index kept_items_by_account on kept_items (account_id, expires_at_ms, bytes)`,
  `create index kept_items_by_expiry on kept_items (expires_at_ms, bytes)`,
];
