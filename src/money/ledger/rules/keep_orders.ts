import { iif, type Rule } from "../../../ground/database/mod.ts";
import { refuse } from "./sql/shared.ts";

/** What an order is for. Everything else about it may change. */
const TERMS = [
  "id",
  "account_id",
  "provider",
  "origin",
  "reference",
  "package_id",
  "package_name",
  "credits",
  "valid_days",
  "amount",
  "currency",
  "livemode",
  "lot_id",
  "note",
  "created_at_ms",
  "models",
];

/** What is set once: a payment stays the payment of its order. */
const ONCE = ["session_id", "payment_id", "paid_amount", "paid_at_ms", "receipt"];

/** What a redemption code is worth. */
const CODE_TERMS = [
  "id",
  "digest",
  "package_id",
  "package_name",
  "credits",
  "valid_days",
  "created_at_ms",
  "expires_at_ms",
  "models",
];

/**
 * The terms of an order never change, what its payment is never changes once it is known, no order is deleted, and what
 * was learned of a refund or a dispute is never forgotten. What a code is worth never changes, and one that was redeemed
 * stays so.
 */
export const KEEP_ORDERS: Rule = {
  name: "keep_orders",
  objects: [
    {
      trigger: "orders_terms_are_kept",
      event: "before update",
      columns: TERMS,
      on: "orders",
      refuses: "the terms of orders never change",
    },
    {
      trigger: "orders_payment_is_kept",
      event: "before update",
      columns: ONCE,
      on: "orders",
      when: ONCE.map((column) =>
        `(old.${column} is not null and new.${column} is distinct from old.${column})`
      )
        .join("\n      or "),
      refuses: "the payment of an order never changes",
    },
    refuse("delete", "orders", "orders are never deleted"),
    refuse("delete", "payment_facts", "refunds and disputes are never forgotten"),
    {
      trigger: "redemption_codes_terms_are_kept",
      event: "before update",
      columns: CODE_TERMS,
      on: "redemption_codes",
      refuses: "the terms of codes never change",
    },
    {
      trigger: "redemption_codes_stay_redeemed",
      event: "before update",
      on: "redemption_codes",
      when: "old.redeemed_at_ms is not null",
      refuses: "a redeemed code never changes",
    },
    refuse("delete", "redemption_codes", "codes are never deleted"),
    {
      trigger: "payment_facts_only_grow",
      event: "before update",
      on: "payment_facts",
      when: `new.id <> old.id or new.payment_id <> old.payment_id or new.kind <> old.kind
      or new.reversals < old.reversals or not ${
        iif(
          "old.kind = 'refund'",
          "new.rank > old.rank",
          "(new.rank > 0, new.as_of_ms, new.rank) > (old.rank > 0, old.as_of_ms, old.rank)",
        )
      }`,
      refuses: "what is known of a refund or dispute only grows",
    },
  ],
};
