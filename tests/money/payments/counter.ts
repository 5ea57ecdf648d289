/** What sells packages, without a gateway: payments over a database and a fake of the service, by a clock. */

import { type Account, Accounts } from "../../../src/people/accounts/mod.ts";
import { Secret } from "../../../src/settings/config/mod.ts";
import type { NewsParts } from "../../../src/money/payments/apply_news.ts";
import { termsOf } from "../../../src/money/payments/checkout.ts";
import { Codes, type Order, orderById, Payments } from "../../../src/money/payments/mod.ts";
import { orderStatement } from "../../../src/money/payments/orders.ts";
import { StripeClient } from "../../../src/money/payments/stripe_client.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { fakeStripe, TEST_KEY, WEBHOOK_SECRET } from "./fake_stripe.ts";

/** What is sold: a package with a price, and those that are not sold online. */
export const STARTER = {
  id: "starter",
  name: "Starter",
  credits: 500,
  priceUsd: 4.99,
  validDays: null,
};
export const PACKAGES = [
  STARTER,
  { ...STARTER, id: "asked", credits: null },
  { ...STARTER, id: "unpriced", priceUsd: null },
  { ...STARTER, id: "free", priceUsd: 0 },
  { ...STARTER, id: "bound", models: ["svc-k2"] },
];

/** Payments over a database and a fake of the service, by a clock. */
export async function counter() {
  await using stack = new AsyncDisposableStack();
  const ledger = stack.use(await ledgerBench("file"));
  const stripe = stack.use(fakeStripe());
  const clock = { nowMs: Date.now() };
  const now = () => clock.nowMs;
  const logged: string[] = [];
  const log = {} as Record<"debug" | "info" | "warn" | "error", (message: string) => void>;
  for (const level of ["debug", "info", "warn", "error"] as const) {
    log[level] = (message) => void logged.push(`${level} ${message}`);
  }
  const failing = { on: "" };
  const database = guardedDatabase(ledger.database, (use) => {
    if (use === failing.on) throw new TypeError("a fault of ours");
  });
  const accounts = new Accounts(ledger.database, now);
  const secrets = { secretKey: new Secret(TEST_KEY), webhookSecret: new Secret(WEBHOOK_SECRET) };
  const settings = { stripe: { ...secrets, currency: "usd", apiBase: stripe.url } };
  const paymentsOf = (settings: object, own: Database = database) =>
    new Payments({
      database: own,
      accounts,
      settings: settings as never,
      packages: PACKAGES,
      bonusCredits: 0,
      log: log as never,
      now,
    });
  const payments = paymentsOf(settings);
  const news: NewsParts = { database, log: log as never, now, livemode: false, bonusCredits: 0 };
  let references = 0;
  const owned = stack.move();
  return {
    clock,
    stripe,
    database,
    failing,
    accounts,
    payments,
    paymentsAt: (database: Database) => paymentsOf(settings, database),
    offline: () => paymentsOf({}),
    /** A command runs without the variable that the key comes from. */
    keyless: () => paymentsOf({ stripe: { ...settings.stripe, secretKey: new Secret("") } }),
    news,
    logged,
    codes: new Codes(ledger.database, now),
    codesAt: (database: Database) => new Codes(database, now),
    client: new StripeClient({ apiBase: stripe.url, secretKey: secrets.secretKey }),
    account: () => accounts.create({ email: `buyer${++references}@example.com` }),
    order: async (
      account: Account,
      { sessionId = null, createdAtMs, ...from }: Partial<Order> = {},
    ) => {
      const terms = termsOf(account, STARTER, {
        provider: "stripe",
        origin: "console",
        reference: `${++references}`,
        currency: "usd",
        livemode: false,
        atMs: createdAtMs ?? clock.nowMs,
      });
      await ledger.database.batch([
        orderStatement({ ...terms, ...from } as typeof terms),
        { sql: "update orders set session_id = ? where id = ?", args: [sessionId, terms.id] },
      ]);
      return (await orderById(ledger.database, terms.id))!;
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}
