/**
 * Tables of this folder, and the views that take what its rules decide on: only its SQL reads and writes them, and the
 * rules of the ledger (`tests/tables_test.ts`).
 */
export const TABLES = [
  "orders",
  /** The purchase that was an account's first payment. */
  "first_payments",
  /** What happened to orders, each row by what caused it. */
  "order_events",
  /** Credits that orders granted, took back, or left owed. */
  "order_credits",
  /** Refunds and disputes as the provider has told of them. */
  "payment_facts",
  /** Events of the provider that were handled. */
  "payment_events",
  "redemption_codes",
  /** Wrong codes that were tried. */
  "code_tries",
  /** Automatic purchases. */
  "top_ups",
  /** When webhooks and sweeps were last heard of. */
  "payment_contacts",
  "order_payments",
  "payment_changes",
  "order_adjustments",
  "order_collections",
  "credit_collections",
  /** Orders whose refunds can take something that was held before. */
  "collectable_orders",
] as const;
