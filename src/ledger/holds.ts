import type { Database, GroupWrite, Json } from "../database/mod.ts";
import { insertItems } from "./columns.ts";

const GROW: GroupWrite<readonly [string, number], number> = {
  name: "growth",
  forgettable: true,
  repeatable: true,
  statements: [insertItems("growths", ["request_id", "wanted"])],
  outcomes: `select json_group_array(json_array(request_id, credits))
    from json_each(?1) join holds on request_id = value ->> 0`,
  read: (row: readonly Json[] | undefined) => Number(row?.[1] ?? 0),
};

/**
 * Lets a running request hold up to `wanted` credits in all. Answers what it holds now: as much of it
 * as the balance has, never less than before; 0 when its lease has ended.
 */
export function growHold(database: Database, requestId: string, wanted: number): Promise<number> {
  return database.write(GROW, [requestId, wanted]);
}

/** Keeps the holds of these running requests for longer. */
export async function renewHolds(
  database: Database,
  requestIds: readonly string[],
  leaseUntilMs: number,
): Promise<void> {
  if (requestIds.length === 0) return;
  await database.batch([{
    sql: `update holds set lease_until_ms = ?
      where request_id in (select value from json_each(?))`,
    args: [leaseUntilMs, JSON.stringify(requestIds)],
  }]);
}

/** Releases the holds whose gateway has not renewed them: it is gone. */
export async function reapHolds(database: Database, nowMs: number): Promise<void> {
  await database.batch([{ sql: "delete from holds where lease_until_ms < ?", args: [nowMs] }]);
}

/** Releases what a gateway held when it was last running. */
export async function releaseHoldsOf(database: Database, gatewayId: string): Promise<void> {
  await database.batch([{ sql: "delete from holds where gateway_id = ?", args: [gatewayId] }]);
}
