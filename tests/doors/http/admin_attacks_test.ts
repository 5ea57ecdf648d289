import type { Database } from "../../../src/ground/database/mod.ts";
import { pruneLog, pruneRequests } from "../../../src/people/operation_log/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { adminClient, contentOf, ownersClient } from "../../fake/admin_client.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { sharedGateway } from "../../fake/shared_gateway.ts";
import { canShareServer, sharedServer } from "../../fake/shared_server.ts";
import { tempDir } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

Deno.test("admin: who is demoted or whose key is revoked while a write runs writes nothing", async () => {
  let meanwhile: (() => Promise<unknown>) | undefined;
  await using gateway = await startGateway({
    wrapDatabase: (database): Database => ({
      place: database.place,
      dialect: database.dialect,
      get waiting() {
        return database.waiting;
      },
      all: (...args) => database.all(...args),
      one: (...args) => database.one(...args),
      async batch(statements) {
        if (statements.some(({ sql }) => sql.startsWith("insert into teams"))) {
          const work = meanwhile;
          meanwhile = undefined;
          await work?.();
        }
        return await database.batch(statements);
      },
      write: (...args) => database.write(...args),
      close: () => database.close(),
    }),
  });
  const { accounts, keys, teams, database } = gateway.gateway;
  const ways = ["demoted", "revoked", "disabled"] as const;
  for (const how of ways) {
    const operator = await accounts.create({ email: `${how}@example.com`, role: "operator" });
    const key = await keys.issue(operator, { scopes: ["admin"] });
    const client = adminClient(gateway.url, key.secret);
    meanwhile = () =>
      how === "demoted"
        ? accounts.setRole(operator.email, "none")
        : how === "revoked"
        ? keys.revoke(key.id)
        : accounts.disable(operator.email);
    const { status, json } = await client("POST", "/teams", { body: { name: "X" }, once: "t" });
    assertEquals([status, json.error.code], [403, "permission_denied"], how);
    assertEquals(await teams.list(), []);
  }
  const rows = await database.all("select operation, outcome, error from operation_log");
  assertEquals(
    rows.map(({ operation, outcome }) => [operation, outcome]),
    ways.map(() => ["team.create", "failed"]),
  );
});

Deno.test("admin: browsers of other origins read nothing, and requests are bounded", async () => {
  await using gateway = await startGateway({ settings: { limits: { adminRequestsPerMinute: 3 } } });
  const client = await ownersClient(gateway);
  const preflight = await fetch(`${gateway.url}/admin/v1/accounts`, {
    method: "OPTIONS",
    headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
  });
  await preflight.body?.cancel();
  assertEquals(preflight.status, 404);
  assertEquals(preflight.headers.get("access-control-allow-origin"), null);
  const headers = { origin: "https://evil.example" };
  const reply = await client("GET", "/accounts", { headers });
  assertEquals(reply.headers.get("access-control-allow-origin"), null);
  assert(reply.headers.get("x-request-id")?.startsWith("req_"));
  for (let count = 0; count < 2; count++) await client("GET", "/accounts");
  const over = await client("GET", "/accounts");
  assertEquals([over.status, over.json.error.code], [429, "rate_limit_exceeded"]);
  assert(Number(over.headers.get("retry-after")) > 0);
});

Deno.test("admin: a key is used again for another request, or after its reply is kept", async () => {
  let now = Date.now();
  await using gateway = await startGateway({ now: () => now });
  const { database, accounts } = gateway.gateway;
  const client = await ownersClient(gateway);
  const send = (email: string, path = "/accounts") =>
    client("POST", path, { body: { email }, once: "k" });
  const first = await send("a@example.com");
  assertEquals(first.status, 201);
  for (const [email, path] of [["b@example.com"], ["a@example.com", "/teams"]] as const) {
    const { status, json } = await send(email, path);
    assertEquals(status, path === undefined ? 409 : 400);
    if (path === undefined) assertEquals(json.error.code, "idempotency_key_reused");
  }
  const failed = await client("POST", "/accounts", { body: { email: "a@example.com" }, once: "f" });
  assertEquals([failed.status, failed.json.error.code], [409, "conflict"]);
  now += 25 * 3_600_000;
  while (await pruneRequests(database, { nowMs: now, limit: 100 })) { /* more */ }
  assertEquals(await database.all("select * from operation_requests"), []);
  // the log still knows that it was used: nothing happens twice
  for (const [once, email] of [["k", "a@example.com"], ["k", "c@example.com"], ["f", "d@x.com"]]) {
    const { status, json } = await client("POST", "/accounts", { body: { email }, once: once! });
    assertEquals([status, json.error.code], [409, "idempotency_key_reused"]);
  }
  assertEquals((await accounts.list()).length, 2);
});

Deno.test({
  name: "admin: one write sent many times at once to two gateways of a server takes effect once",
  ignore: !await canShareServer(),
  async fn() {
    await using dir = await tempDir();
    await using server = await sharedServer(dir.path);
    const settings = { database: { url: server.url } };
    await using one = await startGateway({ settings });
    await using other = await startGateway({ settings });
    const { secret } = await one.gateway.keys.issue(one.gateway.owner, { scopes: ["admin"] });
    const clients = [one, other].map(({ url }) => adminClient(url, secret));
    await Promise.all(clients.map((client) => client("GET", "/accounts")));
    for (
      const [path, body] of [
        ["/keys", { account: "owner@localhost", name: "race" }],
        ["/credits/grants", { account: "owner@localhost", credits: 7 }],
        ["/teams", { name: "Race" }],
      ] as const
    ) {
      const send = (number: number) => clients[number % 2]!("POST", path, { body, once: path });
      const replies = await Promise.all(
        Array.from({ length: sized(6, 40) }, (_, number) => send(number)),
      );
      const statuses = new Set(replies.map(({ status }) => status));
      assert(
        [...statuses].every((status) => status === 201 || status === 409),
        [...statuses].join(),
      );
      for (const { status, json, headers } of replies) {
        if (status === 201) continue;
        assertEquals(json.error.code, "in_progress");
        assertEquals(headers.get("retry-after"), "1");
      }
      const final = await send(1);
      assertEquals(final.status, 201);
      for (const { status, text } of replies) if (status === 201) assertEquals(text, final.text);
    }
    const { database } = one.gateway;
    const count = async (sql: string) => Number((await database.one(sql))!.n);
    assertEquals(await count("select count(*) as n from keys where name = 'race'"), 1);
    assertEquals(await count("select count(*) as n from lots where source = 'grant'"), 1);
    assertEquals(await count("select count(*) as n from teams"), 1);
    assertEquals(await count("select count(*) as n from operation_log"), 3);
    assertStringIncludes((await clients[1]!("GET", "/log")).text, "credits.grant");
  },
});

// those below share a gateway
const shared = sharedGateway();

shared("the log is only added to, and pruned forward", async (gateway) => {
  const { database } = gateway.gateway;
  const client = await ownersClient(gateway);
  await client("POST", "/accounts", { body: { email: "a@example.com" } });
  const run = (sql: string) => database.batch([{ sql }]);
  for (
    const sql of [
      "delete from operation_log",
      "update operation_log set actor = 'somebody'",
      "update operation_log set after = '{}'",
      "update operation_log set outcome = 'failed'",
      "update operation_log_pruned set before_ms = -1",
      "delete from operation_log_pruned",
    ]
  ) {
    await assertRejects(() => run(sql), Error);
  }
  const { json: { data: [row] } } = await client("GET", "/log");
  assertEquals([row.operation, row.actor, row.after.email, row.door], [
    "account.create",
    "owner@localhost",
    "a@example.com",
    "api",
  ]);
  const nowMs = Date.now();
  assertEquals(await pruneLog(database, { beforeMs: nowMs - 60_000, limit: 10 }), false);
  assertEquals((await client("GET", "/log")).json.data.length, 1);
  await pruneLog(database, { beforeMs: nowMs + 60_000, limit: 10 });
  assertEquals((await client("GET", "/log")).json.data, []);
  await assertRejects(() => run("update operation_log_pruned set before_ms = 1"), Error);
});

shared("admin: each scope and role does what it may, and no more", async (gateway) => {
  const { accounts, keys, teams, members, owner, database } = gateway.gateway;
  const client = async (email: string, scopes: ("admin" | "read" | "inference")[]) => {
    const { secret } = await keys.issue(await accounts.get(email), { scopes });
    return adminClient(gateway.url, secret);
  };
  const operator = await accounts.create({ email: "operator@example.com", role: "operator" });
  const finance = await accounts.create({ email: "finance@example.com", role: "finance" });
  const lead = await accounts.create({ email: "lead@example.com" });
  const team = await teams.create({ name: "Platform", pool: true });
  await members.add(team, lead, "lead");

  const reading = await client(owner.email, ["read"]);
  const before = await contentOf(database);
  assertEquals((await reading("GET", "/accounts")).status, 200);
  for (
    const [method, path, body] of [
      ["POST", "/accounts", { email: "x@example.com" }],
      ["POST", `/accounts/${lead.id}/sign-in-link`, {}],
      ["POST", "/keys", { account: owner.email, scopes: ["admin"] }],
      ["DELETE", `/teams/${team.id}/members/${lead.id}`, {}],
      ["POST", "/upstreams/simulator/test", {}],
    ] as const
  ) {
    const { status, json } = await reading(method, path, { body, once: "x" });
    assertEquals([status, json.error.code], [403, "permission_denied"], path);
  }
  assertEquals(await contentOf(database), before);

  const using = await client(owner.email, ["inference"]);
  assertEquals((await using("GET", "/accounts")).status, 403);
  const nobody = adminClient(gateway.url, "sk-0000000000000000000000000000000000");
  assertEquals((await nobody("GET", "/accounts")).status, 401);
  const onlyAdmin = await client(operator.email, ["admin"]);
  // an operator has no way to owners and settings
  for (
    const [method, path, body, expected] of [
      ["GET", "/settings", undefined, 403],
      ["POST", `/accounts/${owner.id}/disable`, {}, 403],
      ["POST", `/accounts/${owner.id}/sign-in-link`, {}, 403],
      ["POST", `/accounts/${operator.id}/role`, { role: "owner" }, 403],
      ["POST", `/accounts/${owner.id}/role`, { role: "none" }, 403],
      ["PATCH", `/accounts/${owner.id}`, { name: "x" }, 403],
      ["POST", "/keys", { account: owner.email }, 403],
      ["PUT", "/budgets", {
        owner: "account",
        owner_id: owner.id,
        period: "day",
        credits: 0,
      }, 403],
      ["POST", "/accounts/nobody@example.com/disable", {}, 404],
      ["POST", "/keys", { account: operator.email, scopes: ["admin", "read"] }, 201],
      ["POST", "/keys", { account: finance.email, scopes: ["admin"] }, 400],
      ["POST", "/keys", { team: team.id, scopes: ["admin"] }, 400],
    ] as const
  ) {
    const { status, text } = await onlyAdmin(method, path, { body });
    assertEquals(status, expected, `${method} ${path}: ${text}`);
  }

  const books = await client(finance.email, ["read"]);
  assertEquals((await books("GET", "/credits?account=owner@localhost")).status, 200);
  assertEquals((await books("GET", "/requests")).status, 200);
  for (const path of ["/log", "/settings", "/routes", "/keys", "/upstreams"]) {
    assertEquals((await books("GET", path)).status, 403, path);
  }

  // a lead has had a key of scope admin since it was an operator
  await accounts.setRole(lead.email, "operator");
  const leads = await client(lead.email, ["admin", "read"]);
  const made = await leads("POST", "/keys", { body: { account: lead.email }, once: "mine" });
  assertEquals(made.status, 201);
  await accounts.setRole(lead.email, "none");
  for (const path of [`/teams/${team.id}`, `/teams/${team.id}/members`, "/accounts", "/nobody"]) {
    const { status } = await leads("GET", path);
    assertEquals(status, path === "/nobody" ? 404 : 403, path);
  }
  // not even the secret that it was given before
  const again = await leads("POST", "/keys", { body: { account: lead.email }, once: "mine" });
  assertEquals(again.status, 403);
  assert(!again.text.includes(made.json.key));
  // what the new role allows takes a key of scope read
  await accounts.setRole(operator.email, "finance");
  for (const [method, path] of [["GET", "/accounts"], ["POST", "/alerts/retry"]] as const) {
    assertEquals((await onlyAdmin(method, path)).status, 403, path);
  }
  await accounts.disable(lead.email);
  assertEquals((await leads("GET", "/accounts")).status, 403);
});

shared("admin: hostile input is refused with a reason, and nothing is written", async (gateway) => {
  const client = await ownersClient(gateway);
  const { database } = gateway.gateway;
  const before = await contentOf(database);
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  for (
    const [body, param, path = "/accounts"] of [
      ["{", null],
      ["[]", null],
      ["null", null],
      ['"text"', null],
      [deep, null],
      [`{"email":"${"x".repeat(400_000)}@example.com"}`, null],
      [{}, "email"],
      [{ email: 5 }, "email"],
      [{ email: "not an address" }, null],
      [{ email: "a@example.com", role: "owner" }, "role"],
      ['{"email":"a@example.com","__proto__":{"role":"owner"}}', "__proto__"],
      ['{"email":"a@example.com","":1}', null],
      [{ account: "owner@localhost", budgets: [{ period: "day" }] }, "budgets.0.credits", "/keys"],
      [
        { account: "owner@localhost", budgets: [{ period: "day", credits: 1, "x.y": 1 }] },
        "budgets.0.x.y",
        "/keys",
      ],
      [{ email: "a\u202e@example.com" }, null],
      [{ email: "a@example.com", name: "\u0000" }, null],
      [{ email: "a@example.com", name: "n".repeat(201) }, null],
      [{ email: "a@example.com", kind: "pool" }, "kind"],
      [{ email: "a@example.com", invite_code: "nothing" }, null],
    ] as const
  ) {
    const { status, json } = await client("POST", path, { body });
    const text = JSON.stringify(body).slice(0, 80);
    assertEquals([status, json.error.code], [400, "invalid_request"], text);
    assertEquals(json.error.param, param, text);
    assertStringIncludes(json.error.message, param ?? "", text);
    assert(json.error.message.length < 400, text);
  }
  const email = "ok@example.com";
  for (const key of ["", "x".repeat(256), "caf\u00e9"]) {
    const headers = { "idempotency-key": key };
    const { status } = await client("POST", "/accounts", { body: { email }, headers });
    assertEquals(status, 400, JSON.stringify(key));
  }
  for (
    const path of [
      "/accounts?limit=0",
      "/accounts?limit=501",
      "/accounts?limit=1e2x",
      "/accounts?limit=5&limit=6",
      "/accounts?unknown=1",
      "/accounts?__proto__=1",
      "/log?since=yesterday",
      "/credits",
      "/credits?account=owner@localhost&team=x",
      "/credits/entries?account=owner@localhost&after=%27%20or%201",
      "/keys?all=yes",
    ]
  ) {
    assertEquals((await client("GET", path)).status, 400, path);
  }
  for (
    const [method, path] of [
      ["GET", "/accounts/nobody@example.com"],
      ["GET", "/accounts/acc_nothing"],
      ["GET", "/accounts/..%2f..%2fx"],
      ["GET", "/keys/key_nothing"],
      ["GET", "/requests/req_nothing"],
      ["GET", "/teams/%00"],
      ["DELETE", "/accounts"],
      ["POST", "/upstreams/__proto__/test"],
      ["DELETE", "/budgets/key:__proto__:life"],
      ["DELETE", "/budgets/nonsense"],
      ["POST", "/alerts/test/x"],
    ] as const
  ) {
    const { status, json } = await client(method, path);
    assertEquals([status, json.error.code], [404, "not_found"], path);
  }
  // a parameter of the path is not sent a second time
  const twice = await client("POST", "/accounts/owner@localhost/role", {
    body: { account: "x", role: "none" },
  });
  assertEquals([twice.status, twice.json.error.param], [400, "account"]);
  // failures of what was valid are in the log, and nothing else is new
  await database.batch([{ sql: "select 1" }]);
  const after = await contentOf(database);
  const without = (text: string) => text.replace(/operation_log\n[^]*?\n\n/, "");
  assertEquals(without(after), without(before));
  assertEquals(gateway.log().split("\n").filter((line) => line.includes('"error"')), []);
});

Deno.test("admin: a write that fails has the same error with an Idempotency-Key as without, first and repeated (table)", async () => {
  const upstream = "u".repeat(64);
  await using gateway = await startGateway({
    settings: { upstreams: { [upstream]: { url: "http://127.0.0.1:9/v1", key: "x" } } },
  });
  const client = await ownersClient(gateway);
  const ownKey = { account: "owner@localhost", key: "sk-own-0123456789", test: false };
  for (
    const [method, path, body, status, param] of [
      ["PUT", "/upstream-keys", { ...ownKey, upstream: "gone" }, 400, "upstream"],
      // whose message is longer than what the log keeps of it
      ["PUT", "/upstream-keys", { ...ownKey, upstream: "\u0001".repeat(64) }, 400, "upstream"],
      ["POST", "/accounts", { email: "owner@localhost" }, 409, null],
    ] as const
  ) {
    const send = (more: { once?: string }) => client(method, path, { body, ...more });
    const once = { once: JSON.stringify(body).slice(0, 200) };
    const [plain, first, repeated] = [await send({}), await send(once), await send(once)];
    assertEquals([plain.status, plain.json.error.param], [status, param], plain.text);
    assertEquals([first.status, first.json], [plain.status, plain.json]);
    assertEquals([repeated.status, repeated.text], [first.status, first.text]);
  }
});

shared("admin: secrets of replies work, with and without an Idempotency-Key", async (gateway) => {
  const client = await ownersClient(gateway);
  for (const once of [{}, { once: "k" }]) {
    const body = { account: "owner@localhost" };
    const { json: { id, key } } = await client("POST", "/keys", { body, ...once });
    assertEquals(await statusOf(gateway.chat("Hi", {}, { key })), 200);
    const { json: rotated } = await client("POST", `/keys/${id}/rotate`);
    assertEquals(await statusOf(gateway.chat("Hi", {}, { key: rotated.key })), 200);
    const path = `/accounts/${rotated.account_id}/sign-in-link`;
    const { json: { link } } = await client("POST", path);
    const reply = await fetch(link, { redirect: "manual" });
    await reply.body?.cancel();
    assertEquals(reply.headers.get("location"), "/console/");
  }
});
