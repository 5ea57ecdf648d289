/** What a signed-in tool is told and asks for: live credits, errors of its protocol, settings, telemetry. */

import { encodeHex } from "../../../src/ground/std/mod.ts";
import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { Callers } from "../../../src/doors/http/callers.ts";
import { Granted } from "../../../src/doors/tools/mod.ts";
import { canonicalJson } from "../../../src/doors/tools/managed_settings.ts";
import { setBudget } from "../../../src/money/ledger/mod.ts";
import { type Account, CLAUDE_CODE, ToolGrants } from "../../../src/people/accounts/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { until } from "../../fake/temp.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

const UNIFIED = "anthropic-ratelimit-unified-";
const HELLO = { model: "svc-k2", max_tokens: 20, messages: [{ role: "user", content: "Hi" }] };

/** An account with a token of a tool. */
async function signedIn(
  { gateway }: TestGateway,
  { client = CLAUDE_CODE, account }: { client?: string; account?: Account } = {},
) {
  const { database, registration, clock } = gateway;
  const owner = account ??
    await registration.register({ email: `${crypto.randomUUID()}@example.com` });
  const grants = new ToolGrants({
    database,
    now: clock.now,
    key: () => Promise.resolve(new Uint8Array(32)),
  });
  const { accessToken: key, keyId } = await grants.issue(owner, client);
  return { account: owner, key, keyId, grants };
}

/** What a response says beside its body, of one family of headers. */
function family({ headers }: Response, prefix = UNIFIED): Record<string, string> {
  return Object.fromEntries(
    [...headers].filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), value]),
  );
}

async function read(reply: Promise<Response>) {
  const response = await reply;
  const text = await response.text();
  return { response, status: response.status, text, told: family(response) };
}

const get = (
  { url }: TestGateway,
  path: string,
  key: string,
  headers: Record<string, string> = {},
) => read(fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } }));

Deno.test("a signed-in Claude Code is told its budget on each message, and nobody else; what an upstream says of its own stays away", async () => {
  await using upstream = fakeUpstream(() => {
    const reply = completion("well");
    reply.headers.set(`${UNIFIED}status`, "rejected");
    reply.headers.set("anthropic-ratelimit-requests-remaining", "1");
    return reply;
  });
  const toMidMonthMs = Date.UTC(2027, 0, 15) - Date.now(); // its budget renews in days
  await using gateway = await startGateway({
    now: () => Date.now() + toMidMonthMs,
    settings: {
      signIn: {},
      upstream: { url: upstream.url },
      credits: { signup: 1_000, perUsd: 100 },
    },
  });
  const { database, clock, keys } = gateway.gateway;
  const { key, account } = await signedIn(gateway);
  const { key: codex } = await signedIn(gateway, { client: "Codex", account });
  const { secret: plain } = await keys.issue(account);
  const nowMs = clock.now();
  const { renewsAtMs } = await setBudget(database, {
    owner: "account",
    ownerId: account.id,
    period: "month",
    credits: 4,
  }, { nowMs });
  const reset = String(renewsAtMs! / 1_000);
  const ask = (more = {}, token = key) =>
    read(gateway.post("/v1/messages", { ...HELLO, ...more }, { key: token }));

  await until(async () => "status" in (await ask()).told, { what: "the budget" });
  const spent = await get(gateway, "/api/oauth/usage", key);
  const before = JSON.parse(spent.text).extra_usage;
  assertEquals([before.monthly_limit, before.currency], [4, "USD"]);
  assertEquals(spent.response.headers.get("cache-control"), "no-store");
  for (let used = before.used_credits; used < 3; used++) await ask();
  const told = (await ask({ stream: true })).told;
  assertEquals(told, {
    status: "allowed_warning",
    "representative-claim": "overage",
    "overage-status": "allowed_warning",
    "overage-utilization": "0.75",
    "overage-surpassed-threshold": "0.75",
    reset,
    "overage-reset": reset,
  });
  const { limits } = JSON.parse((await get(gateway, "/api/oauth/usage", key)).text);
  assertEquals([limits.length, limits[0].group, limits[0].is_active], [1, "monthly", true]);
  assertEquals(Date.parse(limits[0].resets_at) / 1_000, Number(reset));

  const blocked = await ask();
  const { error } = JSON.parse(blocked.text);
  assertEquals([blocked.status, error.type], [429, "billing_error"]);
  assertMatch(error.message, /^The monthly budget of this account does not cover .* It renews at /);
  assertEquals([blocked.told.status, blocked.told.reset, blocked.told["overage-period"]], [
    "rejected",
    reset,
    "monthly",
  ]);
  assertEquals(blocked.told["representative-claim"], undefined, "else its own sentence is shown");
  assertEquals(blocked.response.headers.get("x-should-retry"), "false");
  assert(Number(blocked.response.headers.get("retry-after")) > 60);
  // the contract's table holds for everybody else
  for (const other of [plain, codex]) {
    const { status, text, told } = await ask({}, other);
    assertEquals([status, JSON.parse(text).error.type, told], [403, "invalid_request_error", {}]);
  }
  assertEquals((await read(gateway.chat("Hi", {}, { key }))).status, 403);
  assertEquals(
    (await read(gateway.post("/v1/messages", HELLO))).response.headers.get(
      "anthropic-ratelimit-requests-remaining",
    ),
    null,
  );
});

Deno.test("without a budget it is the balance, which is read once in a while; a token without credits is told so", async () => {
  await using gateway = await startGateway({
    settings: { signIn: {}, credits: { signup: 4 } },
  });
  const { key, account } = await signedIn(gateway);
  const ask = () => read(gateway.post("/v1/messages", HELLO, { key }));
  // without asking a model: that spends what is looked for
  const shown = async () => JSON.parse((await get(gateway, "/api/oauth/usage", key)).text).limits;
  await until(async () => (await shown()).length > 0, { what: "the balance" });
  const [balance] = await shown();
  assertEquals([balance.group, balance.resets_at], ["balance", null]);
  assert("overage-utilization" in (await ask()).told);
  for (let status = 200; status === 200;) ({ status } = await ask());
  const { status, text, told, response } = await ask();
  assertEquals([status, JSON.parse(text).error.type, told.status, told.reset], [
    429,
    "billing_error",
    "rejected",
    undefined,
  ]);
  assertEquals(response.headers.get("retry-after"), "3600");
  await gateway.gateway.accounts.disable(account.email);
  await until(async () => (await ask()).status === 403, { what: "the account is disabled" });
  assertEquals(JSON.parse((await ask()).text).error.type, "permission_error");
});

Deno.test("a tool that is signed out is told at its next request, and one that sends too much that it is too much", async () => {
  await using gateway = await startGateway({
    settings: { signIn: {}, limits: { bodyBytes: 65_536 } },
  });
  const { key, keyId, grants } = await signedIn(gateway);
  const large = { ...HELLO, messages: [{ role: "user", content: "x".repeat(70_000) }] };
  const ask = (body: unknown, token: string) =>
    read(gateway.post("/v1/messages", body, { key: token }));
  const tooLarge = await ask(large, key);
  assertEquals([tooLarge.status, JSON.parse(tooLarge.text).error.type], [413, "request_too_large"]);
  const asEver = await ask(large, gateway.key);
  assertEquals([asEver.status, JSON.parse(asEver.text).error.type], [400, "invalid_request_error"]);
  await grants.end(keyId);
  await until(async () => (await ask(HELLO, key)).status === 401, { what: "the end" });
  for (const path of ["/api/oauth/usage", "/managed/settings"]) {
    const { status, text, response } = await get(gateway, path, key);
    assertEquals([status, JSON.parse(text).error.type], [401, "authentication_error"], path);
    assertEquals(response.headers.get("x-should-retry"), "false");
  }
});

Deno.test("managed settings are those of the first team that somebody is in, else those for all; a tool that has them is told so", async () => {
  const core = { model: "claude-svc-k3", env: { B: "2", A: "1" }, permissions: { deny: ["Bash"] } };
  const settings: SettingsInput = {
    signIn: { managedSettings: { all: {}, teams: { Core: core, Other: { model: "x" } } } },
  };
  await using gateway = await startGateway({ settings });
  const { teams, members } = gateway.gateway;
  const { key, account } = await signedIn(gateway);
  const ask = (headers = {}) => get(gateway, "/managed/settings", key, headers);
  const forAll = await ask();
  assertEquals([forAll.status, JSON.parse(forAll.text).settings], [200, {}]);
  const other = await teams.create({ name: "Other", pool: false });
  const team = await teams.create({ name: "Core", pool: false });
  await members.add(other, account);
  await members.add(team, account);
  const { text, response } = await ask();
  const { uuid, checksum, settings: sent } = JSON.parse(text);
  assertEquals(sent, core);
  assertMatch(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  // as a tool computes it of what it has, whatever the order of its fields
  const bytes = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(
      '{"env":{"A":"1","B":"2"},"model":"claude-svc-k3","permissions":{"deny":["Bash"]}}',
    ),
  );
  assertEquals(checksum, `sha256:${encodeHex(new Uint8Array(bytes))}`);
  const etag = response.headers.get("etag")!;
  assertEquals(etag.replace("W/", ""), `"${checksum}"`, "Deno 2.4 makes it weak: it compresses");
  for (const known of [etag, `"${checksum}"`]) {
    assertEquals((await ask({ "if-none-match": known })).status, 304);
  }
  assertEquals((await ask({ "if-none-match": "*" })).status, 200);
  assertEquals(
    (await ask({ "if-none-match": `"${JSON.parse(forAll.text).checksum}"` })).status,
    200,
  );
  await members.stop(team, account);
  assertEquals(JSON.parse((await ask()).text).settings, { model: "x" });
  await gateway.reload({ signIn: {} });
  const none = await ask();
  assertEquals([none.status, JSON.parse(none.text).type], [404, "error"]);
  assertEquals(
    canonicalJson({ b: [1, { d: null, c: "é" }], a: true }),
    '{"a":true,"b":[1,{"c":"é","d":null}]}',
  );
});

Deno.test("telemetry of tools goes to the collector with the account of its token, or nowhere; too much of it is refused", async () => {
  const received: { path: string; headers: Headers; text: string }[] = [];
  await using collector = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname: path } = new URL(request.url);
      received.push({ path, headers: request.headers, text: await request.text() });
      return new Response();
    },
  );
  const url = `http://127.0.0.1:${collector.addr.port}/otel/`;
  await using gateway = await startGateway({
    settings: { signIn: { telemetry: { url, headers: { "x-collector": "${COLLECTOR_KEY}" } } } },
    env: { COLLECTOR_KEY: "of the collector" },
  });
  const { key, keyId, account } = await signedIn(gateway);
  const send = (path: string, body: BodyInit, headers: Record<string, string> = {}) =>
    read(fetch(`${gateway.url}${path}`, {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    }));
  const lie = { attributes: [{ key: "user.email", value: { stringValue: "boss@example.com" } }] };
  for (
    const [path, kind] of [
      ["/v1/traces", "resourceSpans"],
      ["/v1/metrics", "resourceMetrics"],
      ["/v1/logs", "resourceLogs"],
    ] as const
  ) {
    const count = received.length;
    const sent = await send(path, JSON.stringify({ [kind]: [{ resource: lie, said: "yes" }] }));
    assertEquals([sent.status, sent.text], [200, "{}"]);
    await until(() => received.length > count, { what: "the telemetry" });
    const { path: at, headers, text } = received.at(-1)!;
    assertEquals([at, headers.get("x-collector")], [`/otel${path}`, "of the collector"]);
    assertEquals(headers.get("authorization"), null, "the token stays here");
    const [{ resource, said }] = JSON.parse(text)[kind];
    assertEquals(said, "yes");
    assertEquals(
      Object.fromEntries(
        resource.attributes.map((
          { key, value }: { key: string; value: { stringValue: string } },
        ) => [key, value.stringValue]),
      ),
      {
        "user.id": account.id,
        "user.email": account.email,
        "sluice.key_id": keyId,
        "sluice.tool": "Claude Code",
      },
    );
  }
  const protobuf = { "content-type": "application/x-protobuf" };
  const empty = await send("/v1/logs", Uint8Array.from([10, 0]), protobuf);
  assertEquals(empty.status, 200);
  await until(() => received.at(-1)!.text.includes(account.email), { what: "protocol buffers" });
  // exporters compress where OTEL_EXPORTER_OTLP_COMPRESSION says so
  const packed = (text: string) =>
    new Response(
      new Blob([text]).stream().pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer();
  const gzip = { "content-encoding": "gzip" };
  const squeezed = await send("/v1/logs", await packed('{"resourceLogs":[{"said":"gzip"}]}'), gzip);
  assertEquals([squeezed.status, squeezed.text], [200, "{}"]);
  await until(() => received.at(-1)!.text.includes('"said":"gzip"'), { what: "what was packed" });
  assertStringIncludes(received.at(-1)!.text, account.email);
  const bomb = await send("/v1/logs", await packed("x".repeat(2 * 1_048_576 + 1)), gzip);
  assertEquals([bomb.status, JSON.parse(bomb.text).error.type], [413, "request_too_large"]);
  const faults = [
    await send("/v1/logs", "{", {}),
    await send("/v1/logs", Uint8Array.from([10, 5]), protobuf),
    await send("/v1/logs", "{}", { "content-encoding": "gzip" }),
  ];
  assertEquals(faults.map(({ status }) => status), [400, 400, 400]);
  const tooLarge = await send("/v1/logs", "x".repeat(2 * 1_048_576 + 1));
  assertEquals([tooLarge.status, JSON.parse(tooLarge.text).error.type], [413, "request_too_large"]);
  let last = 200;
  for (let sent = 0; last !== 429 && sent < 300; sent++) {
    ({ status: last } = await send("/v1/logs", "{}"));
  }
  const refused = await send("/v1/logs", "{}");
  assertEquals([refused.status, JSON.parse(refused.text).error.type], [429, "rate_limit_error"]);
  assert(Number(refused.response.headers.get("retry-after")) >= 1);
  assertEquals((await read(gateway.post("/v1/messages", HELLO, { key }))).status, 200);
  assertEquals(
    (await send("/v1/logs", "{}", { authorization: "Bearer sk-unknown-unknown-1" })).status,
    401,
  );

  await gateway.reload({ signIn: {} });
  const count = received.length;
  const dropped = await send("/v1/logs", '{"resourceLogs":[]}');
  assertEquals([dropped.status, received.length], [200, count]);
  await gateway.reload({ signIn: { telemetry: { url: "http://127.0.0.1:1" } } });
  assertEquals(
    (await send("/v1/logs", "{}")).status,
    200,
    "the tool does not wait for a collector",
  );
  await until(() => gateway.log().includes("was not relayed"), { what: "the warning" });
  assert(!gateway.log().includes(key));
});

Deno.test("telemetry of one account that comes slowly is bounded, and keeps nobody else's away", async () => {
  await using gateway = await startGateway({ settings: { signIn: {} } });
  const { key } = await signedIn(gateway);
  const { key: other } = await signedIn(gateway);
  const send = (body: BodyInit, token = key) =>
    fetch(`${gateway.url}/v1/logs`, {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    });
  const slow = Array.from({ length: 8 }, () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const reply = send(readable);
    return { reply, writer, begun: writer.write(new TextEncoder().encode("{")) };
  });
  await Promise.all(slow.map(({ begun }) => begun));
  await until(async () => (await read(send("{}"))).status === 503, { what: "the bound" });
  const { status, response } = await read(send("{}"));
  assertEquals([status, response.headers.get("retry-after")], [503, "2"]);
  assertEquals((await read(send("{}", other))).status, 200);
  for (const { writer } of slow) {
    await writer.write(new TextEncoder().encode("}"));
    await writer.close();
  }
  const ends = await Promise.all(slow.map(async ({ reply }) => (await read(reply)).status));
  assertEquals(ends, slow.map(() => 200));
  assertEquals((await read(send("{}"))).status, 200);
});

Deno.test("without signIn there is nothing of it", async () => {
  await using gateway = await startGateway();
  const { key, account } = await signedIn(gateway);
  for (const path of ["/api/oauth/usage", "/managed/settings"]) {
    assertEquals((await get(gateway, path, key)).status, 404);
  }
  const { secret } = await gateway.gateway.keys.issue(account);
  await setBudget(gateway.gateway.database, {
    owner: "account",
    ownerId: account.id,
    period: "day",
    credits: 1_000,
  }, { nowMs: Date.now() });
  for (let asked = 0; asked < 3; asked++) {
    const { status, told } = await read(gateway.post("/v1/messages", HELLO, { key: secret }));
    assertEquals([status, told], [200, {}]);
  }
  for (const path of ["/v1/traces", "/v1/metrics", "/v1/logs"]) {
    const { status, text } = await read(gateway.post(path, {}, { key }));
    assertEquals(status, 404);
    assertStringIncludes(text, "not_found");
  }
});

Deno.test("what Claude Code shows of the balance reads lots once a minute, and only for itself; a key of another scope gets nothing", async () => {
  const read: string[] = [];
  const account = (accountId: string, more = {}) => ({
    ...{ accountId, tool: CLAUDE_CODE, hasBudget: false, teamId: null },
    scopes: new Set(["inference"]),
    ...more,
  });
  const callers: Record<string, unknown> = {
    own: account("own"),
    pool: account("pool", { teamId: "team" }),
    limited: account("limited", { hasBudget: true }),
    key: account("key", { tool: null }),
    other: account("other", { tool: "Codex" }),
  };
  const parts = { keyRing: { identify: ([key]: string[]) => callers[key!] } };
  // deno-lint-ignore no-explicit-any -- only what it looks up
  const door = new Callers(parts as any, { of: (id) => (read.push(id), 7) });
  for (const key of Object.keys(callers)) {
    const request = new Request("http://x", { headers: { "x-api-key": key } });
    // deno-lint-ignore no-explicit-any -- only what it notes
    const state: any = {};
    await door.identify(request, state);
    assertEquals(state.granted, key === "own" ? 7 : undefined, key);
  }
  assertEquals(read, ["own"]);

  await using gateway = await startGateway({ settings: { signIn: {} } });
  const { keys, accounts, database } = gateway.gateway;
  let nowMs = Date.now();
  let reads = 0;
  const counted = {
    ...database,
    all: (...args: Parameters<typeof database.all>) => (reads++, database.all(...args)),
    one: (...args: Parameters<typeof database.one>) => (reads++, database.one(...args)),
  } as typeof database;
  const owner = (await accounts.owner())!;
  const granted = new Granted(counted, () => nowMs);
  assertEquals(granted.of(owner.id), undefined, "no request waits");
  await until(() => granted.of(owner.id) === 1_000_000, { what: "the lots" });
  const before = reads;
  assertEquals([granted.of(owner.id), reads], [1_000_000, before]);
  nowMs += 60_000;
  assertEquals([granted.of(owner.id), reads > before], [1_000_000, true]);
  const { secret } = await keys.issue(owner, { scopes: ["read"] });
  for (const path of ["/api/oauth/usage", "/managed/settings"]) {
    assertEquals((await get(gateway, path, secret)).status, 403);
  }
});
