import type { Mutation } from "../mutation.ts";

const FILE = "src/money/ledger/audit.ts";

/** The audit's checks that are queries, by name; `audit_checks_test.ts` holds that these are all. */
const CHECKS = [
  "entries",
  "grant entries",
  "second grants",
  "expiries",
  "lots as granted",
  "bonuses",
  "owners of lots",
  "balances",
  "budgets",
  "keys of budgets",
  "budgets of keys",
  "periods of budgets",
  "charges without a period",
  "pruned charges",
  "owners of keys",
  "holds",
  "roll-ups",
  "keys of roll-ups",
  "pruned records",
  "records",
  "charges without a record",
  "stored prices",
  "window spans",
  "windows",
  "admissions",
  "decisions",
  "revisions",
  "pruned windows",
];

const TESTS = [{
  file: "tests/money/ledger/audit_checks_test.ts",
  filter: "each check of the audit finds",
}];

/** The audit without each of its checks. */
export const AUDIT: readonly Mutation[] = [
  {
    name: "audit-without-schema",
    file: FILE,
    find: "await checkSchema(database);",
    replace: "[];",
    tests: TESTS,
    why: "A dropped trigger would go unnoticed.",
  },
  {
    name: "audit-without-tiers",
    file: FILE,
    find: `await attempt("tier", "tiers", () => checkTiers(database)) ?? []`,
    replace: "[]",
    tests: TESTS,
    why: "Raised request limits would go unnoticed.",
  },
  ...CHECKS.map((check): Mutation => ({
    name: `audit-without-${check.replaceAll(" ", "-")}`,
    file: FILE,
    find: "for (const check of CHECKS) {",
    replace: `for (const check of CHECKS.filter(({ name }) => name !== "${check}")) {`,
    tests: TESTS,
    why: `Corruptions that only the check '${check}' names would go unnoticed.`,
  })),
  {
    name: "audit-takes-any-take-back-for-an-orders",
    file: "src/money/ledger/audit/orders.ts",
    find: "take_backs.id = order_credits.id and ${IS_OF_AN_ORDER}",
    replace: "take_backs.id = order_credits.id",
    tests: [{ file: "tests/money/ledger/corruptions_test.ts", filter: "somebody thought of" }],
    why: "An order could claim credits that an operator took back.",
  },
  {
    name: "audit-ends-at-what-cannot-be-added-up",
    file: FILE,
    find: "isWhole && !error.isAboutTheData",
    replace: "isWhole",
    tests: [{ file: "tests/money/ledger/corruptions_test.ts", filter: "somebody thought of" }],
    why: "One damaged row would keep an operator from learning of any.",
  },
];
