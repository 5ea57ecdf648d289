import * as z from "zod";
import { type Budget, BUDGET_OWNERS, BUDGET_PERIODS } from "../../../money/ledger/mod.ts";
import { describer, iso, timestamp } from "./common.ts";

const spendable = z.int().nonnegative();

/** A budget as commands and the API show it. */
export const budgetShape = z.strictObject({
  id: z.string(),
  owner: z.enum(BUDGET_OWNERS).describe("What the budget is on."),
  owner_id: z.string().describe("ID of the key, team or account; of a member, TEAM:ACCOUNT."),
  period: z.enum(BUDGET_PERIODS).describe("How often it renews."),
  time_zone: z.string().describe("Time zone in which its periods begin."),
  credits: spendable.describe("Credits per period, without a raise."),
  raise: z.strictObject({ credits: spendable.describe("Whole credits."), until: timestamp })
    .nullable().describe("Temporary extra credits."),
  spent: spendable.describe("Credits charged for requests admitted in this period."),
  held: spendable.describe("Credits held by in-flight requests admitted in this period."),
  left: spendable.describe("Credits neither spent nor held."),
  starts_at: timestamp.nullable(),
  renews_at: timestamp.nullable().describe("When the next period begins; `null` for never."),
  marks: z.array(z.int().positive()).describe("Percentages at which a warning is sent."),
});

/** Describes a budget; one for life has neither start nor renewal. */
export const describeBudget = describer(
  budgetShape,
  ({ zone, raise, startsAtMs, renewsAtMs, marks }: Budget) => ({
    time_zone: zone,
    raise: raise && { credits: raise.credits, until: iso(raise.untilMs) },
    starts_at: renewsAtMs === null ? null : iso(startsAtMs),
    marks: marks.slice(),
  }),
);
