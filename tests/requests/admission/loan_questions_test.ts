/** When a gateway asks for a loan: one question at a time, and none once it has stopped. */

import { Loans } from "../../../src/requests/admission/loans.ts";
import { TierList } from "../../../src/money/ledger/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assertEquals } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench } from "../../fake/ledger.ts";

Deno.test("a loan is asked for once at a time, not soon after there was none, and not by a gateway that has stopped", async () => {
  await using bench = await ledgerBench("file");
  let questions = 0;
  let tick = 0;
  const loans = new Loans({
    database: guardedDatabase(bench.database, () => questions++),
    tierList: new TierList([{ above: 0, minute: 1_000, hour: 1_000, day: 1_000 }]),
    gatewayId: "gw_one",
    leaseMs: 60_000,
    log: SILENT,
    now: () => Date.UTC(2030, 0, 1),
    monotonicNow: () => tick,
    lendFrom: 2,
  });
  const request = { ...await bench.account(), credits: 10 }; // of an account with nothing to lend
  /** Questions that requests at a time lead to at once. */
  const asked = (requests: number) => {
    const before = questions;
    for (let count = 0; count < requests; count++) loans.uncovered(request);
    return questions - before;
  };
  assertEquals(asked(1), 0, "one request is not many");
  assertEquals(asked(2), 1, "the second is, and the third finds it asked");
  tick = 999;
  assertEquals(asked(3), 0, "there is no answer yet");
  await loans.giveBack(request.accountId); // waits for the answer
  tick = 4_999;
  assertEquals(asked(3), 0, "there was nothing a moment ago");
  tick = 5_000;
  assertEquals(asked(3), 1);
  await loans.close();
  tick = 20_000;
  assertEquals(asked(3), 0, "it has stopped");
});
