import { Admission } from "../../../src/requests/admission/mod.ts";
import type { Caller } from "../../../src/people/accounts/mod.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { audit, TierList } from "../../../src/money/ledger/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assertEquals } from "../../assert.ts";
import { type LedgerBench, ledgerBench } from "../../fake/ledger.ts";
import { routeOf } from "../../fake/routes.ts";

const LEASE_MS = 60_000;

/** Lets time pass: gateways' clock goes on, and leases are that much nearer to their end. */
function passing({ database }: LedgerBench) {
  const clock = { tick: 0 };
  return {
    monotonicNow: () => clock.tick,
    pass: async (ms: number) => {
      clock.tick += ms;
      const sql = "update holds set lease_until_ms = lease_until_ms - ?";
      await database.batch([{ sql, args: [ms] }]);
    },
  };
}

type Time = ReturnType<typeof passing>;

/** A gateway's admission whose leases are kept when the test says so, over a database as slow as it says. */
async function gatewayOf(bench: LedgerBench, time: Time, gatewayId: string) {
  const route = await routeOf("svc-k2");
  const pace = { waitMs: 0 };
  const { database } = bench;
  const slow = async () => {
    if (pace.waitMs > 0) await time.pass(pace.waitMs);
  };
  const paced: Database = {
    place: database.place,
    dialect: database.dialect,
    waiting: 0,
    all: async (...args) => (await slow(), await database.all(...args)),
    one: async (...args) => (await slow(), await database.one(...args)),
    batch: async (...args) => (await slow(), await database.batch(...args)),
    write: async (write, item) => (await slow(), await database.write(write, item)),
    close: () => database.close(),
  };
  const tierList = new TierList([{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }]);
  await database.batch(tierList.statements);
  const admission = new Admission({
    database: paced,
    tierList,
    gatewayId,
    leaseMs: LEASE_MS,
    log: SILENT,
    now: Date.now,
    monotonicNow: time.monotonicNow,
  });
  const { accountId, keyId } = await bench.account();
  await bench.grant(accountId, 10_000);
  const caller = { accountId, keyId, models: null } as unknown as Caller; // what admission looks at
  const admit = () =>
    admission.admit({
      requestId: newRequestId(Date.now()),
      caller,
      route,
      stream: true,
      inputTokens: 10,
      permittedOutput: 100,
      choices: 1,
    }, () => {});
  return { keep: () => admission.keep(), admit, pace };
}

const holds = async ({ database }: LedgerBench) => (await audit(database)).holds;

/** Keeps leases as often as a gateway does, for so long. */
async function keepFor(
  ms: number,
  { pass }: Time,
  gateways: readonly { keep: () => Promise<void> }[],
) {
  for (let passedMs = 0; passedMs < ms; passedMs += LEASE_MS / 16) {
    for (const { keep } of gateways) await keep();
    await pass(LEASE_MS / 16);
  }
}

Deno.test("the first who keeps its leases after an outage ends no other's", async () => {
  await using bench = await ledgerBench("file");
  const time = passing(bench);
  const first = await gatewayOf(bench, time, "gw_first");
  const second = await gatewayOf(bench, time, "gw_second");
  await keepFor(LEASE_MS, time, [first, second]); // steady
  await second.admit();
  await time.pass(1.5 * LEASE_MS); // nobody reaches the database
  await first.keep();
  assertEquals(await holds(bench), 1, "the other has had no time to renew its lease");
  await second.keep();
  await keepFor(LEASE_MS, time, [first, second]);
  assertEquals(await holds(bench), 1);
  await keepFor(2 * LEASE_MS, time, [first]); // the other died
  assertEquals(await holds(bench), 0);
});

Deno.test("a gateway that has just started ends no other's lease in its first moments", async () => {
  await using bench = await ledgerBench("file");
  const time = passing(bench);
  const second = await gatewayOf(bench, time, "gw_second");
  await second.admit();
  await time.pass(1.2 * LEASE_MS);
  const first = await gatewayOf(bench, time, "gw_first");
  await first.keep();
  assertEquals(await holds(bench), 1);
});

Deno.test("a database that answered slowly may have kept the others waiting as well: no lease is ended", async () => {
  await using bench = await ledgerBench("file");
  const time = passing(bench);
  const first = await gatewayOf(bench, time, "gw_first");
  const second = await gatewayOf(bench, time, "gw_second");
  await second.admit();
  await keepFor(LEASE_MS * 0.75, time, [first]); // steady; the other's lease still lasts
  first.pace.waitMs = LEASE_MS / 2; // for each of its statements
  await first.keep();
  assertEquals(await holds(bench), 1);
});
