import type { Condition, Statement } from "../../ground/database/mod.ts";

/**
 * The statements that take all access from an account, except from an owner's: it is disabled, its sessions, sign-in links and tools
 * that wait end, and its keys are revoked. Gateways notice within a second, as with any change of a key.
 */
export function takeAccess(accountId: string, nowMs: number): Statement[] {
  const whose = `in (select id from accounts where id = ? and role <> 'owner')`;
  return [
    {
      sql: `update accounts set disabled_at_ms = ?
        where id ${whose} and disabled_at_ms is null`,
      args: [nowMs, accountId],
    },
    { sql: `delete from sessions where account_id ${whose}`, args: [accountId] },
    { sql: `delete from sign_in_links where account_id ${whose}`, args: [accountId] },
    { sql: `delete from device_codes where account_id ${whose}`, args: [accountId] },
    {
      sql: `update keys set revoked_at_ms = ?
        where (account_id ${whose} or member_id ${whose}) and revoked_at_ms is null`,
      args: [nowMs, accountId, accountId],
    },
  ];
}

/** The statement that enables an account again, if it was disabled then; its keys stay revoked. */
export function giveAccess(accountId: string, disabledAtMs: number): Statement {
  return {
    sql: "update accounts set disabled_at_ms = null where id = ? and disabled_at_ms = ?",
    args: [accountId, disabledAtMs],
  };
}

/** Holds for an account that is not an owner's. */
export function isNoOwner(accountId: string): Condition {
  return {
    sql: "exists (select 1 from accounts where id = ? and role <> 'owner')",
    args: [accountId],
  };
}

/** The statement that gives an account another display name, which was validated. */
export function renamed(accountId: string, name: string): Statement {
  return { sql: "update accounts set name = ? where id = ?", args: [name, accountId] };
}
