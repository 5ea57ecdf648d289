/** When a gateway asks for a loan: one question at a time, and none once it has stopped. */

import type { Caller } from "../../../src/people/accounts/mod.ts";
import { Admission } from "../../../src/requests/admission/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { Loans } from "../../../src/requests/admission/loans.ts";
import { TierList } from "../../../src/money/ledger/mod.ts";
import { type Database, DatabaseError } from "../../../src/ground/database/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { type LedgerBench, ledgerBench } from "../../fake/ledger.ts";
import { tokenRoute } from "../../fake/routes.ts";
import { until } from "../../fake/temp.ts";

const TIERS = new TierList([{ above: 0, minute: 1_000, hour: 1_000, day: 1_000 }]);

/** The loans of a gateway, from a ledger that a test may come between. */
function loansOf(
  database: Database,
  clock: { readonly tick: number },
  warn: () => void = () => {},
) {
  return new Loans({
    database,
    tierList: TIERS,
    gatewayId: "gw_one",
    leaseMs: 60_000,
    log: { ...SILENT, warn },
    now: () => Date.UTC(2030, 0, 1),
    monotonicNow: () => clock.tick,
    lendFrom: 2,
  });
}

Deno.test("a loan is asked for once at a time, not soon after there was none, and not by a gateway that has stopped", async () => {
  await using bench = await ledgerBench("file");
  let questions = 0;
  const clock = { tick: 0 };
  const loans = loansOf(guardedDatabase(bench.database, () => questions++), clock);
  const request = { ...await bench.account(), credits: 10 }; // of an account with nothing to lend
  /** Questions that requests at a time lead to at once. */
  const asked = (requests: number) => {
    const before = questions;
    for (let count = 0; count < requests; count++) loans.uncovered(request);
    return questions - before;
  };
  assertEquals(asked(1), 0, "one request is not many");
  assertEquals([asked(1), asked(1)], [1, 0], "the second is, and the third finds it asked");
  clock.tick = 999;
  assertEquals(asked(3), 0, "there is no answer yet");
  await loans.giveBack(request.accountId); // waits for the answer
  clock.tick = 4_999;
  assertEquals(asked(3), 0, "there was nothing a moment ago");
  clock.tick = 5_000;
  assertEquals(asked(3), 1);
  await loans.close();
  clock.tick = 20_000;
  assertEquals(asked(3), 0, "it has stopped");
});

/** Questions for loans that are held up, or whose answers are lost. */
function troubledQuestions({ database }: LedgerBench) {
  const trouble = {
    questions: 0,
    looks: 0,
    renewals: 0,
    isLost: false,
    held: Promise.resolve(),
    database: {
      ...guardedDatabase(database, () => {}),
      one(sql, args) {
        if (sql.includes("recalled = 1")) trouble.looks++;
        return database.one(sql, args);
      },
      async batch(statements, options) {
        if (statements.some(({ sql }) => sql.startsWith("update loans set lease_until_ms"))) {
          trouble.renewals++;
        }
        if (!options?.beside) return await database.batch(statements, options);
        trouble.questions++;
        await trouble.held;
        const rows = await database.batch(statements, options);
        if (trouble.isLost) {
          throw new DatabaseError("SLUICE_SERVER", "away", { outcomeUnknown: true });
        }
        return rows;
      },
    } satisfies Database as Database,
  };
  return trouble;
}

Deno.test("a loan whose answer was lost is looked for once no question is under way, and is returned", async () => {
  await using bench = await ledgerBench("file");
  await bench.database.batch(TIERS.statements);
  const trouble = troubledQuestions(bench);
  const clock = { tick: 0 };
  let warnings = 0;
  const loans = loansOf(trouble.database, clock, () => warnings++);
  const [lost, other] = [await bench.account(), await bench.account()];
  for (const { accountId } of [lost, other]) await bench.grant(accountId, 100_000);
  const ask = (of: typeof lost) => {
    for (let count = 0; count < 2; count++) loans.uncovered({ ...of, credits: 10 });
  };
  ask(other);
  await until(() => loans.size === 1, { what: "a loan, so that it looks at news" });
  trouble.isLost = true;
  ask(lost);
  await until(() => warnings === 1, { what: "the lost answer" });
  const going = Promise.withResolvers<void>();
  trouble.held = going.promise;
  trouble.isLost = false;
  clock.tick = 5_000;
  ask(lost);
  assertEquals(trouble.questions, 3);
  try {
    await loans.start([]);
    await until(() => trouble.looks >= 2, { what: "looks" });
    assertEquals(trouble.renewals, 0, "the loan that is asked for would look like a lost one");
    going.resolve();
    const sql = "select 1 from loans where account_id = ?";
    await until(async () =>
      trouble.renewals > 0 &&
      (await bench.database.all(sql, [lost.accountId])).length === loans.size - 1, {
      what: "the return of the lost loan",
    });
  } finally {
    await loans.close();
  }
});

Deno.test("a hold that can grow leaves what is lent to other gateways where it is", async () => {
  await using bench = await ledgerBench("file");
  const of = await bench.account();
  await bench.grant(of.accountId, 100_000);
  const route = await tokenRoute();
  const nowMs = Date.UTC(2030, 0, 1);
  const caller = { ...of, models: null, hasBudget: false, atOnce: null } as unknown as Caller;
  const start = async (gatewayId: string, lendFrom: number) => {
    const admission = new Admission({
      database: bench.database,
      tierList: TIERS,
      gatewayId,
      leaseMs: 60_000,
      log: SILENT,
      now: () => nowMs,
      lendFrom,
    });
    await admission.start();
    const admit = (permittedOutput: number) =>
      admission.admit({
        requestId: newRequestId(nowMs),
        caller,
        route,
        stream: true,
        inputTokens: 0,
        permittedOutput,
        choices: 1,
      }, () => {});
    return { admit, [Symbol.asyncDispose]: () => admission.close() };
  };
  await using one = await start("gw_one", 0);
  await using two = await start("gw_two", Infinity);
  await one.admit(1);
  const lent = () =>
    bench.database.all("select loan_id, recalled from loans where gateway_id = 'gw_one'");
  await until(async () => (await lent()).length === 1, { what: "a loan" });
  const before = await lent();
  const { hold } = await two.admit(1_000);
  const held = hold.outputTokens;
  assert(await hold.extend(held) > held);
  assertEquals(await lent(), before);
});
