/** What is admitted while the database does not answer, and what others get of it meanwhile. */

import type { Caller } from "../../../src/people/accounts/mod.ts";
import { Admission } from "../../../src/requests/admission/mod.ts";
import { type Database, DatabaseError } from "../../../src/ground/database/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { audit, TierList } from "../../../src/money/ledger/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { tokenRoute } from "../../fake/routes.ts";
import { until } from "../../fake/temp.ts";

const LEASE_MS = 60_000;
const PATIENCE_MS = 600_000;
const GRANTED = 1_000;

/** A gateway at a database that can be away, and that others share or not; it has a loan of half of what there is. */
async function scene({ isShared = true } = {}) {
  const stack = new AsyncDisposableStack();
  const route = await tokenRoute();
  const bench = stack.use(await ledgerBench("file"));
  const made = await bench.account();
  await bench.grant(made.accountId, GRANTED);
  const state = { isAway: false, isUsable: true, tick: 0 };
  const database: Database = {
    ...guardedDatabase(bench.database, () => {
      if (state.isAway) throw new DatabaseError("SLUICE_SERVER", "away", { outcomeUnknown: true });
    }),
    get outbox() {
      return { isUsable: state.isUsable, kept: 0, isDetached: state.isAway, isShared };
    },
  };
  const admission = new Admission({
    database,
    tierList: new TierList([{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }]),
    gatewayId: "gw",
    leaseMs: LEASE_MS,
    patienceMs: PATIENCE_MS,
    lendFrom: isShared ? undefined : 1,
    log: SILENT,
    now: Date.now,
    monotonicNow: () => state.tick,
  });
  await admission.start();
  stack.defer(() => {
    state.isAway = false;
    return admission.close();
  });
  const admit = async (output = 1) => {
    const { hold } = await admission.admit({
      requestId: newRequestId(Date.now()),
      caller: { ...made, models: null, hasBudget: false, atOnce: null } as unknown as Caller,
      route,
      stream: false,
      inputTokens: 0,
      permittedOutput: output,
      choices: 1,
    }, () => {});
    const isLent = hold.lent !== undefined;
    hold.end({ charged: 0, balance: undefined, priceCredits: 0 });
    if (!isLent) await bench.database.batch([{ sql: "delete from holds" }]);
    return isLent;
  };
  // with a request now and then
  await until(() => (state.tick += 2_000, admit()), { what: "a loan, from the first request on" });
  return {
    ...made,
    bench,
    state,
    admit,
    admission,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

for (const [kind, isShared] of [["server", true], ["file", false]] as const) {
  Deno.test(`a loan is spent without its ${kind} for as long as the settings say, and no longer`, async () => {
    await using at = await scene({ isShared });
    at.state.isAway = true;
    const awayTick = at.state.tick;
    for (; at.state.tick < awayTick + PATIENCE_MS - 5_000; at.state.tick += PATIENCE_MS / 20) {
      assert(await at.admit(), `after ${at.state.tick - awayTick} ms`);
    }
    at.state.tick = awayTick + PATIENCE_MS;
    await assertRejects(() => at.admit(), DatabaseError);
  });
}

Deno.test("a loan is not spent without the database while settlements cannot be kept", async () => {
  await using at = await scene();
  at.state.isAway = true;
  at.state.isUsable = false;
  at.state.tick += 1_001;
  await assertRejects(() => at.admit(), DatabaseError);
});

Deno.test("others get nothing of what may be spent without the database: the lease is as much longer", async () => {
  await using at = await scene();
  const leaseMs = async () => {
    const row = await at.bench.database.one("select min(lease_until_ms) as until_ms from loans");
    return Number(row?.until_ms) - Date.now();
  };
  // less what the machine takes
  assert(await leaseMs() > PATIENCE_MS + LEASE_MS / 2, "when it is made");
  await at.bench.database.batch([{
    sql: "update loans set lease_until_ms = lease_until_ms - ?",
    args: [LEASE_MS],
  }]);
  await at.admission.keep();
  assert(await leaseMs() > PATIENCE_MS + LEASE_MS / 2, "when it is renewed");
});

Deno.test("a loan that could not grow is spent on, and is put right once the database answers", async () => {
  await using at = await scene();
  at.state.isAway = true;
  // low enough to ask for more: that fails
  for (let times = 0; times < 5; times++) {
    at.state.tick += 200;
    assert(await at.admit(GRANTED / 2 - 10), `request ${times}`);
  }
  at.state.isAway = false;
  const lent = async () => (await audit(at.bench.database)).lentCredits;
  await until(async () => await lent() === 0, { what: "its return" });
  at.state.tick += 10_000;
  await until(() => at.admit(), { what: "another loan" });
  assertEquals((await audit(at.bench.database)).mismatches, []);
});
