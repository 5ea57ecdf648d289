import * as z from "zod";
import {
  type Accounts,
  type Member,
  OWN_KEY_USES,
  type Team,
  TEAM_ROLES,
} from "../../../people/accounts/mod.ts";
import type { Database } from "../../../ground/database/mod.ts";
import { balancesOf } from "../../../money/ledger/mod.ts";
import { budgetShape } from "./budget.ts";
import { credits, describer, timestamp } from "./common.ts";

/** A team as commands and the API show it. */
export const teamShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  pool: z.string().nullable().describe("Account that pays; `null` where members pay."),
  credits: credits.nullable(),
  models: z.array(z.string()).readonly().nullable().describe("`null`: all."),
  own_keys: z.enum(OWN_KEY_USES).describe("When the team's own keys of upstreams are used."),
  created_at: timestamp,
  disabled_at: timestamp.nullable(),
});

/** A member of a team. */
export const memberShape = z.strictObject({
  account_id: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.enum(TEAM_ROLES),
  state: z.enum(["active", "stopped", "disabled"]),
  added_at: timestamp,
});

/** A member with its keys and budgets. */
export const listedMemberShape = memberShape.extend({
  keys: z.int().describe("Keys of the team that the member uses, without revoked ones."),
  budgets: z.array(budgetShape),
});

const describe = describer(
  teamShape,
  (team: Team, paid: { readonly pool: string | null; readonly credits: number | null }) => ({
    ...paid,
    own_keys: team.ownKeyUse,
  }),
);

/** Describes a team. */
export async function describeTeam(
  { accounts, database }: { readonly accounts: Accounts; readonly database: Database },
  team: Team,
): Promise<z.output<typeof teamShape>> {
  const { poolId } = team;
  const pool = poolId === null ? undefined : await accounts.byId(poolId);
  const balance = poolId === null
    ? null
    : (await balancesOf(database, [poolId])).get(poolId)?.balance ?? 0;
  return describe(team, { pool: pool?.email ?? null, credits: balance });
}

/** Describes a member. */
export const describeMember = describer(memberShape, ({ disabledAtMs, stoppedAtMs }: Member) => ({
  state: disabledAtMs !== null ? "disabled" : stoppedAtMs !== null ? "stopped" : "active",
}));
