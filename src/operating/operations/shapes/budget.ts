import * as z from "zod";
import { BUDGET_PERIODS } from "../../../money/ledger/mod.ts";
import { credits, timestamp } from "./common.ts";

/** A budget as `describeBudget` shows it. */
export const budgetShape = z.strictObject({
  id: z.string(),
  owner: z.enum(["key", "member", "team", "account"]),
  owner_id: z.string(),
  period: z.enum(BUDGET_PERIODS),
  time_zone: z.string(),
  credits,
  raise: z.strictObject({ credits, until: timestamp }).nullable(),
  spent: credits,
  held: credits,
  left: credits,
  starts_at: timestamp.nullable(),
  renews_at: timestamp.nullable(),
  marks: z.array(z.number()),
});
