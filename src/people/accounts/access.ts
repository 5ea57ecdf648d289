import type { Condition, Statement } from "../../ground/database/mod.ts";
import { digestOf } from "../../ground/platform/mod.ts";
import type { Account } from "./account.ts";

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
      sql: `delete from tool_codes where account_id ${whose} and key_id is null`,
      args: [accountId],
    },
    {
      sql: `update keys set revoked_at_ms = ?
        where (account_id ${whose} or member_id ${whose}) and revoked_at_ms is null`,
      args: [nowMs, accountId, accountId],
    },
  ];
}

/**
 * The statements that end what somebody has who came in to an account by a provider: sessions, and tools that were approved in them.
 *
 * @param options.except Token of a session that goes on.
 */
export function endProviderAccess(
  { accountId, provider }: { readonly accountId: string; readonly provider: string },
  { except = "", nowMs }: { readonly except?: string | undefined; readonly nowMs: number },
): Statement[] {
  return [
    {
      sql: "delete from sessions where account_id = ? and provider = ? and digest <> ?",
      args: [accountId, provider, digestOf(except)],
    },
    ...endApprovals(accountId, provider),
    {
      sql: `update keys set revoked_at_ms = ? where account_id = ? and revoked_at_ms is null
        and exists (select 1 from tool_grants where key_id = keys.id and provider = ?)`,
      args: [nowMs, accountId, provider],
    },
  ];
}

/**
 * The statements that end what an account has approved and no tool has fetched yet: else who holds a code back is signed in after all
 * tools were signed out.
 *
 * @param provider Only what was approved in its sessions.
 */
export function endApprovals(accountId: string, provider?: string): Statement[] {
  const whose = "account_id = ?1 and (?2 is null or provider = ?2)";
  const args = [accountId, provider ?? null];
  return [
    { sql: `delete from device_codes where ${whose}`, args },
    // one that was used stays known: who sends it again ends its tool
    { sql: `delete from tool_codes where ${whose} and key_id is null`, args },
  ];
}

/** The statement that enables an account again, if it was disabled then; its keys stay revoked. */
export function giveAccess(accountId: string, disabledAtMs: number): Statement {
  return {
    sql: "update accounts set disabled_at_ms = null where id = ? and disabled_at_ms = ?",
    args: [accountId, disabledAtMs],
  };
}

/**
 * The statements that take from an account, which has no access, what it had as that of one person: password, keys of upstreams, role and
 * teams, given by hand or by groups. Its credits and usage stay.
 */
export function forgetPerson(accountId: string): Statement[] {
  return [
    { sql: "delete from passwords where account_id = ?", args: [accountId] },
    { sql: "delete from upstream_keys where account_id = ?", args: [accountId] },
    {
      sql: "update accounts set role = 'none' where id = ? and role <> 'owner'",
      args: [accountId],
    },
    { sql: "delete from team_members where account_id = ?", args: [accountId] },
    {
      sql: "delete from group_grants where account_id = ? and kind <> 'budget'",
      args: [accountId],
    },
  ];
}

/** Holds for an account that is not an owner's. */
export function isNoOwner(accountId: string): Condition {
  return {
    sql: "exists (select 1 from accounts where id = ? and role <> 'owner')",
    args: [accountId],
  };
}

/** Holds while an account is disabled as it was when it was read. */
export function isStillDisabled(
  { id, disabledAtMs }: Pick<Account, "id" | "disabledAtMs">,
): Condition {
  return {
    sql: "exists (select 1 from accounts where id = ? and disabled_at_ms = ?)",
    args: [id, disabledAtMs],
  };
}

/** The statement that gives an account another display name, which was validated. */
export function renamed(accountId: string, name: string): Statement {
  return { sql: "update accounts set name = ? where id = ?", args: [name, accountId] };
}
