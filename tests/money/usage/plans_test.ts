/** What pages read does not grow with what others did, nor with the requests of years. */

import { balancesReading } from "../../../src/money/ledger/mod.ts";
import { readTogether } from "../../../src/ground/database/mod.ts";
import {
  accountUsage,
  daysSince,
  newestRecordsReading,
  reportUsage,
  SpentByKey,
  usageQuery,
  usageReading,
} from "../../../src/money/usage/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway } from "../../fake/gateway.ts";
import { type Plan, scansIn, watchPlans } from "../../fake/plans.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const LARGE = [
  "usage_records",
  "usage_hours",
  "usage_days",
  "usage_tags",
  "usage_totals",
  "usage_day_totals",
  "entries",
  "balances",
];

/** Steps that read a table, by what of its index they look up. */
function readsOf(plans: readonly Plan[], table: string): string[] {
  return plans.flatMap(({ steps }) => steps)
    .filter((step) => step.startsWith(`SEARCH ${table} `))
    .map((step) => /\(.*\)$/.exec(step)?.[0] ?? "");
}

Deno.test("what keys have spent is looked up day by day, for their account alone", async () => {
  await using gateway = await startGateway({ looksInside: true });
  const { accountId } = await customer(gateway, 10);
  const { database, plans } = watchPlans(gateway.gateway.database);
  assertEquals((await new SpentByKey(database).of([accountId])).size, 0);
  assertEquals(plans.length, 1);
  assertEquals(scansIn(plans, LARGE), []);
  // the ends of all roll-ups, and what is between them
  assertEquals(readsOf(plans, "usage_days"), ["", "", "(day_at_ms=? AND account_id=?)"]);
});

Deno.test("live parts are one statement that reads today, a balance and the newest requests of each account", async () => {
  await using gateway = await startGateway({ looksInside: true });
  const [ada, bob] = [await customer(gateway, 10), await customer(gateway, 20)];
  const { database, plans } = watchPlans(gateway.gateway.database);
  const ids = [ada.accountId, bob.accountId];
  const { pulses, today, newest } = await readTogether(database, {
    pulses: balancesReading(ids),
    today: usageReading({
      accountIds: ids,
      by: ["account"],
      sinceMs: daysSince(Date.now(), 1),
      untilMs: daysSince(Date.now(), 0),
    }),
    newest: newestRecordsReading(ids),
  });
  assertEquals([pulses.size, today.length, newest.size], [2, 0, 2]);
  assertEquals(plans.length, 1);
  assertEquals(scansIn(plans, LARGE), []);
  assertEquals(readsOf(plans, "usage_days"), ["(day_at_ms=? AND account_id=?)"]);
  assertEquals(readsOf(plans, "usage_records"), ["(account_id=?)"]);
  // by the index: at most those that began at one moment are sorted
  const [{ steps }] = plans as [Plan];
  assertEquals(steps.filter((step) => step === "USE TEMP B-TREE FOR ORDER BY"), []);
});

Deno.test("charts and reports of an account read its own roll-ups, those of all accounts each day once", async () => {
  await using gateway = await startGateway({ looksInside: true });
  const { accounts, teams } = gateway.gateway;
  const { accountId } = await customer(gateway, 10);
  const own = watchPlans(gateway.gateway.database);
  for (const by of [["model"], ["key"], []] as const) {
    const range = { sinceMs: daysSince(NOW, 60), untilMs: NOW };
    await accountUsage(own.database, { accountIds: [accountId], by: ["day", ...by], ...range });
    await accountUsage(own.database, { accountIds: [accountId], by: ["hour", ...by], ...range });
  }
  const report = (parts: typeof own, query: object, scope = {}) =>
    reportUsage(
      { database: parts.database, accounts, teams, now: () => NOW },
      usageQuery.parse({ since: "90d", ...query }),
      scope,
    );
  for (const by of ["day", "model", "key", "reason", "tag:project", "day,model"]) {
    await report(own, { by, compare: true }, { accountId });
  }
  assertEquals(scansIn(own.plans, LARGE), []);
  for (const read of readsOf(own.plans, "usage_hours")) assert(/account_id=\?/.test(read), read);

  const ofAll = watchPlans(gateway.gateway.database);
  for (const by of ["account", "team", "day,account"]) await report(ofAll, { by, top: 5 });
  assertEquals(scansIn(ofAll.plans, LARGE), []);
  assert(readsOf(ofAll.plans, "usage_days").includes("(day_at_ms>? AND day_at_ms<?)"));
});
