/**
 * A random thief against the whole gateway, alone and as one of two at the same libSQL server: bodies with text
 * in any field, disconnects at any moment, stalls, upstreams that lie.
 *
 * `SLUICE_THIEF_REQUESTS=20000` for that number in each test, `SLUICE_TEST_SEED` for the same ones again.
 */

import { DIALECT_NAMES } from "../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, type TestGateway } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { canShareServer, sharedServer } from "../fake/shared_server.ts";
import { tempDir, until } from "../fake/temp.ts";
import { fakeUpstream } from "../fake/upstream.ts";
import { isProof, sized } from "../tier.ts";
import { readRecords, ROUTE } from "./thief/books.ts";
import type { DialectName } from "./thief/plan.ts";
import { Robbery } from "./thief/robbery.ts";

const SEED = testSeed();
const LONG = Number(Deno.env.get("SLUICE_THIEF_REQUESTS") ?? 0);

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
  const robbery = new Robbery(new Random(SEED), to);
  await using upstream = fakeUpstream((received) => {
    upstream.received.length = 0; // a long run would keep them all
    return robbery.reply(received);
  });
  await using stack = new AsyncDisposableStack();
  const gateways: TestGateway[] = [];
  while (gateways.length < count) {
    const gateway = await startGateway({
      settings: {
        ...(databaseUrl === undefined ? {} : { database: { url: databaseUrl } }),
        upstream: { url: upstream.url, dialect: to },
        routes: { token: ROUTE },
      },
      firstWaitMs: 1,
    });
    gateways.push(stack.use(gateway));
  }
  stack.use(robbery); // closes its connections before the gateways stop
  await robbery.run(gateways, requests);
  const isIdle = () => gateways.every(({ gateway }) => gateway.inFlight.count === 0);
  await until(isIdle, { what: "the end of all requests" });

  const records = await readRecords(gateways[0]!.gateway.database);
  const { books } = robbery;
  const faults = books.compare(records);
  assert(books.responses > requests / 10, `seed ${SEED}: ${books.responses} responses`);
  assertEquals(faults, [], `seed ${SEED}: ${faults.length} of ${records.length}`);
  await assertLedgerClean(gateways[0]!);
}

/** The dialect that the gate takes two gateways for, each time another; the proofs take all. */
const OF_TWO = new Random(SEED).pick(DIALECT_NAMES);

for (const to of DIALECT_NAMES) {
  Deno.test(`a random thief gets at most one request for nothing: upstream of ${to}`, () =>
    rob(to, { requests: LONG || sized(50, 500), gateways: 1 }));

  Deno.test({
    name: `a random thief at two gateways gets no more than at one: upstream of ${to}`,
    ignore: !isProof && to !== OF_TWO || !await canShareServer(),
    async fn() {
      await using dir = await tempDir();
      await using server = await sharedServer(dir.path);
      await rob(to, { requests: LONG || sized(30, 200), gateways: 2, databaseUrl: server.url });
    },
  });
}
