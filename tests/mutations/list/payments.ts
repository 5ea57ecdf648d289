import type { Mutation } from "../mutation.ts";

const rule = (name: string) => `src/ledger/rules/${name}.ts`;
const PAYMENTS = "tests/payments/payments_test.ts";
const WEBHOOK = "tests/payments/webhook_test.ts";
const CONSOLE = "tests/payments/console_test.ts";
const TEAMS = "tests/payments/teams_test.ts";
const BILLING = [{ file: "tests/billing/billing_test.ts" }];

/** Orders, their payments, refunds and disputes. */
export const PAYMENTS_MUTATIONS: readonly Mutation[] = [
  {
    name: "payment-bonus-for-gifts",
    file: "src/payments/record_sale.ts",
    find: "      isPayment: sale.isPayment,\n",
    replace: "      isPayment: true,\n",
    tests: BILLING,
    why: "A package that was given away would earn the inviter the bonus of a payment.",
  },
  {
    name: "payment-credited-twice",
    file: "src/billing/sales.ts",
    find: 'const lotId = idOfReference("lot", account.id, reference);',
    replace: 'const lotId = idOfReference("lot", account.id, newReference());',
    tests: BILLING,
    why: "A payment that is recorded twice would give its credits twice.",
  },
  {
    name: "package-never-expires",
    file: rule("pay_order"),
    find: "${EXPIRES}",
    replace: "${UNLIMITED}",
    tests: BILLING,
    why: "Packages would not expire.",
  },
  {
    name: "debts-not-paid-off",
    file: rule("pay_order"),
    find: "kind = 'repaid'\n      and account_id",
    replace: "kind = 'none'\n      and account_id",
    tests: [{ file: PAYMENTS, filter: "is a debt" }],
    why: "Purchases would not pay off what an account owes.",
  },
  {
    name: "failed-refund-counts",
    file: rule("adjust_order"),
    find: "kind = 'refund' and rank < 2 or",
    replace: "kind = 'refund' or",
    tests: [{ file: PAYMENTS, filter: "a refund that fails" }],
    why: "A refund that failed would keep the credits that it took.",
  },
  {
    name: "inquiry-takes-credits",
    file: rule("adjust_order"),
    find: "kind = 'dispute' and rank in (1, 2))",
    replace: "kind = 'dispute' and rank in (0, 1, 2))",
    tests: [{ file: PAYMENTS, filter: "an inquiry takes nothing" }],
    why: "An inquiry would take credits although no money has moved.",
  },
  {
    name: "spent-credits-not-owed",
    file: rule("adjust_order"),
    find: "from ${BOOKED}\n    ) where more > 0;",
    replace: "from ${BOOKED}\n    ) where false;",
    tests: [{ file: PAYMENTS, filter: "is a debt" }],
    why: "Somebody could spend credits, have the money back, and owe nothing.",
  },
  {
    name: "older-news-undo-newer",
    file: rule("adjust_order"),
    find: "excluded.rank > rank,\n",
    replace: "excluded.rank <> rank,\n",
    tests: [{ file: PAYMENTS, filter: "a refund that fails" }],
    why: "A late event would bring back a state that is over.",
  },
  {
    name: "webhook-old-events",
    file: "src/payments/webhook_signature.ts",
    find: "Math.abs(nowMs / 1_000 - Number(parsed.time)) > TOLERANCE_S",
    replace: "nowMs / 1_000 - Number(parsed.time) > TOLERANCE_S",
    tests: [{ file: WEBHOOK, filter: "only what was signed" }],
    why: "An event that was signed for the future could be sent again for as long.",
  },
  {
    name: "webhook-unsigned",
    file: "src/payments/webhook_signature.ts",
    find: "  let isValid = false;",
    replace: "  let isValid = true;",
    tests: [{ file: WEBHOOK, filter: "only what was signed" }],
    why: "Anybody could say that an order was paid.",
  },
  {
    name: "webhook-unbounded",
    file: "src/payments/webhook.ts",
    find: '      if (bytes > MAX_BODY_BYTES) return "too long";\n',
    replace: "",
    tests: [{ file: WEBHOOK, filter: "256 kB" }],
    why: "A body without a length could fill the memory.",
  },
  {
    name: "payment-currency-not-compared",
    file: "src/payments/check_session.ts",
    find: '    ...session.currency !== order.currency ? ["currency"] : [],\n',
    replace: "",
    tests: [{ file: PAYMENTS, filter: "another currency" }],
    why: "499 yen would buy what costs 4.99 dollars.",
  },
  {
    name: "session-of-another-account",
    file: "src/console/payment_pages.tsx",
    find: 'if (!can(session, "payments.read")) return undefined;',
    replace: "",
    tests: [{ file: CONSOLE, filter: "landing page" }],
    why: "An account would see, and claim, the orders of others.",
  },
  {
    name: "order-of-another-team",
    file: "src/console/payment_pages.tsx",
    find: 'if (!can(session, "team.orders", about)) return undefined;',
    replace: "",
    tests: [{ file: TEAMS, filter: "only leads" }],
    why: "Everybody who is signed in would see the orders and receipts of all teams.",
  },
  {
    name: "checkout-while-disputed",
    file: "src/payments/checkout.ts",
    find: "  if (await isDisputed(database, account.id)) {",
    replace: "  if (false) {",
    tests: [{ file: PAYMENTS, filter: "an inquiry takes nothing" }],
    why: "Stolen cards could be used one after the other while the first is disputed.",
  },
  {
    name: "codes-tried-without-limit",
    file: "src/payments/codes.ts",
    find: "Number(counts[at]![0]?.tries ?? 0) <= max",
    replace: "max > 0",
    tests: [{ file: CONSOLE, filter: "limited per account" }],
    why: "Codes could be guessed.",
  },
  {
    name: "payment-amount-not-compared",
    file: "src/payments/check_session.ts",
    find: `    ...own !== order.amount ? ["amount"] : [],
    // taxes are above our price; a discount that we did not give is not
    ...typeof total !== "number" || total < (order.amount ?? Infinity) ? ["amount_total"] : [],
`,
    replace: "",
    tests: [{ file: PAYMENTS, filter: "a lower amount" }],
    why: "A package could be had for less than its price.",
  },
  {
    name: "payment-bonus-stays-after-refund",
    file: rule("adjust_order"),
    find:
      "iif(gone_amount > 0 and gone_amount >= paid_amount, granted, 0), granted, lots.expires_at_ms",
    replace: "0, granted, lots.expires_at_ms",
    tests: [{ file: PAYMENTS, filter: "pays the inviter once" }],
    why: "Somebody could invite themselves, have the money back, and keep the bonus.",
  },
  {
    name: "checkout-asked-otherwise",
    file: "src/payments/checkout.ts",
    find: "coalesce(checkout_options, ?)",
    replace: "coalesce(?, checkout_options)",
    tests: [{ file: PAYMENTS, filter: "one checkout, however" }],
    why: "An order could not be paid after a crash if the gateway's address is another then.",
  },
];
