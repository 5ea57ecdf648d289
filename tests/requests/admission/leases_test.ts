import { Admission } from "../../../src/requests/admission/mod.ts";
import type { Caller } from "../../../src/people/accounts/mod.ts";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { audit, TierList } from "../../../src/money/ledger/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { type LedgerBench, ledgerBench, possible } from "../../fake/ledger.ts";
import { tokenRoute } from "../../fake/routes.ts";
import { sized } from "../../tier.ts";
import { Refusal } from "../../../src/ground/refusal.ts";

const LEASE_MS = 60_000;

/** Gateways that share a server, as far as admission goes. Time passes for them, and their leases, when the test says so. */
async function gateways(bench: LedgerBench) {
  const route = await tokenRoute();
  const tierList = new TierList([{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }]);
  const made = await bench.account();
  const caller = { ...made, models: null } as unknown as Caller; // what admission looks at
  const clock = { tick: 0 };
  const all: { keep: () => Promise<void> }[] = [];
  /** Lets time pass, in which each gateway keeps its leases as it does: those that cannot reach the database fail to. */
  const pass = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += LEASE_MS / 4) {
      for (const gateway of all) await gateway.keep();
      clock.tick += LEASE_MS / 4;
      const sql = "update holds set lease_until_ms = lease_until_ms - ?";
      await bench.database.batch([{ sql, args: [LEASE_MS / 4] }]);
    }
  };
  const start = async (gatewayId: string, ahead = { ms: 0 }) => {
    const way = { open: true };
    const admission = new Admission({
      database: guardedDatabase(bench.database, () => {
        if (!way.open) throw new DatabaseError("SLUICE_SERVER", "away", { outcomeUnknown: true });
      }),
      tierList,
      gatewayId,
      leaseMs: LEASE_MS,
      log: SILENT,
      now: () => Date.now() + ahead.ms,
      monotonicNow: () => clock.tick,
    });
    await admission.start();
    all.push(admission);
    const admit = (permittedOutput: number) =>
      admission.admit({
        requestId: newRequestId(Date.now()),
        caller,
        route,
        stream: true,
        inputTokens: 0,
        permittedOutput,
        choices: 1,
      }, () => {});
    return { way, admit, [Symbol.asyncDispose]: () => admission.close() };
  };
  return { ...made, start, pass };
}

for (const kind of possible([sized("file", "server"), "postgres"])) {
  Deno.test(`a database that was away: who comes back first leaves the others time to renew their leases (${kind})`, async () => {
    await using bench = await ledgerBench(kind);
    const { accountId, start, pass } = await gateways(bench);
    await bench.grant(accountId, 100);
    await using first = await start("gw_first");
    await using second = await start("gw_second");
    const { hold } = await second.admit(100);
    await pass(LEASE_MS); // steady
    first.way.open = second.way.open = false;
    await pass(1.5 * LEASE_MS);
    first.way.open = true;
    await pass(LEASE_MS / 4);
    second.way.open = true;
    for (let times = 0; times < 6; times++) {
      await pass(LEASE_MS / 4);
      await assertRejects(() => first.admit(10), Refusal, "other requests hold part of it");
    }
    assertEquals(hold.credits, 100);
    // one that does not come back is not waited for
    second.way.open = false;
    await pass(1.5 * LEASE_MS);
    await first.admit(10);
  });
}

for (const kind of possible(["server", "postgres"])) {
  Deno.test(`leases go by the database's clock: gateways' own may differ by more than a lease (${kind})`, async () => {
    await using bench = await ledgerBench(kind);
    const { accountId, start, pass } = await gateways(bench);
    await bench.grant(accountId, 100);
    await using _ahead = await start("gw_ahead", { ms: 10 * LEASE_MS });
    await using behind = await start("gw_behind");
    await behind.admit(100);
    await pass(1.5 * LEASE_MS);
    assertEquals((await audit(bench.database)).holds, 1);
  });
}

Deno.test("a running request whose lease has ended holds anew what there is", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, start } = await gateways(bench);
  await bench.grant(accountId, 10_000);
  await using one = await start("gw_one");
  const { hold } = await one.admit(20_000);
  assertEquals(hold.credits, 4_096);
  await bench.database.batch([{ sql: "delete from holds" }]);
  await hold.extend(4_096);
  assertEquals([hold.credits, (await audit(bench.database)).holds], [8_192, 1]);
  await hold.extend(8_192);
  assertEquals(hold.credits, 10_000);
});

Deno.test("a growing hold takes nothing of what has expired", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, start } = await gateways(bench);
  const clock = { ms: 0 };
  await bench.grant(accountId, 5_000, Date.now() + LEASE_MS);
  await bench.grant(accountId, 1_000);
  await using one = await start("gw_one", clock);
  const { hold } = await one.admit(20_000);
  clock.ms += 2 * LEASE_MS;
  await hold.extend(4_096);
  // 4,096 were held, so they did not expire, and 904 of the expiring lot did
  assert(hold.credits <= 5_096, `${hold.credits}`);
  assertEquals((await audit(bench.database)).mismatches, []);
});
