import type { Rule } from "../../database/mod.ts";
import { refuse } from "./fragments.ts";

const TABLES = [
  "entries",
  "grants",
  "first_payments",
  "take_backs",
  "order_events",
  "order_credits",
  "payment_events",
];

/**
 * Entries, grants, first payments, take-backs, what happened to orders and to their credits, and the provider's events are
 * only ever added: no row is changed or deleted.
 */
export const APPEND_ONLY: Rule = {
  name: "append_only",
  sql: TABLES.flatMap((table) =>
    (["update", "delete"] as const).map((event) =>
      refuse(event, table, `${table} are only ever added`)
    )
  ),
};
