import * as z from "zod";
import { type Key, SCOPES } from "../../../people/accounts/mod.ts";
import { type Budget, describeBudget } from "../../../money/ledger/mod.ts";
import { budgetShape } from "./budget.ts";
import { credits, iso, timestamp } from "./common.ts";

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
export function describeKey(key: Key, budgets: readonly Budget[] = []): z.output<typeof keyShape> {
  return {
    id: key.id,
    account_id: key.accountId,
    team_id: key.teamId,
    member_id: key.memberId,
    scopes: key.scopes,
    name: key.name,
    hint: key.hint,
    models: key.models,
    // for the key's life; `budgets` has all
    budget: budgets.find(({ period }) => period === "life")?.credits ?? key.budgetCredits,
    budgets: budgets.map(describeBudget),
    created_at: iso(key.createdAtMs),
    expires_at: iso(key.expiresAtMs),
    revoked_at: iso(key.revokedAtMs),
    previous_valid_until: iso(key.previousUntilMs),
    at_once: key.atOnce,
  };
}
