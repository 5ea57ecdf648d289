import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { setBudget, TierList } from "../../../src/money/ledger/mod.ts";
import type { Caller } from "../../../src/people/accounts/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { Admission } from "../../../src/requests/admission/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { routeOf } from "../../fake/routes.ts";
import { sleep, until } from "../../fake/temp.ts";

const NOW = Date.UTC(2030, 0, 1);
const BUDGET = 10;

Deno.test("a key spends no more than its budget, however much of its account is lent to the gateway", async () => {
  await using bench = await ledgerBench("file");
  const route = await routeOf("svc-k2");
  const { accountId, keyId: free } = await bench.account();
  await bench.grant(accountId, 1_000_000);
  const bound = await bench.key(accountId);
  const budget = { owner: "key", ownerId: bound, period: "life", credits: BUDGET } as const;
  await setBudget(bench.database, budget, { nowMs: NOW });
  const admission = new Admission({
    database: bench.database,
    tierList: new TierList([{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }]),
    gatewayId: "gw",
    leaseMs: 60_000,
    log: SILENT,
    now: () => NOW,
    lendFrom: 0,
  });
  await admission.start();
  /** A request that costs a credit. */
  const admit = (keyId: string, atOnce: number | null = null) =>
    admission.admit({
      requestId: newRequestId(NOW),
      caller: {
        accountId,
        keyId,
        models: null,
        atOnce,
        hasBudget: keyId === bound,
      } as unknown as Caller,
      route,
      stream: false,
      inputTokens: 10,
      permittedOutput: 10,
      choices: 1,
    }, () => {});
  try {
    await until(async () => (await admit(free)).hold.lent !== undefined, { what: "a loan" });
    let admitted = 0;
    for (let tries = 0; tries < 3 * BUDGET; tries++) {
      await admit(bound).then(() => admitted++, (error) => {
        assert(error instanceof Refusal && error.reason === "budget_spent", String(error));
      });
      await sleep(5); // what would be lent to the key as well is lent meanwhile
    }
    assertEquals(admitted, BUDGET);
    assert((await admit(free)).hold.lent !== undefined, "the loan goes on for other keys");
    const counted = await admit(free, 100);
    assertEquals(counted.hold.lent, undefined, "the database counts what runs at once");
  } finally {
    await admission.close();
  }
});
