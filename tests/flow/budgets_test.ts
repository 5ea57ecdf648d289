/** Budgets through the whole gateway: exact over keys, dialects and gateways, told in errors and headers. */

import { openDatabase } from "../../src/ground/database/mod.ts";
import { audit, budgetOf, RULES } from "../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { setBudget } from "../fake/budgets.ts";
import { startCommand } from "../fake/command.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, type TestGateway, WIDE_TIERS } from "../fake/gateway.ts";
import { sharedServer } from "../fake/shared_server.ts";
import { serveByTier } from "../fake/shell.ts";
import { smallReply, TOKEN_ROUTES, TOKEN_USAGE, TOKENS } from "../fake/team.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";
import { isProof, sized } from "../tier.ts";

const REQUESTS = sized(24, 300);

const body = (more: Record<string, unknown> = {}) => ({
  model: "token",
  max_tokens: TOKENS,
  messages: [{ role: "user", content: "Hi" }],
  ...more,
});

/** Sends a request in either dialect, again while the database is too busy for it; reads it to its end. */
async function send(gateway: TestGateway, key: string, at: number): Promise<number> {
  const path = at % 2 === 0 ? "/v1/chat/completions" : "/v1/messages";
  const reply = await gateway.post(path, body({ stream: at % 3 === 0 }), { key });
  const text = await reply.text();
  if (reply.status === 503) {
    await sleep(sized(300, 100)); // all of them again, so soon, are too many again
    return await send(gateway, key, at);
  }
  if (reply.status !== 200) {
    assertEquals(reply.status, 403, text);
    assertStringIncludes(text, "The monthly budget of this account does not cover this request");
  }
  return reply.status;
}

// Proves P8.
Deno.test(`budgets: ${REQUESTS} requests at once, over keys, dialects and two gateways, spend at most the budget`, async () => {
  await using dir = await tempDir();
  await using server = await sharedServer(dir.path);
  await using upstream = fakeUpstream(smallReply);
  const settings = {
    database: { url: server.url },
    upstream: { url: upstream.url },
    routes: TOKEN_ROUTES,
  };
  await using one = await startGateway({ settings });
  await using two = await startGateway({ settings });
  const gateways = [one, two];
  const { keys, accountId } = await customer(one, 100_000, { keys: 3 });
  // credits are lent to both of them before
  for (let at = 0; at < 12; at++) {
    await (await gateways[at % 2]!.post("/v1/chat/completions", body(), { key: keys[at % 3]! }))
      .text();
  }
  const name = { owner: "account", ownerId: accountId, period: "month" } as const;
  const { database } = one.gateway;
  const nowMs = Date.now();
  const { spent } = await setBudget(database, { ...name, credits: 10 * TOKENS + 12 * TOKENS }, {
    nowMs,
  });
  assertEquals(spent, 12 * TOKENS, "what was spent this month counts");
  const statuses = await Promise.all(
    Array.from({ length: REQUESTS }, (_, at) => send(gateways[at % 2]!, keys[at % 3]!, at)),
  );
  assert(statuses.includes(200), statuses.join());
  // those that held more than they spent made room again, and what was lent of the budget
  for (let at = 0, refused = 0; refused < 6; at++) { // by either gateway, for every key
    const status = await send(gateways[at % 2]!, keys[at % 3]!, at);
    refused = status === 200 ? 0 : refused + 1;
  }
  const budget = (await budgetOf(database, name, nowMs))!;
  assertEquals([budget.spent, budget.held, budget.left], [22 * TOKENS, 0, 0]);
  await assertLedgerClean(one);
});

Deno.test("budgets: told in errors, headers and GET /user/credits; renewed at the turn of the period", async () => {
  let nowMs = Date.UTC(2030, 0, 31, 22, 30);
  await using upstream = fakeUpstream(() => completion("ok", { usage: TOKEN_USAGE }));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: TOKEN_ROUTES },
    now: () => nowMs,
  });
  const { keys: [key], accountId } = await customer(gateway, 1_000);
  const { database } = gateway.gateway;
  const [{ id: keyId } = { id: "" }] = await gateway.gateway.keys.list(
    (await gateway.gateway.accounts.byId(accountId))!,
  );
  const name = { owner: "key", ownerId: keyId, period: "month" } as const;
  const zone = "Europe/Berlin";
  await setBudget(database, { ...name, credits: 12, zone }, { nowMs });
  const ask = () => gateway.post("/v1/chat/completions", body(), { key: key! });
  const remaining = ({ headers }: Response) => [
    headers.get("x-sluice-budget-remaining"),
    headers.get("x-sluice-budget-reset"),
  ];
  const turn = String(Date.UTC(2030, 0, 31, 23) / 1_000);
  const first = await ask();
  await first.text();
  assertEquals([first.status, ...remaining(first)], [200, "7", turn]);
  await (await ask()).text();
  const refused = await ask();
  const { error } = await refused.json();
  // two credits are left: a shorter response has room
  assertEquals([refused.status, error?.code], [200, undefined]);
  const last = await ask();
  const { error: said } = await last.json();
  assertEquals([last.status, said.code, last.headers.get("retry-after"), ...remaining(last)], [
    403,
    "insufficient_credits",
    null,
    "0",
    turn,
  ]);
  assertEquals(
    said.message,
    "The monthly budget of this API key does not cover this request, which costs at least 1 credit: " +
      "15 of 12 credits are spent. It renews at 2030-02-01 00:00 (Europe/Berlin). " +
      "Raise the budget, or use another key.",
  );
  const headers = { authorization: `Bearer ${key}` };
  const listed = await fetch(`${gateway.url}/v1/models`, { headers });
  await listed.text();
  assertEquals(remaining(listed), ["0", turn]);
  const credits = await (await fetch(`${gateway.url}/user/credits`, { headers })).json();
  const [budget] = credits.budgets;
  assertEquals(
    [budget.owner, budget.period, budget.credits, budget.spent, budget.held, budget.left],
    ["key", "month", 12, 15, 0, 0],
  );
  assertEquals([budget.time_zone, budget.renews_at], [zone, "2030-01-31T23:00:00.000Z"]);

  nowMs = Date.UTC(2030, 0, 31, 23);
  const renewed = await ask();
  await renewed.text();
  assertEquals([renewed.status, remaining(renewed)[0]], [200, "7"]);
  // a gateway that was away for months
  nowMs = Date.UTC(2030, 6, 1);
  const later = await ask();
  await later.text();
  assertEquals([later.status, remaining(later)[0]], [200, "7"]);
  await assertLedgerClean(gateway);
});

Deno.test("budgets: a stream grows up to the budget, and counts in the period that it began in", async () => {
  let nowMs = Date.UTC(2030, 0, 31, 23, 59, 59);
  const chunks = 3_000;
  await using upstream = fakeUpstream(() => {
    nowMs = Date.UTC(2030, 1, 1, 0, 0, 1);
    return eventStream(
      sse(
        ...Array.from({ length: chunks }, (_, at) => chunk({ content: `v${at} w${at} x${at} ` })),
      ),
      sse(chunk({}, "stop"), "[DONE]"),
    );
  });
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: TOKEN_ROUTES },
    now: () => nowMs,
  });
  const { keys: [key], accountId } = await customer(gateway, 100_000);
  const name = { owner: "account", ownerId: accountId, period: "day" } as const;
  const { database } = gateway.gateway;
  await setBudget(database, { ...name, credits: 6_000 }, { nowMs });
  const startMs = nowMs;
  const reply = await gateway.post(
    "/v1/chat/completions",
    body({ stream: true, max_tokens: 20_000 }),
    { key: key! },
  );
  const text = await reply.text();
  assertStringIncludes(text, '"finish_reason":"length"');
  await until(async () => (await budgetOf(database, name, startMs))!.held === 0, {
    what: "the end of the hold",
  });
  const first = (await budgetOf(database, name, startMs))!;
  assert(first.spent > 4_096 && first.spent <= 6_000, `${first.spent} were spent`);
  assertEquals((await budgetOf(database, name, nowMs))!.spent, 0);
  await assertLedgerClean(gateway);
});

const ROUNDS = sized(1, 3);
/** The round of the proofs in which both gateways are killed. */
const BOTH = 1;

/** A gateway under load. */
interface Running extends AsyncDisposable {
  readonly url: string;
  kill(): void;
}

Deno.test("budgets: gateways that are killed under load change nothing in them", async () => {
  const KEY = `sk-${"k".repeat(40)}`;
  await using dir = await tempDir();
  await using server = await sharedServer(`${dir.path}/server`);
  await using upstream = fakeUpstream(smallReply);
  const settings = {
    database: { url: server.url },
    routes: TOKEN_ROUTES,
    upstream: { url: upstream.url, discover: false },
  };
  const env = { SLUICE_OWNER_KEY: KEY, SLUICE_LOG_LEVEL: "warn" };
  for (const name of ["one", "two"]) {
    await Deno.mkdir(`${dir.path}/${name}`);
    await Deno.writeTextFile(
      `${dir.path}/${name}/sluice.jsonc`,
      JSON.stringify({ port: 0, tiers: WIDE_TIERS, ...settings }),
    );
  }
  const start = async (name: string, how: typeof serveByTier = startCommand): Promise<Running> => {
    await using started = new AsyncDisposableStack();
    const command = started.use(how([], { directory: `${dir.path}/${name}`, env }));
    const [, url = ""] = await command.waitFor(/listening on (\S+)/);
    const owned = started.move();
    return {
      url,
      kill: () => command.signal("SIGKILL"),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  };
  // in the gate it is in this process, and cannot be killed
  const startSecond = async (): Promise<Running> =>
    isProof ? await start("two") : { ...await startGateway({ settings, env }), kill() {} };
  const database = await openDatabase({
    file: undefined,
    server: { url: server.url, token: undefined },
    durability: "full",
    rules: RULES,
    now: Date.now,
  });
  await using _closed = { [Symbol.asyncDispose]: () => database.close() };
  const paid = sized(12, 40);
  const credits = paid * TOKENS;
  let name;
  for (let round = 0; round < ROUNDS; round++) {
    // one after the other, since both bring the owner's key to an empty database
    await using one = await start("one");
    await using two = await startSecond();
    const urls = [one.url, two.url];
    if (name === undefined) {
      const row = await database.one("select id from accounts where role = 'owner'");
      name = { owner: "account", ownerId: String(row!.id), period: "day" } as const;
      await setBudget(database, { ...name, credits, zone: "Asia/Kathmandu" }, {
        nowMs: Date.now(),
      });
    }
    let done = 0;
    const ask = async (url: string) => {
      const reply = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}` },
        body: JSON.stringify(body()),
      });
      await reply.text();
      done++;
    };
    const load = Array.from(
      { length: 1.5 * paid },
      (_, at) => ask(urls[at % 2]!).catch(() => {}), // the connection is gone
    );
    await until(() => done >= 6, { what: "the load" });
    one.kill();
    if (round === BOTH) two.kill();
    await Promise.all(load);
    const budget = (await budgetOf(database, name, Date.now()))!;
    assert(budget.spent + budget.held <= credits, `${budget.spent} + ${budget.held}`);
    assertEquals((await audit(database)).mismatches, []);
  }
  // the next start releases what the killed ones held: the rest can be spent to the last credit
  await using one = await start("one", serveByTier);
  await using _two = await startSecond();
  for (let status = 200; status === 200;) {
    const reply = await fetch(`${one.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}` },
      body: JSON.stringify(body()),
    });
    await reply.text();
    status = reply.status;
  }
  const budget = (await budgetOf(database, name!, Date.now()))!;
  assertEquals([budget.spent, budget.held], [credits, 0]);
  const { mismatches, holds } = await audit(database);
  assertEquals([mismatches, holds], [[], 0]);
});
