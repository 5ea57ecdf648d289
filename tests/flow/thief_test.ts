/**
 * A random thief against the whole gateway, alone and as one of two at the same libSQL server: bodies with text
 * in any field, disconnects at any moment, stalls, upstreams that lie.
 *
 * `SLUICE_THIEF_REQUESTS=20000` for so many in each test, `SLUICE_TEST_SEED` for the same ones again.
 */

import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, type TestGateway } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { canRunSqld, sqldServer } from "../fake/sqld.ts";
import { tempDir, until } from "../fake/temp.ts";
import { fakeUpstream } from "../fake/upstream.ts";
import { Books, readRecords, ROUTE } from "./thief/books.ts";
import { lyingReply } from "./thief/lying_reply.ts";
import { type DialectName, type Plan, planNumber, planRequest } from "./thief/plan.ts";
import { takeResponse } from "./thief/take_response.ts";

const LONG = Number(Deno.env.get("SLUICE_THIEF_REQUESTS") ?? 0);
/** Requests that are sent at once. */
const AT_ONCE = 12;
/** Credits of those who send them. */
const CREDITS = [300, 3_000, 30_000, 1e9, 1e9];
/** One who was refused for lack of credits so often has done its worst: a new one takes its place. */
const MAX_REFUSALS = 4;

/**
 * Robs gateways that share one database.
 *
 * @param options.gateways How many there are.
 * @param options.databaseUrl Server of their database; a file of its own if left out.
 */
async function rob(
  to: DialectName,
  { requests, gateways: count, databaseUrl }: {
    requests: number;
    gateways: number;
    databaseUrl?: string;
  },
): Promise<void> {
  const seed = testSeed();
  const random = new Random(seed);
  const plans: Plan[] = [];
  await using upstream = fakeUpstream((received) => {
    upstream.received.length = 0; // a long run would keep them all
    const plan = plans[planNumber(received.raw)]!;
    return lyingReply(plan, { received, to, random, context: ROUTE.context });
  });
  await using stack = new AsyncDisposableStack();
  const gateways: TestGateway[] = [];
  while (gateways.length < count) {
    gateways.push(stack.use(
      await startGateway({
        settings: {
          ...(databaseUrl === undefined ? {} : { database: { url: databaseUrl } }),
          upstream: { url: upstream.url, dialect: to },
          routes: { token: ROUTE },
        },
        firstWaitMs: 1,
      }),
    ));
  }
  const books = new Books();
  const robber = async (credits: number) => {
    const one = await customer(random.pick(gateways), credits, { keys: 2 });
    books.open(one.accountId, credits);
    return { ...one, credits, refusals: 0 };
  };
  const robbers = await Promise.all(CREDITS.map(robber));
  const client = async () => {
    while (plans.length < requests) {
      const { plan, body } = planRequest(random, { number: plans.length, to });
      plans.push(plan);
      // half of them to one account at a time, so that what it has runs out under several at once
      const place = random.next() < 0.5
        ? Math.floor(plans.length / 50) % robbers.length
        : random.integer(0, robbers.length - 1);
      const one = robbers[place]!;
      const key = random.pick(one.keys);
      const path = plan.from === "chat" ? "/v1/chat/completions" : "/v1/messages";
      const gateway = random.pick(gateways);
      const taken = await takeResponse(
        plan,
        random,
        (signal) => gateway.post(path, body, { key, signal }),
      );
      books.note(plan, taken);
      if (taken.status === 403 && ++one.refusals === MAX_REFUSALS) {
        robbers[place] = await robber(one.credits);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  const isIdle = () => gateways.every(({ gateway }) => gateway.inFlight.count === 0);
  await until(isIdle, { withinMs: 20_000, what: "rest" });

  const records = await readRecords(gateways[0]!.gateway.database);
  const faults = books.compare(records);
  assert(books.responses > requests / 4, `${books.responses} responses`);
  assertEquals(faults, [], `seed ${seed}: ${faults.length} of ${records.length}`);
  await assertLedgerClean(gateways[0]!);
}

for (const to of ["chat", "messages"] as const) {
  Deno.test(`a random thief gets at most one request for nothing: upstream of ${to}`, () =>
    rob(to, { requests: LONG || 1_000, gateways: 1 }));

  Deno.test({
    name: `a random thief at two gateways gets no more than at one: upstream of ${to}`,
    ignore: !await canRunSqld(),
    async fn() {
      await using dir = await tempDir();
      await using server = await sqldServer(dir.path);
      await rob(to, { requests: LONG || 300, gateways: 2, databaseUrl: server.url });
    },
  });
}
