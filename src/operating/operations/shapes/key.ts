import * as z from "zod";
import { type Key, SCOPES } from "../../../people/accounts/mod.ts";
import type { Budget } from "../../../money/ledger/mod.ts";
import { budgetShape, describeBudget } from "./budget.ts";
import { credits, describer, iso, timestamp } from "./common.ts";

/** A key as commands and the API show it, without its secret. */
export const keyShape = z.strictObject({
  id: z.string(),
  account_id: z.string().describe("The account that pays."),
  team_id: z.string().nullable(),
  member_id: z.string().nullable().describe("Account of the member that uses a team's key."),
  scopes: z.array(z.enum(SCOPES)).readonly(),
  name: z.string(),
  hint: z.string().describe("First and last characters of the key."),
  models: z.array(z.string()).readonly().nullable().describe("`null`: all."),
  budget: credits.nullable().describe("Of its budget for life."),
  budgets: z.array(budgetShape),
  created_at: timestamp,
  expires_at: timestamp.nullable(),
  revoked_at: timestamp.nullable(),
  previous_valid_until: timestamp.nullable(),
  at_once: z.int().nullable().describe("Max requests in flight; `null`: any number."),
});

/** A key in a list. */
export const listedKeyShape = keyShape.extend({
  last_used_at: timestamp.nullable(),
  spent: credits,
});

/** Describes a key. */
export const describeKey = describer(keyShape, (key: Key, budgets: readonly Budget[] = []) => ({
  // for the key's life; `budgets` has all
  budget: budgets.find(({ period }) => period === "life")?.credits ?? key.budgetCredits,
  budgets: budgets.map(describeBudget),
  previous_valid_until: iso(key.previousUntilMs),
}));
