import type { Condition, Statement } from "../../ground/database/mod.ts";
import { DAY_MS } from "../../ground/time.ts";

/** Holds while fewer accounts than that were registered from a network within a day. */
export function hasFewSignups(network: string, max: number, nowMs: number): Condition {
  return {
    sql: "(select count(*) from signups where network = ? and at_ms > ?) < ?",
    args: [network, nowMs - DAY_MS, max],
  };
}

/**
 * Holds while an account has invited no more than that of a kind.
 *
 * @param isOfKind A condition in SQL on `accounts.id`.
 */
export function hasFewInvited(inviterId: string, max: number, isOfKind: string): Condition {
  return {
    sql: `(select count(*) from accounts where invited_by = ? and ${isOfKind}) <= ?`,
    args: [inviterId, max],
  };
}

/** Notes where an account was registered from, and forgets what no limit needs any more. */
export function noteSignup(accountId: string, network: string, nowMs: number): Statement[] {
  return [
    { sql: "delete from signups where at_ms < ?", args: [nowMs - 2 * DAY_MS] },
    {
      sql: "insert into signups (account_id, network, at_ms) values (?, ?, ?)",
      args: [accountId, network, nowMs],
    },
  ];
}
