import { allOf, type Condition, ifGiven } from "../../ground/database/mod.ts";
import type { Account } from "./account.ts";
import type { TeamRole } from "./roles.ts";

/** By what somebody may do something: the role of an account, a key that is valid, a role in a team. */
export interface Authority {
  readonly account: Pick<Account, "id" | "role">;
  /** The API key that is used, if it is one. */
  readonly keyId?: string | null | undefined;
  /** The role in the team concerned, if there is one. */
  readonly inTeam?: { readonly teamId: string; readonly role: TeamRole } | undefined;
}

/**
 * Holds while somebody has the authority with which they were let in, for the transaction of a write: who was demoted, stopped
 * or disabled meanwhile, or whose key was revoked, writes nothing.
 */
export function stillHas({ account, keyId, inTeam }: Authority): Condition {
  return allOf([
    {
      sql: "exists (select 1 from accounts where id = ? and role = ? and disabled_at_ms is null)",
      args: [account.id, account.role],
    },
    ...ifGiven(
      keyId ?? undefined,
      "exists (select 1 from keys where id = ? and revoked_at_ms is null)",
    ),
    ...(inTeam === undefined ? [] : [{
      sql: `exists (select 1 from team_members
        where team_id = ? and account_id = ? and role = ? and stopped_at_ms is null)`,
      args: [inTeam.teamId, account.id, inTeam.role],
    }]),
  ]);
}
