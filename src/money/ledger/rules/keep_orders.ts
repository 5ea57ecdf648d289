import type { Rule } from "../../../ground/database/mod.ts";
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
  sql: [
    `create trigger orders_terms_are_kept before update of ${TERMS.join(", ")} on orders begin
    select raise(abort, 'the terms of orders never change');
  end`,
    `create trigger orders_payment_is_kept before update of ${ONCE.join(", ")} on orders
    when ${
      ONCE.map((column) => `(old.${column} is not null and new.${column} is not old.${column})`)
        .join("\n      or ")
    } begin
    select raise(abort, 'the payment of an order never changes');
  end`,
    refuse("delete", "orders", "orders are never deleted"),
    refuse("delete", "payment_facts", "refunds and disputes are never forgotten"),
    `create trigger redemption_codes_terms_are_kept before update of ${
      CODE_TERMS.join(", ")
    } on redemption_codes begin
    select raise(abort, 'the terms of codes never change');
  end`,
    `create trigger redemption_codes_stay_redeemed before update on redemption_codes
    when old.redeemed_at_ms is not null begin
    select raise(abort, 'a redeemed code never changes');
  end`,
    refuse("delete", "redemption_codes", "codes are never deleted"),
    `create trigger payment_facts_only_grow before update on payment_facts
    when new.id <> old.id or new.payment_id <> old.payment_id or new.kind <> old.kind
      or new.reversals < old.reversals or not iif(old.kind = 'refund', new.rank > old.rank,
        (new.rank > 0, new.as_of_ms, new.rank) > (old.rank > 0, old.as_of_ms, old.rank)) begin
    select raise(abort, 'what is known of a refund or dispute only grows');
  end`,
  ],
};
