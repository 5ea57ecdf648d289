/** Budgets over a real libSQL server that is killed: gateways go on from what they were lent of them. */

import type { Database } from "../../src/ground/database/mod.ts";
import { audit, type BudgetName, budgetOf, setBudget } from "../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { customer } from "../fake/customer.ts";
import { startGateway, type TestGateway } from "../fake/gateway.ts";
import { ServerClock } from "../fake/server_clock.ts";
import { sharedServer } from "../fake/shared_server.ts";
import { smallReply, teamOf, TOKEN_ROUTES, TOKENS } from "../fake/team.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";
import { fakeUpstream } from "../fake/upstream.ts";

const DAY_MS = 86_400_000;
/** Time in which a loan is made for those who may be lent something. */
const LENDING_MS = 500;

/** A gateway, and a key that it serves. */
interface Lane {
  readonly gateway: TestGateway;
  readonly key: string;
  /** Credits of the replies that were served, as clients were told. */
  sold: number;
}

/** Sends a request that costs five credits; returns its status. */
async function send(lane: Lane): Promise<number> {
  const body = { model: "token", max_tokens: TOKENS };
  const reply = await lane.gateway.chat("Hi", body, { key: lane.key });
  await reply.text();
  if (reply.status === 200) lane.sold += Number(reply.headers.get("x-sluice-credits"));
  return reply.status;
}

/** A gateway's database, whose questions for a row are counted. */
function watched<Server extends Database>(database: Server, onOne: (sql: string) => void): Server {
  return new Proxy(database, {
    get(server, name) {
      const value = Reflect.get(server, name, server);
      if (typeof value !== "function") return value;
      if (name !== "one") return value.bind(server);
      return async (...args: Parameters<Database["one"]>) => {
        const row = await server.one(...args);
        onOne(args[0]);
        return row;
      };
    },
  });
}

/** Two gateways at a server; a team's budget is shared by both, and so is that of a key of another account. */
async function scene() {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempDir());
  let server = await sharedServer(path);
  stack.defer(() => server[Symbol.asyncDispose]());
  const upstream = stack.use(fakeUpstream(smallReply));
  // from noon on, so that the day does not turn by itself
  const clock = new ServerClock(DAY_MS / 2 - Date.now() % DAY_MS);
  const { now } = clock;
  /** How often each gateway has looked whether keys have changed. */
  const looks = [0, 0];
  const gateway = async (at: number) =>
    stack.use(
      await startGateway({
        settings: {
          database: { url: server.url },
          upstream: { url: upstream.url },
          routes: TOKEN_ROUTES,
        },
        now,
        wrapDatabase: (database) =>
          watched(clock.tell(database), (sql) => {
            if (sql.includes("from revisions")) looks[at]!++;
          }),
      }),
    );
  const gateways = [await gateway(0), await gateway(1)] as const;
  let isAway = false;
  const start = async () => {
    server = await sharedServer(path, { port: server.port });
    isAway = false;
  };
  stack.defer(() => isAway ? start() : undefined); // gateways end in order, also if a test has failed
  const [{ gateway: { accounts, database, keys } }] = gateways;
  const { team, members } = await teamOf(gateways[0]);
  const buyer = await customer(gateways[0], 100_000);
  const bounded = await keys.issue((await accounts.byId(buyer.accountId))!);
  const lane = (at: number, key: string): Lane => ({ gateway: gateways[at]!, key, sold: 0 });
  const ofTeam = members.map(({ key }, at) => lane(at, key.secret));
  const ofKey = gateways.map((_, at) => lane(at, bounded.secret));
  /** A key without a budget, of the same account. */
  const free = gateways.map((_, at) => lane(at, buyer.keys[0]!));
  const budgets = {
    team: { owner: "team", ownerId: team.id, period: "day" },
    key: { owner: "key", ownerId: bounded.id, period: "day" },
  } as const satisfies Record<string, BudgetName>;
  const owned = stack.move();
  return {
    database,
    ofTeam,
    ofKey,
    free,
    budgets,
    /** Sets both budgets, and has each gateway lent something for each of its keys. */
    async begin(credits: { readonly team: number; readonly key: number }) {
      for (const owner of ["team", "key"] as const) {
        await setBudget(database, { ...budgets[owner], credits: credits[owner] }, { nowMs: now() });
      }
      await until(async () => {
        for (const one of [...ofTeam, ...ofKey, ...free]) assertEquals(await send(one), 200);
        // a borrower whose loan was recalled gets none for a while, and is not to spend its budget on the wait
        await sleep(LENDING_MS);
        return (await database.all("select 1 from loans")).length === 6;
      }, { what: "the loans" });
      // keys that have changed are forgotten, and must be known when the server is away
      const [one, two] = looks as [number, number];
      await until(() => looks[0]! > one + 1 && looks[1]! > two + 1, { what: "the revision" });
      for (const lane of [...ofTeam, ...ofKey, ...free]) assertEquals(await send(lane), 200);
    },
    used: async (name: BudgetName, atMs = now()) => {
      const { spent, held } = (await budgetOf(database, name, atMs))!;
      return { spent, held };
    },
    now,
    pass: (ms: number) => clock.pass(ms),
    async kill() {
      await server[Symbol.asyncDispose]();
      isAway = true;
    },
    /** Starts the server again; resolves when it has what gateways had kept. */
    async comeBack() {
      await start();
      await until(
        () =>
          gateways.every(({ gateway: { database: { outbox } } }) =>
            outbox?.kept === 0 && !outbox.isDetached
          ),
        { what: "the end of the outboxes" },
      );
    },
    /** The books say what clients were told, and are right. */
    async assertBooked() {
      const row = await database.one("select sum(consumed) as credits from balances");
      assertEquals(Number(row!.credits), soldBy([...ofTeam, ...ofKey, ...free]));
      const { mismatches, holds } = await audit(database);
      assertEquals([mismatches, holds], [[], 0]);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const soldBy = (lanes: readonly Lane[]) => lanes.reduce((sum, { sold }) => sum + sold, 0);

// Proves P2, P4, P8.
Deno.test("gateways whose server is killed go on from what they were lent of budgets, exceed none, and end with the period", async () => {
  await using at = await scene();
  const { ofTeam, ofKey, free, budgets } = at;
  const bounded = [...ofTeam, ...ofKey];
  await at.begin({ team: 400, key: 200 });
  await at.kill();
  for (const lane of bounded) {
    const before = lane.sold;
    let status: number;
    do status = await send(lane); while (status === 200);
    assertEquals(status, 503);
    assert(lane.sold - before >= 4 * TOKENS, `${lane.sold - before} without the server`);
  }
  await at.comeBack();
  // all of it, and not a credit more
  for (const lane of bounded) {
    await until(async () => await send(lane) === 403, { what: "the end of the budget" });
  }
  const first = [soldBy(ofTeam), soldBy(ofKey)] as const;
  assertEquals(first, [400, 200]);
  assertEquals(await at.used(budgets.team), { spent: 400, held: 0 });
  assertEquals(await at.used(budgets.key), { spent: 200, held: 0 });
  await at.assertBooked();

  at.pass(DAY_MS);
  await at.begin({ team: 400, key: 200 });
  await at.kill();
  for (const lane of bounded) assertEquals(await send(lane), 200);
  const day = at.now();
  const second = [soldBy(ofTeam) - first[0], soldBy(ofKey) - first[1]] as const;
  at.pass(DAY_MS / 2);
  for (const lane of bounded) assertEquals(await send(lane), 503);
  for (const lane of free) assertEquals(await send(lane), 200, "it is the budget that ended");
  await at.comeBack();
  for (const lane of bounded) {
    await until(async () => await send(lane) === 200, { what: "the new period" });
  }
  assertEquals(await at.used(budgets.team, day), { spent: second[0], held: 0 });
  assertEquals(await at.used(budgets.key, day), { spent: second[1], held: 0 });
  assertEquals((await at.used(budgets.team)).spent, soldBy(ofTeam) - first[0] - second[0]);
  assertEquals((await at.used(budgets.key)).spent, soldBy(ofKey) - first[1] - second[1]);
  await at.assertBooked();
});
