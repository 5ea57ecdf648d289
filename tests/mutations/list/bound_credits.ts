import type { Mutation } from "../mutation.ts";

const rule = (name: string) => `src/money/ledger/rules/${name}.ts`;
const run = (filter: string) => [{ file: "tests/money/ledger/bound_credits_test.ts", filter }];

/** Credits that pay for some models only. */
export const BOUND_CREDITS: readonly Mutation[] = [
  {
    name: "bound-credits-free-for-all",
    file: rule("sql/lots"),
    find: "models is not null and remaining > 0\n        and not ${from}",
    replace: "models is not null and remaining > 0\n        and false and not ${from}",
    tests: run("nothing else"),
    why: "Credits that a customer bought for one model would be held for another.",
  },
  {
    name: "admitted-without-its-model",
    file: "src/requests/admission/admission.ts",
    find: "leaseMs, route: route.id }",
    replace: "leaseMs }",
    tests: [{ file: "tests/flow/bound_credits_test.ts" }],
    why: "Who has credits for one model only could not use it.",
  },
  {
    name: "bound-credits-charged-for-all",
    file: rule("settle"),
    find: "from: paysFor(PAID_FOR)",
    replace: 'from: "true"',
    tests: run("nothing else"),
    why: "Credits that a customer bought for one model would pay for another.",
  },
  {
    name: "bound-credits-spent-last",
    file: rule("sql/lots"),
    find: "order by models is null, expires_at_ms",
    replace: "order by models is not null, expires_at_ms",
    tests: run("first"),
    why: "Credits that pay for everything would be gone before those that pay for little.",
  },
  {
    name: "bound-credits-not-reserved",
    file: rule("hold"),
    find: '        reserve("new.credits"),\n',
    replace: "",
    tests: run("held for that model"),
    why: "Two requests would be promised the same credits.",
  },
  {
    name: "growth-not-reserved",
    file: rule("hold"),
    find: '        reserve("new.credits - old.credits"),\n',
    replace: "",
    tests: run("a hold grows"),
    why: "What a stream grew into would be promised to another request.",
  },
  {
    name: "lent-from-bound-credits",
    file: rule("lend"),
    find: "and not ${HAS_BOUND}",
    replace: "",
    tests: run("nothing is lent"),
    why: "A gateway would admit requests of other models from bound credits.",
  },
  {
    name: "bound-grant-without-recall",
    file: rule("bind"),
    find: "update loans set recalled = 1",
    replace: "update loans set recalled = 0",
    tests: run("recalled"),
    why: "The model would go on being paid with other credits for as long as the loan lives.",
  },
  {
    name: "loan-charged-to-bound-credits",
    file: rule("settle_set"),
    find: "remaining > 0 and models is null",
    replace: "remaining > 0",
    tests: run("what was is recalled"),
    why: "Requests of any model that a loan covers would be paid with bound credits.",
  },
  {
    name: "expired-bound-credits-take-others",
    file: rule("sql/lots"),
    find: `return least(
    "remaining - reserved",`,
    replace: `return least(
    "remaining",`,
    tests: run("leaves the other credits alone"),
    why: "Credits that a request holds would expire under it.",
  },
  {
    name: "returned-credits-unbound",
    file: rule("adjust_order"),
    find:
      'iif("new.role = \'bonus\'", "null", "(select models from orders where id = new.order_id)")',
    replace: '"null"',
    tests: run("binds what it grants"),
    why: "A refund that fails would turn bound credits into ones that pay for everything.",
  },
];
