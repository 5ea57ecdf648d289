import {
  CLOCK_MS,
  columnsOf,
  type Database,
  type GroupWrite,
  type JsonObject,
} from "../../ground/database/mod.ts";
import type { HoldRequest } from "./admit.ts";
import { changeLocked } from "./change_locked.ts";
import { feed, locksOf } from "./feed.ts";
import { GROW as RULE, GROWTHS, HELD } from "./rules/grow.ts";
import type { Given } from "./rules/intake.ts";
import { wholeCredits } from "./whole_credits.ts";
import { textsOf } from "../../ground/sql/mod.ts";

/** A running request that needs more. */
export interface GrowthRequest
  extends Pick<HoldRequest, "requestId" | "accountId" | "keyId" | "gatewayId" | "nowMs" | "route"> {
  /** Credits that it would hold in all. */
  readonly wanted: number;
  /** When its windows counted it. */
  readonly admittedAtMs: number;
  /** How long its hold is kept, should it have to be made again. */
  readonly leaseMs: number;
}

const GROW: GroupWrite<Given<typeof GROWTHS>, number> = {
  name: "growth",
  key: "request_id",
  forgettable: true,
  repeatable: true,
  columns: columnsOf(GROWTHS),
  statements: [feed(GROWTHS)],
  locks: locksOf(GROWTHS, RULE),
  outcomes: HELD,
  read: (row: JsonObject | undefined) => wholeCredits(row?.credits ?? 0, "a hold"),
};

/**
 * Lets a running request hold up to `wanted` credits in all. Answers what it holds now: as much of it
 * as the balance has. Less than before only where its lease had ended meanwhile and others hold them.
 */
export async function growHold(database: Database, ask: GrowthRequest): Promise<number> {
  return await database.write(GROW, {
    request_id: ask.requestId,
    account_id: ask.accountId,
    key_id: ask.keyId,
    gateway_id: ask.gatewayId,
    wanted: wholeCredits(ask.wanted, "the credits it wants"),
    at_ms: ask.nowMs,
    lease_ms: ask.leaseMs,
    admitted_at_ms: ask.admittedAtMs,
    route: ask.route,
  });
}

/** Keeps the holds of these running requests for `leaseMs` from now on. */
export async function renewHolds(
  database: Database,
  requestIds: readonly string[],
  leaseMs: number,
): Promise<void> {
  if (requestIds.length === 0) return;
  const these = { sql: `request_id in ${textsOf()}`, args: [JSON.stringify(requestIds)] };
  const renew = `update holds set lease_until_ms = ${CLOCK_MS} + ?`;
  await changeLocked(database, "holds", these, renew, [leaseMs]);
}

/** Releases the holds whose gateway has not renewed them: it is gone. */
export async function reapHolds(database: Database): Promise<void> {
  const ended = { sql: `lease_until_ms < ${CLOCK_MS}`, args: [] };
  await changeLocked(database, "holds", ended, "delete from holds");
}

/** Releases what a gateway held when it was last running. */
export async function releaseHoldsOf(database: Database, gatewayId: string): Promise<void> {
  const own = { sql: "gateway_id = ?", args: [gatewayId] };
  await changeLocked(database, "holds", own, "delete from holds");
}
