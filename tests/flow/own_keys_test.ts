/** Keys of upstreams that belong to accounts and teams: who they are used for, when, and what replies to them cost. */

import { audit } from "../../src/money/ledger/mod.ts";
import type { Account, Key, Team } from "../../src/people/accounts/mod.ts";
import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { ownersClient } from "../fake/admin_client.ts";
import { guardedDatabase } from "../fake/guarded_database.ts";
import { startGateway, statusOf, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { sluice } from "../fake/shell.ts";
import { teamOf, TOKENS } from "../fake/team.ts";
import { until } from "../fake/temp.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";
import { signedIn } from "../fake/visitor.ts";
import { sized } from "../tier.ts";

const USAGE = { prompt_tokens: 3, completion_tokens: TOKENS, total_tokens: 3 + TOKENS };
const GATEWAYS = "the-gateway's-key-of-";

/** An upstream that notes with which key each text came, and does with a key what the test says. */
function upstreamOf(does: Record<string, () => Response | undefined> = {}) {
  const sent: { key: string; text: string }[] = [];
  const listed: string[] = []; // keys that asked for its models
  const upstream = fakeUpstream(({ headers, body, path }) => {
    const key = headers.get("authorization")?.slice("Bearer ".length) ?? "none";
    if (path.endsWith("/models")) {
      listed.push(key);
      return does[key]?.() ?? Response.json({ object: "list", data: [{ id: "m" }] });
    }
    if (path.endsWith("/embeddings")) {
      sent.push({ key, text: String(body.input) });
      return does[key]?.() ?? Response.json({
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: [0.5, 0.5] }],
        usage: { prompt_tokens: TOKENS, total_tokens: TOKENS },
      });
    }
    sent.push({ key, text: body.user ?? body.messages.at(-1).content });
    const other = does[key]?.();
    if (other !== undefined) return other;
    if (!body.stream) return completion("well", { usage: USAGE });
    return eventStream(
      sse(
        chunk({ role: "assistant", content: "well" }),
        chunk({}, "stop"),
        JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [], usage: USAGE }),
      ),
    );
  });
  return Object.assign(upstream, { sent, listed, does });
}

function refusing(status: number, code = "invalid_api_key") {
  return () => Response.json({ error: { message: "no", code } }, { status });
}

function settingsOf(
  urls: Record<string, string>,
  { ownKey, ...more }: { ownKey?: number } & Record<string, unknown> = {},
): SettingsInput {
  const targets = Object.keys(urls).map((upstream) => ({ upstream, model: "m" }));
  const prices = {
    input: 0,
    cached: 0,
    output: 1_000_000,
    ...(ownKey !== undefined && { ownKey }),
  };
  return {
    upstreams: Object.fromEntries(
      Object.entries(urls).map(([name, url]) => [name, {
        url,
        key: GATEWAYS + name,
        headers: { "X-Title": "Sluice" },
        ...more,
      }]),
    ),
    routes: {
      token: { context: 200_000, maxOutput: 1_000, minimum: 1, prices, targets },
      vectors: {
        kind: "embeddings",
        context: 8_000,
        minimum: 0,
        prices: { input: 1_000_000, ...(ownKey !== undefined && { ownKey }) },
        targets,
      },
    },
  } as SettingsInput;
}

/** How often the gateway of a test has looked whether keys have changed. */
let looks = 0;

/** Waits until a gateway has noticed a change of keys: a look that began before the change may not show it, the next one does. */
async function noticed(): Promise<void> {
  const before = looks;
  await until(() => looks >= before + 2, { what: "looks at the keys" });
}

/** A gateway that counts its looks at the keys. */
function start(settings: SettingsInput): Promise<TestGateway> {
  return startGateway({
    settings,
    wrapDatabase: (database) => ({
      ...guardedDatabase(database, () => {}),
      async one(sql, args) {
        const row = await database.one(sql, args);
        if (/from revisions where noun = 'keys'/.test(sql)) setTimeout(() => looks++, 0);
        return row;
      },
    }),
  });
}

const chat = (gateway: TestGateway, text: string, key: string, more = {}, headers = {}) =>
  gateway.post("/v1/chat/completions", {
    model: "token",
    messages: [{ role: "user", content: text }],
    max_tokens: TOKENS,
    ...more,
  }, { key, headers });

Deno.test("a team's key is set, tested, used, rotated and removed; the log and the replies do not have it", async () => {
  await using upstream = upstreamOf({ "sk-rejected-0123456789": refusing(401) });
  await using gateway = await start(settingsOf({ one: upstream.url }));
  const admin = await ownersClient(gateway);
  const { team, members: [member] } = await teamOf(gateway);
  const key = member!.key.secret;
  const set = (key: string, more = {}) =>
    admin("PUT", "/upstream-keys", { body: { team: team.id, upstream: "one", key, ...more } });

  const rejected = await set("sk-rejected-0123456789");
  assertEquals([rejected.status, rejected.json.error.param], [400, "key"]);
  assertStringIncludes(rejected.json.error.message, "one does not accept the key (status 401)");
  const [bad, none, unknown] = [
    await set("two words and more"),
    await admin("PUT", "/upstream-keys", { body: { upstream: "one", key: "sk-own" } }),
    await admin("PUT", "/upstream-keys", { body: { team: team.id, upstream: "two", key: "sk" } }),
  ];
  assertEquals([bad.status, none.status, unknown.status], [400, 400, 400]);
  assertStringIncludes(unknown.json.error.message, "Upstreams of the settings: one");
  assertEquals(await statusOf(chat(gateway, "before", key)), 200);

  const first = await set("sk-first-0123456789abcd");
  assertEquals([first.status, first.json.hint, first.json.team_id], [200, "abcd", team.id]);
  await noticed();
  assertEquals(await statusOf(chat(gateway, "first", key)), 200);
  const second = await set("sk-second-0123456789wxyz");
  assertEquals([second.json.hint, second.json.id], ["wxyz", first.json.id]);
  await noticed();
  assertEquals(await statusOf(chat(gateway, "second", key)), 200);
  const listed = await admin("GET", `/upstream-keys?team=${team.id}`);
  assertEquals(listed.json.data.map((one: { hint: string }) => one.hint), ["wxyz"]);
  const path = `/upstream-keys/${first.json.id}`;
  assertEquals((await admin("DELETE", path)).json.hint, "wxyz");
  assertEquals((await admin("DELETE", path)).status, 404);
  await noticed();
  assertEquals(await statusOf(chat(gateway, "after", key)), 200);

  assertEquals(upstream.sent, [
    { key: "the-gateway's-key-of-one", text: "before" },
    { key: "sk-first-0123456789abcd", text: "first" },
    { key: "sk-second-0123456789wxyz", text: "second" },
    { key: "the-gateway's-key-of-one", text: "after" },
  ]);
  const records = await usageRecords(gateway);
  assertEquals(records.map((one) => [one.charged_credits, one.own_key]), [
    [TOKENS, null],
    [0, "team"],
    [0, "team"],
    [TOKENS, null],
  ]);
  const rows = await gateway.gateway.database.all("select * from operation_log");
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  const files = await Promise.all(
    ["sluice.db", "sluice.db-wal"].map(async (name) =>
      new TextDecoder("latin1").decode(await Deno.readFile(`${gateway.directory}/data/${name}`))
    ),
  );
  const everything = [
    JSON.stringify([rows, records, listed.json]),
    gateway.log(),
    metrics,
    ...files,
  ]
    .join("\n");
  for (const secret of ["sk-first", "sk-second", "sk-rejected", "two words"]) {
    assert(!everything.includes(secret), secret);
  }
});

Deno.test("what is stored of an own key is encrypted for its owner and upstream", async () => {
  await using upstream = upstreamOf();
  await using gateway = await start(settingsOf({ one: upstream.url, two: upstream.url }));
  const admin = await ownersClient(gateway);
  const [mine, others] = [await teamOf(gateway), await teamOf(gateway)];
  const key = "sk-mine-0123456789abcd";
  await admin("PUT", "/upstream-keys", { body: { team: mine.team.id, upstream: "one", key } });
  const { database } = gateway.gateway;
  const [row] = await database.all("select * from upstream_keys");
  assert(!JSON.stringify(row).includes("sk-mine"));
  const send = async (team: typeof mine, text: string) => {
    await noticed();
    assertEquals(await statusOf(chat(gateway, text, team.members[0]!.key.secret)), 200);
    return upstream.sent.at(-1)!.key;
  };
  assertEquals(await send(mine, "own"), key);
  // moved in the database to another team, or to another upstream, it is of no use
  const move = (teamId: string, upstream: string) =>
    database.batch([{
      sql: "update upstream_keys set id = ? || ':' || ?, team_id = ?, upstream = ?",
      args: [teamId, upstream, teamId, upstream],
    }]);
  await move(others.team.id, "one");
  assertEquals(await send(others, "moved"), "the-gateway's-key-of-one");
  await move(mine.team.id, "two");
  assertEquals(await send(mine, "elsewhere"), "the-gateway's-key-of-one");
});

/** Who sends requests, and what they may be sent with. */
interface Sender {
  readonly name: string;
  readonly key: string;
  readonly own: Readonly<Record<string, string>>;
  readonly use: "only" | "first" | "last";
}

Deno.test("own keys are used for their owner's requests only, and priced as they are: any owners, uses and failures (random)", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  const text = `seed ${seed}`;
  await using one = upstreamOf();
  await using two = upstreamOf();
  await using gateway = await start(settingsOf({ one: one.url, two: two.url }, { ownKey: 0.5 }));
  const { gateway: { keys, registration, sales, accounts, database } } = gateway;
  const admin = await ownersClient(gateway);
  const senders: Sender[] = [];
  const owned = new Map<string, string>();
  for (let at = 0; at < 8; at++) {
    const isTeam = at % 2 === 0;
    const team = isTeam ? await teamOf(gateway) : undefined;
    const account = isTeam
      ? team!.members[0]!.account
      : await registration.register({ email: `own${at}@example.com` });
    if (!isTeam) await sales.grant((await accounts.byId(account.id))!, { credits: 100_000 });
    const own: Record<string, string> = {};
    for (const upstream of ["one", "two"]) {
      // the last team has no key, and may use no other
      if (at === 6 || at > 1 && random.next() < 0.4) continue;
      const key = `sk-own-of-${at}-at-${upstream}-0123456789`;
      const owner = isTeam ? { team: team!.team.id } : { account: account.id };
      const { status } = await admin("PUT", "/upstream-keys", {
        body: { ...owner, upstream, key },
      });
      assertEquals(status, 200);
      own[upstream] = key;
      owned.set(key, `sender ${at}`);
    }
    const use = isTeam ? (["only", "first", "last"] as const)[at / 2 % 3]! : "first";
    if (isTeam) await admin("PUT", `/teams/${team!.team.id}/own-keys`, { body: { use } });
    const key = team?.members[0]?.key.secret ??
      (await keys.issue((await accounts.byId(account.id))!)).secret;
    senders.push({ name: `sender ${at}`, key, own, use });
    // the person's own key has nothing of the team's
    if (isTeam) {
      const person = (await accounts.byId(account.id))!;
      await sales.grant(person, { credits: 100_000 });
      const { secret } = await keys.issue(person);
      senders.push({ name: `person ${at}`, key: secret, own: {}, use: "first" });
      const browser = await signedIn(gateway, person.email);
      const made = await browser.post("/console/playground/key", {}, { from: "/console/account" });
      const { key } = await made.json();
      senders.push({ name: `playground ${at}`, key, own: {}, use: "first" });
    }
  }
  await noticed();
  const FAILURES = [401, 429, 500, 403, 503];
  for (let round = 0; round < sized(6, 200); round++) {
    for (const upstream of [one, two]) {
      for (const key of [...owned.keys(), `${GATEWAYS}one`, `${GATEWAYS}two`]) {
        upstream.does[key] = random.next() < 0.2
          ? refusing(random.pick(FAILURES), "broken")
          : () => undefined;
      }
    }
    await Promise.all(senders.map(async (sender) => {
      const more = random.next() < 0.3 ? { n: 2 } : random.next() < 0.5 ? { stream: true } : {};
      const isVectors = random.next() < 0.2;
      const reply = isVectors
        ? await gateway.post("/v1/embeddings", { model: "vectors", input: sender.name }, {
          key: sender.key,
        })
        : await chat(gateway, "", sender.key, {
          ...more,
          user: sender.name,
          // one conversation of the account, whatever key it goes on with
          messages: [
            { role: "user", content: `A tale for ${sender.name.split(" ")[1]}.`.repeat(20) },
            { role: "assistant", content: "Once upon a time." },
            { role: "user", content: `Go on, ${round}.` },
          ],
        });
      await reply.text();
      if (sender.use === "only" && Object.keys(sender.own).length === 0) {
        assertEquals(reply.status, 403, `${sender.name}, ${text}`);
      }
    }));
  }
  for (const { key, text: name } of [...one.sent, ...two.sent]) {
    const owner = owned.get(key);
    if (owner !== undefined) assertEquals(owner, name, text);
    else {
      assert(key.startsWith(GATEWAYS), `${key}, ${text}`);
      assert(senders.find((sender) => sender.name === name)!.use !== "only", `${name}, ${text}`);
    }
  }
  // a trial of an upstream is with the gateway's keys alone
  const before = one.sent.length;
  one.listed.length = 0;
  await sluice(["upstream", "test", "one", "--model", "m"], { directory: gateway.directory });
  const tried = one.sent.slice(before);
  assert(tried.length > 0 && tried.every(({ key }) => key === `${GATEWAYS}one`), text);
  assertEquals((await admin("POST", "/upstreams/one/test", { body: {} })).status, 200);
  assert(one.listed.length > 0 && one.listed.every((key) => key === `${GATEWAYS}one`), text);
  const records = await usageRecords(gateway);
  const complete = records.filter(({ ending }) => ending === "complete");
  assert(complete.some(({ own_key }) => own_key === "team"), text);
  assert(complete.some(({ own_key }) => own_key === "account"), text);
  assert(complete.some(({ own_key }) => own_key === null), text);
  for (const record of complete) {
    const tokens = Number(record.route === "vectors" ? record.input_tokens : record.output_tokens);
    const price = record.own_key === null ? tokens : Math.ceil(tokens / 2);
    assertEquals(Number(record.price_credits), price, `${JSON.stringify(record)}, ${text}`);
  }
  const { mismatches } = await audit(database);
  assertEquals(mismatches, [], text);
});

/** A team that has a key at each of some upstreams. */
async function teamWith(
  gateway: TestGateway,
  { keys, use, credits }: { keys: Record<string, string>; use?: string; credits?: number },
): Promise<{ team: Team; key: Key & { secret: string }; account: Account }> {
  const admin = await ownersClient(gateway);
  const { team, members: [member] } = await teamOf(gateway, { credits: credits ?? 1_000_000 });
  for (const [upstream, key] of Object.entries(keys)) {
    const body = { team: team.id, upstream, key, test: false };
    assertEquals((await admin("PUT", "/upstream-keys", { body })).status, 200);
  }
  if (use !== undefined) await admin("PUT", `/teams/${team.id}/own-keys`, { body: { use } });
  await noticed();
  return { team, key: member!.key, account: member!.account };
}

Deno.test("own keys need no credits where they are free, and a request for which credits are short is sent with them alone", async () => {
  const own = "sk-own-0123456789abcd";
  await using upstream = upstreamOf();
  await using gateway = await start(settingsOf({ one: upstream.url }));
  for (const use of ["only", "first", "last"]) {
    const { key } = await teamWith(gateway, { keys: { one: own }, use, credits: 1 });
    for (const stream of [false, true]) {
      const reply = await chat(gateway, use, key.secret, { stream });
      assertEquals([reply.status, (await reply.text()).includes("well")], [200, true], use);
    }
    assertEquals(upstream.sent.map((one) => one.key), [own, own], use);
    upstream.sent.length = 0;
    // never with the gateway's key, whatever becomes of the own one
    upstream.does[own] = refusing(401);
    assertEquals(await statusOf(chat(gateway, use, key.secret)), 403, use);
    assertEquals(upstream.sent.map((one) => one.key), [own], use);
    upstream.sent.length = 0;
    delete upstream.does[own];
  }
});

Deno.test("of several choices, one by the gateway's key makes the reply cost what the gateway's do", async () => {
  const own = "sk-own-0123456789abcd";
  await using upstream = upstreamOf();
  await using gateway = await start(settingsOf({ one: upstream.url }));
  const { key } = await teamWith(gateway, { keys: { one: own } });
  let count = 0;
  upstream.does[own] = () => ++count > 1 ? refusing(401)() : undefined;
  const reply = await chat(gateway, "both", key.secret, { n: 2 });
  assertEquals([reply.status, (await reply.json()).choices.length], [200, 2]);
  assertEquals(upstream.sent.map((one) => one.key), [own, own, `${GATEWAYS}one`]);
  const [record] = await usageRecords(gateway);
  assertEquals([record!.own_key, record!.charged_credits], [null, 2 * TOKENS]);
});

Deno.test("a rejected own key is told to its owner in words, and is no fault of the upstream's", async () => {
  const own = "sk-own-0123456789abcd";
  await using upstream = upstreamOf({
    [own]: () => Response.json({ error: { message: `bad key ${own}` } }, { status: 401 }),
  });
  await using gateway = await start(settingsOf({ one: upstream.url }));
  const [{ key }, others] = [
    await teamWith(gateway, { keys: { one: own }, use: "only" }),
    await teamOf(gateway),
  ];
  for (let at = 0; at < 8; at++) {
    const reply = await chat(gateway, "own", key.secret);
    const { error } = await reply.json();
    assertEquals(reply.status, 403);
    assertStringIncludes(error.message, "The upstream one does not accept the key of your own");
    assert(!error.message.includes(own));
  }
  for (const status of [429, 500, 503]) {
    upstream.does[own] = refusing(status, "overloaded");
    for (let at = 0; at < 6; at++) {
      assert([429, 503].includes(await statusOf(chat(gateway, "own", key.secret))));
    }
  }
  const admin = await ownersClient(gateway);
  const stateOf = async () => {
    const { json: { data: [{ state, last_failure: failure }] } } = await admin("GET", "/upstreams");
    return [state, failure];
  };
  assertEquals(await stateOf(), ["unknown", null]);
  assertEquals(await statusOf(chat(gateway, "others", others.members[0]!.key.secret)), 200);
  assertEquals(await stateOf(), ["ok", null]);
  assert(!gateway.log().includes(own));
  assertStringIncludes(gateway.log(), "the team's key …abcd");
});

Deno.test("a key that comes with a request is used once, at one upstream, and only where that is allowed", async () => {
  await using one = upstreamOf();
  await using two = upstreamOf();
  const forwarded = "sk-forwarded-0123456789";
  const header = { "X-Sluice-Upstream-Key": forwarded };
  {
    await using gateway = await start(settingsOf({ one: one.url }));
    const reply = await chat(gateway, "x", gateway.key, {}, header);
    assertEquals(reply.status, 400);
    assertStringIncludes((await reply.json()).error.message, "Leave X-Sluice-Upstream-Key out");
    assertEquals(one.sent, []);
  }
  const settings = settingsOf({ one: one.url, two: two.url });
  Object.assign(settings.upstreams!.two!, { allowForwardedKeys: true });
  await using gateway = await start(settings);
  for (const stream of [false, true]) {
    const reply = await chat(gateway, "x", gateway.key, { stream }, header);
    assertEquals(reply.status, 200);
    await reply.text();
  }
  assertEquals(
    await statusOf(chat(gateway, "x", gateway.key, {}, {
      "X-Sluice-Upstream-Key": "two words",
    })),
    400,
  );
  assertEquals([one.sent.length, two.sent.map(({ key }) => key)], [0, [forwarded, forwarded]]);
  // with the name of its upstream it goes there, or nowhere
  for (const [name, status] of [["two", 200], ["one", 400], ["elsewhere", 400]] as const) {
    const named = { "X-Sluice-Upstream-Key": `${name}=${forwarded}` };
    const reply = await chat(gateway, "x", gateway.key, {}, named);
    assertEquals([reply.status, reply.headers.get("x-sluice-own-key")], [
      status,
      status === 200 ? "request" : null,
    ]);
    await reply.text();
  }
  assertEquals([one.sent.length, two.sent.pop()!.key], [0, forwarded]);
  two.does[forwarded] = refusing(401);
  assertEquals(await statusOf(chat(gateway, "x", gateway.key, {}, header)), 403);
  assertEquals([one.sent.length, two.sent.length], [0, 3]);
  const records = await usageRecords(gateway);
  assertEquals(records.map((record) => [record.own_key, record.charged_credits]), [
    ["request", 0],
    ["request", 0],
    ["request", 0],
    [null, 0],
  ]);
  assert(!JSON.stringify(records).includes(forwarded) && !gateway.log().includes(forwarded));
});

/** Headers by which services, and what stands in front of them, know who pays. */
const PROOFS = [
  "Authorization",
  "X-Api-Key",
  "Cookie",
  "Ocp-Apim-Subscription-Key",
  "X-Portkey-Api-Key",
  "Helicone-Auth",
  "CF-AIG-Authorization",
  "X-Auth-Token",
];

Deno.test("an upstream whose credentials are forwarded is sent own keys and forwarded ones only", async () => {
  await using upstream = upstreamOf();
  const settings = settingsOf({ one: upstream.url }, {
    key: undefined,
    credentials: { kind: "forward" },
    headers: {
      ...Object.fromEntries(PROOFS.map((name) => [name, "the-operator's"])),
      "X-Title": "Sluice",
    },
  });
  await using gateway = await start(settings);
  const reply = await chat(gateway, "x", gateway.key);
  assertEquals(reply.status, 403);
  assertStringIncludes((await reply.json()).error.message, "a key of your own for one is missing");
  const { key } = await teamWith(gateway, { keys: { one: "sk-own-0123456789abcd" } });
  assertEquals(await statusOf(chat(gateway, "x", key.secret)), 200);
  const header = { "x-sluice-upstream-key": "sk-forwarded-0123456789" };
  assertEquals(await statusOf(chat(gateway, "x", gateway.key, {}, header)), 200);
  assertEquals(upstream.sent.map((one) => one.key), [
    "sk-own-0123456789abcd",
    "sk-forwarded-0123456789",
  ]);
  for (const { headers } of upstream.received) {
    assertEquals(headers.get("x-title"), "Sluice");
    assertEquals(PROOFS.filter((name) => headers.get(name) === "the-operator's"), []);
  }
});

/** Keys of two organizations. */
const GATEWAY_KEYS = ["sk-gateway-a-0123456789", "sk-gateway-b-0123456789"];

Deno.test("reasoning that was encrypted for one key's organization goes back with that key alone (random)", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  const own = "sk-own-0123456789abcd";
  let down = "";
  let replies = 0;
  const returned: string[] = [];
  // as OpenAI: what an organization's key got is rejected with another's
  await using upstream = fakeUpstream(({ headers, body }) => {
    const key = headers.get("authorization")!.slice("Bearer ".length);
    if (key === down) {
      const error = { error: { message: "busy", code: "rate_limit_exceeded" } };
      return Response.json(error, { status: 429, headers: { "retry-after": "0" } });
    }
    const sealed: string[] = body.input.flatMap((item: { encrypted_content?: string }) =>
      item.encrypted_content ?? []
    );
    if (sealed.some((one) => !one.startsWith(key))) return refusing(400, "invalid_encrypted")();
    returned.push(...sealed);
    const text = { type: "output_text", text: "well", annotations: [] };
    return Response.json({
      id: "resp_1",
      object: "response",
      status: "completed",
      model: "m",
      output: [
        {
          type: "reasoning",
          id: `rs_${++replies}`,
          summary: [],
          encrypted_content: `${key} ${replies} `.padEnd(100, "x"),
        },
        { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [text] },
      ],
      usage: { input_tokens: 9, output_tokens: TOKENS, total_tokens: 9 + TOKENS },
    });
  });
  const settings = settingsOf({ one: upstream.url }, {
    dialect: "responses",
    allowForwardedKeys: true,
    key: undefined,
    keys: GATEWAY_KEYS,
  });
  Object.assign(settings.routes!.token!, { reasoning: "always" });
  await using gateway = await start(settings);
  const team = await teamWith(gateway, { keys: { one: own } });
  const others = await teamOf(gateway);
  const fronts = {
    "/v1/responses": {
      said: "input",
      more: { store: false, include: ["reasoning.encrypted_content"] },
    },
    "/v1/messages": {
      said: "messages",
      more: { max_tokens: 2_000, thinking: { type: "adaptive" } },
    },
  };
  const cameBackTo = (key: string) => returned.some((seal) => seal.startsWith(key));
  const all = [own, ...GATEWAY_KEYS];
  for (const [path, { said, more }] of Object.entries(fronts)) {
    for (const key of [team.key.secret, others.members[0]!.key.secret]) {
      const turns: unknown[] = [];
      // until something came back to each key: chance alone may keep away from one of them
      const isDone = (round: number) =>
        round >= sized(8, 60) &&
        (key === team.key.secret ? cameBackTo(own) : all.every(cameBackTo));
      for (let round = 0; !isDone(round) && round < 300; round++) {
        down = random.pick(["", own, ...GATEWAY_KEYS]);
        turns.push({ role: "user", content: `Go on, ${round}.` });
        const forwarded = { "x-sluice-upstream-key": "sk-forwarded-012345" };
        const headers = random.next() < 0.2 ? forwarded : {};
        const reply = await gateway.post(path, { model: "token", [said]: turns, ...more }, {
          key,
          headers,
        });
        const text = await reply.text();
        assertEquals(reply.status, 200, `${path} ${round} seed ${seed}: ${text}`);
        const { output, content } = JSON.parse(text);
        turns.push(...output ?? [{ role: "assistant", content }]);
      }
    }
  }
  for (const one of all) assert(cameBackTo(one), `nothing came back to ${one}, seed ${seed}`);
});
