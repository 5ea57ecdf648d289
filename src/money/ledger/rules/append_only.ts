import type { Rule } from "../../../ground/database/mod.ts";
import { refuse } from "./sql/shared.ts";

const TABLES = [
  "entries",
  "grants",
  "first_payments",
  "take_backs",
  "loan_write_offs",
  "order_events",
  "order_credits",
];

/**
 * Entries, grants, first payments, take-backs, loans that were written off, and what happened to orders and to their credits are only ever added: no row
 * is changed or deleted. Nor are the provider's events, but that those without an effect on an order are pruned.
 */
export const APPEND_ONLY: Rule = {
  name: "append_only",
  objects: [
    ...TABLES.flatMap((table) =>
      (["update", "delete"] as const).map((event) =>
        refuse(event, table, `${table} are only ever added`)
      )
    ),
    refuse("update", "payment_events", "payment_events are only ever added"),
    {
      trigger: "payment_events_of_orders_are_kept",
      event: "before delete",
      on: "payment_events",
      when: `old.outcome in ('applied', 'review')
      or exists (select 1 from order_events where event_id = old.id)`,
      refuses: "events that changed an order are kept",
    },
  ],
};
