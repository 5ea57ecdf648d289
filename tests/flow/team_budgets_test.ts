/** Budgets of teams and members under attack: races, kills, the turn of a period, and changes while requests run. */

import type { Database } from "../../src/ground/database/mod.ts";
import { Accounts, Members, TeamKeys, Teams } from "../../src/people/accounts/mod.ts";
import { openDatabase } from "../../src/ground/database/mod.ts";
import {
  audit,
  type BudgetName,
  budgetOf,
  grantStatements,
  newLotId,
  raiseBudget,
  removeBudget,
  RULES,
} from "../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { setBudget } from "../fake/budgets.ts";
import { startCommand } from "../fake/command.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, statusOf, type TestGateway, WIDE_TIERS } from "../fake/gateway.ts";
import { ServerClock } from "../fake/server_clock.ts";
import { sharedServer } from "../fake/shared_server.ts";
import {
  sendSmall,
  smallReply,
  teamOf,
  type TestTeam,
  TOKEN_ROUTES,
  TOKENS,
} from "../fake/team.ts";
import { tempDir, until } from "../fake/temp.ts";
import { chunk, fakeUpstream, sse } from "../fake/upstream.ts";
import { PROOF, sized } from "../tier.ts";

const DAY = 86_400_000;
const AT_ONCE = sized(24, 300);
const TURNS = sized(2, 3);
/** Words in an event of a long stream: events are what it costs. */
const PER_EVENT = sized(5, 1);

/** What is spent, held and left of a budget. */
async function used(
  database: Database,
  name: BudgetName,
  nowMs = Date.now(),
): Promise<[spent: number, held: number, left: number]> {
  const { spent, held, left } = (await budgetOf(database, name, nowMs))!;
  return [spent, held, left];
}

const ofTeam = ({ team }: TestTeam, period: BudgetName["period"] = "month") =>
  ({ owner: "team", ownerId: team.id, period }) as const;
const ofMember = (
  { team, members }: TestTeam,
  at: number,
  period: BudgetName["period"] = "month",
) => ({ owner: "member", ownerId: `${team.id}:${members[at]!.account.id}`, period }) as const;

/** An upstream whose streams wait at gates between their pieces. */
function gatedUpstream(...words: number[]) {
  const gates = words.map(() => Promise.withResolvers<void>());
  let begun = 0;
  const upstream = fakeUpstream(({ body }) => {
    if (!body.stream) return smallReply({ body });
    const encoder = new TextEncoder();
    let at = 0;
    begun++;
    return new Response(
      new ReadableStream<Uint8Array>({
        async pull(controller) {
          const piece = at++;
          if (piece === words.length) {
            controller.enqueue(encoder.encode(sse(chunk({}, "stop"), "[DONE]")));
            return controller.close();
          }
          await gates[piece]!.promise;
          for (let word = 0; word < words[piece]!; word += PER_EVENT) {
            const content = Array.from({ length: PER_EVENT }, (_, at) => `w${word + at} `).join("");
            controller.enqueue(encoder.encode(sse(chunk({ content }))));
          }
        },
      }, { highWaterMark: 0 }),
      { headers: { "content-type": "text/event-stream" } },
    );
  });
  return {
    url: upstream.url,
    open: (gate: number) => gates[gate]!.resolve(),
    begun: (number: number) => until(() => begun >= number, { what: "the streams" }),
    async [Symbol.asyncDispose]() {
      for (const gate of gates) gate.resolve();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

/** A long stream: why it ended, and how many words it has sent so far. */
function stream(gateway: TestGateway, key: string, maxTokens = 60_000) {
  let text = "";
  const ended = (async () => {
    const reply = await gateway.post("/v1/chat/completions", {
      model: "token",
      stream: true,
      max_tokens: maxTokens,
      messages: [{ role: "user", content: "Hi" }],
    }, { key });
    assertEquals(reply.status, 200);
    for await (const part of reply.body!.pipeThrough(new TextDecoderStream())) text += part;
    return /"finish_reason":"(\w+)"/.exec(text)?.[1];
  })();
  ended.catch(() => {});
  const mark = '"content":"w';
  let [events, seen] = [0, 0];
  const words = () => {
    // it is asked again and again: only what has come since is looked at
    for (let at; (at = text.indexOf(mark, seen)) !== -1; seen = at + mark.length) events++;
    return events * PER_EVENT;
  };
  return { ended, words };
}

const small = (gateway: TestGateway, key: string, at = 1) =>
  sendSmall(gateway.url, { key, at, says: ["budget of"] });

/** A part of a test whose gateways, with their connections, outlive it. */
async function step(t: Deno.TestContext, name: string, fn: () => Promise<void>): Promise<void> {
  await t.step({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

Deno.test("team budgets: two gateways on one server", async (t) => {
  await using dir = await tempDir();
  await using server = await sharedServer(dir.path);
  await using upstream = fakeUpstream(smallReply);
  const clock = new ServerClock();
  const start = () =>
    startGateway({
      settings: {
        database: { url: server.url },
        upstream: { url: upstream.url },
        routes: TOKEN_ROUTES,
      },
      now: clock.now,
      wrapDatabase: clock.tell,
    });
  await using one = await start();
  await using two = await start();
  const gateways = [one, two];

  await step(
    t,
    `${AT_ONCE} requests at once over members, keys, dialects and two gateways spend at most the budget`,
    async () => {
      const scene = await teamOf(one, { size: 3 });
      const keys = scene.members.map(({ key }) => key.secret);
      for (const { account } of scene.members) keys.push((await scene.key(account)).secret);
      keys.push((await scene.key(null)).secret);
      // credits are lent to both of them before
      for (let at = 0; at < 14; at++) await small(gateways[at % 2]!, keys[at % 7]!, at);
      const name = ofTeam(scene);
      const { database } = one.gateway;
      const { spent } = await setBudget(database, { ...name, credits: 24 * TOKENS }, {
        nowMs: Date.now(),
      });
      assertEquals(spent, 14 * TOKENS, "what was spent this month counts");
      // a member's own budget is smaller than what is left of the team's
      const adas = ofMember(scene, 0);
      await setBudget(database, { ...adas, credits: spent / 7 * 2 + 2 * TOKENS }, {
        nowMs: Date.now(),
      });
      const send = (at: number) =>
        sendSmall(gateways[at % 2]!.url, {
          key: keys[at % 7]!,
          at: Math.floor(at / 7),
          says: [
            "example.com in the team",
            `The monthly budget of the team ${scene.team.name} does not cover`,
          ],
        });
      const statuses = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => send(at)));
      assert(statuses.includes(200));
      // several may share what is left: how many were answered says nothing
      const [spentOfAll, , leftOfAll] = await used(database, name);
      assert(leftOfAll >= 0, `${spentOfAll} were spent, ${leftOfAll} are left`);
      const [, , left] = await used(database, adas);
      assert(left >= 0);
      // a member whose own budget is spent leaves the rest to the others
      for (let at = 0; at < 70 && (await used(database, name))[2] > 0; at++) await send(at);
      assertEquals(await used(database, name), [24 * TOKENS, 0, 0]);
      const [ofAda] = await used(database, adas);
      assert(ofAda <= spent / 7 * 2 + 2 * TOKENS, `${ofAda} by one member`);
      await assertLedgerClean(one);
    },
  );

  await step(t, "keys that are made while a budget is set, removed and set have it", async () => {
    const scene = await teamOf(one, { size: 1 });
    const { account } = scene.members[0]!;
    const [mine, theirs] = [one.gateway, two.gateway];
    for (let round = 0; round < sized(2, 6); round++) {
      const name = ofTeam(scene, round % 2 === 0 ? "month" : "life");
      const terms = { ...name, credits: TOKENS };
      const [, ...keys] = await Promise.all([
        setBudget(mine.database, terms, { nowMs: Date.now() }),
        scene.key(account),
        theirs.teamKeys.issue(scene.team, account),
        theirs.teamKeys.issue(scene.team, null),
      ]);
      const statuses = await Promise.all(
        keys.flatMap(({ secret }, at) => [small(one, secret, at), small(two, secret, at)]),
      );
      const answered = statuses.filter((status) => status === 200).length;
      assert(answered <= 1, `${answered} were answered on a budget for one, in round ${round}`);
      const applied = await mine.database.one(
        `select count(*) as n from keys where team_id = ? and not exists (
        select 1 from budget_keys where key_id = keys.id and budget_id = ?
      )`,
        [scene.team.id, `team:${scene.team.id}:${name.period}`],
      );
      assertEquals(Number(applied!.n), 0, "keys without the team's budget");
      const report = await audit(mine.database);
      assertEquals(report.mismatches, []);
      await removeBudget(theirs.database, name);
    }
    await assertLedgerClean(one);
  });

  await step(
    t,
    "the turn renews exactly once, though two gateways on one server meet it at once",
    async () => {
      const scene = await teamOf(one, { size: 2 });
      const { database } = one.gateway;
      const name = ofTeam(scene, "day");
      const credits = 4 * TOKENS;
      const { now } = clock;
      await setBudget(database, { ...name, credits }, { nowMs: now() });
      const keys = scene.members.map(({ key }) => key.secret);
      const periods = [];
      for (let turn = 0; turn < TURNS; turn++) {
        // nobody has opened the period after the next
        clock.pass(turn * 2 * DAY);
        const load = Array.from(
          { length: sized(12, 24) },
          (_, at) => small(gateways[at % 2]!, keys[at % 2]!, at),
        );
        const statuses = await Promise.all(load);
        assert(statuses.includes(200), `in turn ${turn}`);
        const [spent, , left] = await used(database, name, now());
        assert(left >= 0, `${spent} in turn ${turn}`);
        for (let at = 0; at < 8; at++) await small(gateways[at % 2]!, keys[at % 2]!, at);
        assertEquals(await used(database, name, now()), [credits, 0, 0]);
        const rows = await database.all(
          "select starts_at_ms from budget_periods where starts_at_ms <= ? and ends_at_ms > ? " +
            "and budget_id = ?",
          [now(), now(), `team:${scene.team.id}:day`],
        );
        assertEquals(rows.length, 1, "one period");
        periods.push(Number(rows[0]!.starts_at_ms));
      }
      assertEquals(new Set(periods).size, TURNS);
      await assertLedgerClean(one);
    },
  );
});

// in the gate, tests/flow/budgets_test.ts kills one over the budgets of accounts, which are kept alike
Deno.test(
  "team budgets: a gateway that is killed in the middle changes nothing in them",
  PROOF,
  async () => {
    await using dir = await tempDir();
    await using server = await sharedServer(`${dir.path}/server`);
    let waiting = 0;
    let killed = Promise.withResolvers<void>();
    await using upstream = fakeUpstream(async (request) => {
      if (waiting++ < 6) await killed.promise; // in flight when its gateway is killed, or the other one is
      return smallReply(request);
    });
    const database = await openDatabase({
      file: undefined,
      server: { url: server.url, token: undefined },
      durability: "full",
      rules: RULES,
      now: Date.now,
    });
    await using _closed = { [Symbol.asyncDispose]: () => database.close() };
    const start = async (name: string) => {
      const directory = `${dir.path}/${name}`;
      await Deno.mkdir(directory, { recursive: true });
      const settings = {
        port: 0,
        database: { url: server.url },
        tiers: WIDE_TIERS,
        routes: TOKEN_ROUTES,
        upstream: { url: upstream.url, discover: false },
      };
      await Deno.writeTextFile(`${directory}/sluice.jsonc`, JSON.stringify(settings));
      const process = startCommand([], { directory, env: { SLUICE_LOG_LEVEL: "warn" } });
      return { process, url: (await process.waitFor(/listening on (\S+)/))[1]! };
    };
    // a team with two members, made beside the gateways
    const accounts = new Accounts(database, Date.now);
    const teams = new Teams(database, Date.now);
    const team = await teams.create({ name: "Platform", pool: true });
    await database.batch(grantStatements({
      lotId: newLotId(),
      accountId: team.poolId!,
      source: "grant",
      credits: 100_000,
      expiresAtMs: null,
      atMs: Date.now(),
    }));
    const keys: string[] = [];
    for (const email of ["ada@example.com", "bob@example.com"]) {
      const account = await accounts.create({ email });
      await new Members(database, Date.now).add(team, account);
      keys.push((await new TeamKeys(database, Date.now).issue(team, account)).secret);
    }
    const credits = 50 * TOKENS;
    const name = { owner: "team", ownerId: team.id, period: "month" } as const;
    await setBudget(database, { ...name, credits }, { nowMs: Date.now() });

    let first = await start("one");
    await using second = (await start("two")).process;
    const secondUrl = (await second.waitFor(/listening on (\S+)/))[1]!;
    for (let round = 0; round < 2; round++) {
      await using process = first.process;
      [waiting, killed] = [0, Promise.withResolvers<void>()];
      let done = 0;
      const load = Array.from({ length: 40 }, async (_, at) => {
        const url = at % 2 === 0 ? first.url : secondUrl;
        // the connection is gone
        await sendSmall(url, { key: keys[at % 4 < 2 ? 0 : 1]!, at }).catch(() => {});
        done++;
      });
      await until(() => done >= 6 && waiting >= 6, { what: "the load" });
      process.signal("SIGKILL");
      killed.resolve();
      const budget = (await budgetOf(database, name, Date.now()))!;
      assert(budget.spent + budget.held <= credits, `${budget.spent} + ${budget.held}`);
      assertEquals((await audit(database)).mismatches, []);
      await Promise.all(load);
      first = await start("one"); // releases what it held
    }
    await using _first = first.process;
    for (let at = 0, status = 200; status === 200; at++) {
      status = await sendSmall(first.url, { key: keys[at % 2]!, at });
    }
    assertEquals(await used(database, name), [credits, 0, 0]);
    const charged = await database.one("select sum(charged_credits) as n from usage_records");
    assertEquals(Number(charged!.n), credits, "nothing is spent twice, and nothing beyond");
    const { mismatches, holds } = await audit(database);
    assertEquals([mismatches, holds], [[], 0]);
  },
);

Deno.test("team budgets: streams that run over the turn of a period belong to the period of their admission", async () => {
  let nowMs = Date.UTC(2030, 0, 31, 22, 59, 59); // a second before midnight in Berlin
  await using upstream = gatedUpstream(100, 1_500);
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: TOKEN_ROUTES },
    now: () => nowMs,
  });
  const scene = await teamOf(gateway);
  const { database } = gateway.gateway;
  const startMs = nowMs;
  const zone = "Europe/Berlin";
  for (const name of [ofTeam(scene, "day"), ofTeam(scene), ofMember(scene, 0, "day")]) {
    await setBudget(database, { ...name, credits: 10_000, zone }, { nowMs });
  }
  const [ada, bob] = scene.members.map(({ key }) => key.secret) as [string, string];
  const streams = [stream(gateway, ada), stream(gateway, bob)];
  await upstream.begun(2);
  upstream.open(0);
  await until(() => streams.every((one) => one.words() === 100));
  const before = [0, 2 * 4_096, 10_000 - 2 * 4_096];
  assertEquals(await used(database, ofTeam(scene, "day"), nowMs), before);
  assertEquals((await small(gateway, bob)) + (await small(gateway, ada)), 400);

  nowMs = Date.UTC(2030, 0, 31, 23, 0, 1); // the first of February there
  // the whole budget, though those of before still hold
  assertEquals(await used(database, ofTeam(scene, "day"), nowMs), [0, 0, 10_000]);
  assertEquals(await small(gateway, ada), 200);
  upstream.open(1);
  assertEquals(await Promise.all(streams.map((one) => one.ended)), ["stop", "stop"]);
  await until(async () => (await used(database, ofTeam(scene), startMs))[1] === 0);
  for (const name of [ofTeam(scene, "day"), ofTeam(scene)]) {
    assertEquals((await used(database, name, nowMs))[0], TOKENS, "of the new one");
    const [spent] = await used(database, name, startMs);
    assert(spent >= 2 * 1_600 + 2 * TOKENS && spent < 10_000, `${spent} of the one before`);
  }
  assertEquals((await used(database, ofMember(scene, 0, "day"), nowMs))[0], TOKENS);
  await assertLedgerClean(gateway);
});

Deno.test("team budgets: a stream grows up to the smallest budget, and streams share what is left", async () => {
  await using upstream = gatedUpstream(20_000);
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: TOKEN_ROUTES },
  });
  const scene = await teamOf(gateway, { size: 3 });
  const { database } = gateway.gateway;
  const nowMs = Date.now();
  const set = (name: BudgetName, credits: number) =>
    setBudget(database, { ...name, credits }, { nowMs });
  await set(ofTeam(scene), 25_000);
  await set(ofMember(scene, 0), 9_000);
  await set({ owner: "key", ownerId: scene.members[0]!.key.id, period: "day" }, 6_000);
  upstream.open(0);
  const [ada, bob, eve] = scene.members.map(({ key }) => key.secret) as [string, string, string];
  const expected: [BudgetName, number][] = [
    [{ owner: "key", ownerId: scene.members[0]!.key.id, period: "day" }, 6_000],
    [ofMember(scene, 0), 6_000],
  ];
  assertEquals(await stream(gateway, ada).ended, "length", "the key's");
  for (const [name, most] of expected) {
    await until(async () => (await used(database, name))[1] === 0);
    const [spent] = await used(database, name);
    assert(spent > 4_096 && spent <= most, `${name.owner}: ${spent}`);
  }
  // another key of the member: what is left of the member's
  const { secret } = await scene.key(scene.members[0]!.account);
  assertEquals(await stream(gateway, secret).ended, "length", "the member's");
  await until(async () => (await used(database, ofMember(scene, 0)))[1] === 0);
  const [ofAda] = await used(database, ofMember(scene, 0));
  assert(ofAda > 6_000 && ofAda <= 9_000, `${ofAda} by the member`);
  // two others at once: what is left of the team's
  const others = await Promise.all([bob, eve].map((key) => stream(gateway, key).ended));
  assertEquals(others, ["length", "length"]);
  await until(async () => (await used(database, ofTeam(scene)))[1] === 0);
  const [spent] = await used(database, ofTeam(scene));
  assert(spent > 20_000 && spent <= 25_000, `${spent} by the team`);
  await assertLedgerClean(gateway);
});

Deno.test("team budgets: a raise that ends while a stream runs lets it grow no further", async () => {
  let nowMs = Date.UTC(2030, 0, 15, 12);
  await using upstream = gatedUpstream(6_000, 20_000);
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: TOKEN_ROUTES },
    now: () => nowMs,
  });
  const scene = await teamOf(gateway);
  const { database } = gateway.gateway;
  const name = ofMember(scene, 0);
  await setBudget(database, { ...name, credits: 5_000 }, { nowMs });
  const untilMs = nowMs + 60_000;
  await raiseBudget(database, name, { credits: 50_000, untilMs, nowMs });
  const [ada, bob] = scene.members.map(({ key }) => key.secret) as [string, string];
  const running = stream(gateway, ada);
  upstream.open(0);
  await until(() => running.words() === 6_000);
  const [, held] = await used(database, name, nowMs);
  assert(held >= 6_000, `${held} are held`);
  nowMs = untilMs;
  upstream.open(1);
  assertEquals(await running.ended, "length");
  await until(async () => (await used(database, name, nowMs))[1] === 0);
  const [spent] = await used(database, name, nowMs);
  // what it held when the raise ended it may spend: a step of a hold, and one that was asked for ahead
  assert(spent >= 6_000 && spent <= 6_000 + 3 * 4_096, `${spent} were spent`);
  assertEquals(await small(gateway, ada), 403);
  assertEquals(await small(gateway, bob), 200);
  await assertLedgerClean(gateway);
});

Deno.test("team budgets: set, lowered and removed while streams run", async () => {
  await using upstream = gatedUpstream(1_000, 6_000, 20_000);
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: TOKEN_ROUTES },
  });
  const scene = await teamOf(gateway, { size: 3 });
  const { database } = gateway.gateway;
  const nowMs = Date.now();
  const [ada, bob, eve] = scene.members.map(({ key }) => key.secret) as [string, string, string];
  // ada gets a budget while her stream runs; bob's is lowered to nothing; eve's is removed
  await setBudget(database, { ...ofMember(scene, 1), credits: 50_000 }, { nowMs });
  await setBudget(database, { ...ofMember(scene, 2), credits: 5_000 }, { nowMs });
  const streams = [ada, bob, eve].map((key) => stream(gateway, key));
  upstream.open(0);
  await until(() => streams.every((one) => one.words() === 1_000));
  const { held } = await setBudget(database, { ...ofMember(scene, 0), credits: 6_000 }, { nowMs });
  assert(held >= 4_096, `${held} are held since before`);
  await setBudget(database, { ...ofMember(scene, 1), credits: 0 }, { nowMs });
  const [, bobHeld] = await used(database, ofMember(scene, 1));
  await removeBudget(database, ofMember(scene, 2));
  upstream.open(1);
  upstream.open(2);
  assertEquals(await Promise.all(streams.map((one) => one.ended)), ["length", "length", "length"]);
  const spentBy = async (at: number) => {
    const row = await database.one(
      "select charged_credits as n from usage_records where key_id = ?",
      [scene.members[at]!.key.id],
    );
    return Number(row?.n ?? 0);
  };
  await until(async () => await spentBy(0) > 0 && await spentBy(1) > 0 && await spentBy(2) > 0);
  assert(await spentBy(0) > 4_096 && await spentBy(0) <= 6_000, `ada: ${await spentBy(0)}`);
  assert(await spentBy(1) > 1_000 && await spentBy(1) <= bobHeld, `bob: ${await spentBy(1)}`);
  // what her upstream was asked for does not grow, and is not followed far beyond
  assert(await spentBy(2) > 5_000 && await spentBy(2) <= 6_250, `eve: ${await spentBy(2)}`);
  assertEquals([await small(gateway, bob), await small(gateway, eve)], [403, 200]);
  await assertLedgerClean(gateway);
});

Deno.test("team budgets: a member who is stopped, removed and added again has the same budget", async () => {
  await using upstream = gatedUpstream(10, 10);
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: TOKEN_ROUTES },
  });
  const scene = await teamOf(gateway);
  const { database, members } = gateway.gateway;
  const [ada, bob] = scene.members as [TestTeam["members"][0], TestTeam["members"][0]];
  const name = ofMember(scene, 0);
  await setBudget(database, { ...name, credits: 2_000 }, { nowMs: Date.now() });
  assertEquals(await small(gateway, ada.key.secret), 200);
  const running = [stream(gateway, ada.key.secret, 20), stream(gateway, bob.key.secret)];
  await upstream.begun(2);
  upstream.open(0);
  await until(() => running.every((one) => one.words() === 10));

  await members.stop(scene.team, ada.account);
  const refused = async (key: string) =>
    await statusOf(gateway.post("/v1/messages", {
      model: "token",
      max_tokens: TOKENS,
      messages: [{ role: "user", content: "Hi" }],
    }, { key }));
  await until(async () => await refused(ada.key.secret) === 403, {
    what: "a member who is stopped being refused",
  });
  assertEquals(await small(gateway, bob.key.secret), 200, "nobody else");
  upstream.open(1);
  await Promise.all(running.map((one) => one.ended));
  await until(async () => (await used(database, name))[1] === 0);
  const [afterStop] = await used(database, name);
  assert(afterStop > TOKENS + 10, "what was in flight counts");
  await members.start(scene.team, ada.account);
  await until(async () => await refused(ada.key.secret) === 200);

  await members.remove(scene.team, ada.account);
  await until(async () => await refused(ada.key.secret) === 401);
  const [before] = await used(database, name);
  await members.add(scene.team, ada.account);
  assertEquals(await refused(ada.key.secret), 401, "the old key is revoked");
  const { secret } = await scene.key(ada.account);
  const [spent] = await used(database, name);
  assertEquals(spent, before, "what the revoked key spent counts");
  assert(spent > afterStop);
  await setBudget(database, { ...name, credits: spent + 2 * TOKENS }, { nowMs: Date.now() });
  for (let at = 0; at < 8; at++) await small(gateway, secret, at);
  assertEquals(await used(database, name), [spent + 2 * TOKENS, 0, 0]);
  const reply = await gateway.chat("Hi", { model: "token", max_tokens: TOKENS }, { key: secret });
  const { error } = await reply.json();
  assertStringIncludes(
    error.message,
    `The monthly budget of ${ada.account.email} in the team ${scene.team.name} does not cover`,
  );
  assertMatch(error.message, /It renews at \d{4}-\d\d-01 00:00 UTC\. Ask a lead of the team/);
  await assertLedgerClean(gateway);
});

Deno.test("team budgets: of a team that is disabled, what is in flight counts, and the budget goes on later", async () => {
  await using upstream = gatedUpstream(10, 10);
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: TOKEN_ROUTES },
  });
  const scene = await teamOf(gateway);
  const others = await teamOf(gateway);
  const { database, teams } = gateway.gateway;
  const name = ofTeam(scene);
  await setBudget(database, { ...name, credits: 100 }, { nowMs: Date.now() });
  const [{ key: { secret } }] = scene.members as [TestTeam["members"][0]];
  const running = stream(gateway, secret, 50);
  upstream.open(0);
  await until(() => running.words() === 10);
  await teams.change(scene.team, { disabled: true });
  const ask = () =>
    statusOf(gateway.chat("Hi", { model: "token", max_tokens: TOKENS }, { key: secret }));
  await until(async () => await ask() === 403, { what: "the team being refused" });
  assertEquals(await small(gateway, others.members[0]!.key.secret), 200);
  const before = await used(database, name);
  assertEquals([await ask(), await used(database, name)], [403, before], "refused before it");
  upstream.open(1);
  await running.ended;
  await until(async () => (await used(database, name))[1] === 0);
  const [spent] = await used(database, name);
  assert(spent >= 20, `${spent} of what was in flight`);
  await teams.change(scene.team, { disabled: false });
  await until(async () => await ask() === 200);
  for (let at = 0; at < 30; at++) await small(gateway, secret, at);
  const [all, held] = await used(database, name);
  // the last one may cost a little more than it was admitted for
  assert(all >= 100 && all < 100 + TOKENS && held === 0, `${all} spent, ${held} held`);
  await assertLedgerClean(gateway);
});

Deno.test("GET /user/credits of a key that a pool pays for: its budgets and own use, not that of others", async () => {
  await using upstream = fakeUpstream(smallReply);
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: TOKEN_ROUTES },
  });
  const scene = await teamOf(gateway, { credits: 1_000 });
  const { database } = gateway.gateway;
  const nowMs = Date.now();
  const OTHERS = 987_654_321; // in no ID or time by chance
  await setBudget(database, { ...ofTeam(scene), credits: 500 }, { nowMs });
  await setBudget(database, { ...ofMember(scene, 0), credits: 22 }, { nowMs });
  await setBudget(database, { ...ofMember(scene, 1), credits: OTHERS }, { nowMs });
  const [ada, bob] = scene.members.map(({ key }) => key.secret) as [string, string];
  for (const key of [ada, bob, bob, bob]) assertEquals(await small(gateway, key), 200);
  const read = async (key: string) => {
    const reply = await fetch(`${gateway.url}/user/credits`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return { headers: reply.headers, body: await reply.json() };
  };
  const { headers, body } = await read(ada);
  assertEquals(
    [body.credits_remaining, body.credits_consumed, body.credits_held, body.requests, body.lots],
    [1_000 - 4 * TOKENS, TOKENS, 0, 1, []],
  );
  assertEquals(body.average_tokens_per_request, 3 + TOKENS);
  const [day] = body.usage_by_day;
  assertEquals([day.requests, day.credits], [1, TOKENS]);
  assertEquals(
    body.budgets.map((one: Record<string, unknown>) => [one.owner, one.spent, one.left]),
    [["member", TOKENS, 22 - TOKENS], ["team", 4 * TOKENS, 500 - 4 * TOKENS]],
  );
  assert(!JSON.stringify(body).includes(String(OTHERS)), "another member's budget");
  // the budget with the least left
  assertEquals(headers.get("x-sluice-budget-remaining"), String(22 - TOKENS));
  const renewsAtMs = Date.parse(body.budgets[0].renews_at);
  assertEquals(headers.get("x-sluice-budget-reset"), String(renewsAtMs / 1_000));
  const { body: ofBob } = await read(bob);
  assertEquals([ofBob.credits_consumed, ofBob.requests], [3 * TOKENS, 3]);
  const { body: unused } = await read((await scene.key(null)).secret);
  assertEquals(
    [unused.credits_consumed, unused.requests, unused.usage_by_day, unused.usage_by_hour],
    [0, 0, [], []],
  );
  // members who pay for themselves see all of their account
  const { accounts, members, sales, teamKeys, teams } = gateway.gateway;
  const paying = await teams.create({ name: "Paying", pool: false });
  const account = await accounts.create({ email: "payer@example.com" });
  await members.add(paying, account);
  await sales.grant(account, { credits: 40 });
  const own = await read((await teamKeys.issue(paying, account)).secret);
  assert(own.body.lots.some((lot: { granted: number }) => lot.granted === 40));
  assert(own.body.credits_remaining >= 40);
});
