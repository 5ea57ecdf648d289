import * as z from "zod";
import { flag, rowOf } from "../../ground/row.ts";
import type { Database } from "../../ground/database/mod.ts";
import { elementsOf, textAt } from "../../ground/sql/mod.ts";

/** Conditions that last, and raise an alert when they have lasted a while. */
const CONDITION_KINDS = ["circuit", "disk"] as const;

/** A condition as it is seen. */
export interface SeenCondition {
  /** Such as `circuit:openai/gpt-5`. */
  readonly name: string;
  readonly kind: typeof CONDITION_KINDS[number];
  /** For people. */
  readonly detail: string;
}

const conditionRow = rowOf({
  name: z.string(),
  kind: z.enum(CONDITION_KINDS),
  detail: z.string(),
  began_at_ms: z.int(),
  seen_at_ms: z.int(),
  /** Whether an alert was raised. */
  is_alerted: flag,
});

/** A condition of the database. Times are in milliseconds since the epoch. */
export type Condition = z.output<typeof conditionRow>;

/** A time of last sight that lies further ahead than this comes from a clock that was wrong. */
const MAX_AHEAD_MS = 600_000;

const SEE = `insert into alert_conditions (name, kind, detail, began_at_ms, seen_at_ms)
  select ${["name", "kind", "detail"].map((name) => textAt("value", name)).join(", ")}, ?2, ?2
  from ${elementsOf("?1")} where true
  on conflict (name) do update set detail = excluded.detail, seen_at_ms = excluded.seen_at_ms`;

/** Notes conditions that last: any gateway that sees them does so every few seconds. */
export async function seeConditions(
  database: Database,
  conditions: readonly SeenCondition[],
  nowMs: number,
): Promise<void> {
  if (conditions.length === 0) return;
  const rows = conditions.map((one) => ({ ...one, detail: one.detail.toWellFormed() }));
  await database.batch([{ sql: SEE, args: [JSON.stringify(rows), nowMs] }]);
}

/** Lists conditions that were seen and are not over. */
export async function conditionsOf(database: Database): Promise<Condition[]> {
  const rows = await database.all(
    "select *, alerted as is_alerted from alert_conditions order by name limit 10000",
  );
  return rows.map((row) => conditionRow.parse(row));
}

/** Notes that an alert was raised about a condition. */
export async function conditionAlerted(
  database: Database,
  { name, beganAtMs }: Condition,
): Promise<void> {
  await database.batch([{
    sql: "update alert_conditions set alerted = 1 where name = ? and began_at_ms = ?",
    args: [name, beganAtMs],
  }]);
}

/** Forgets a condition that is over, unless it was seen again meanwhile. */
export async function conditionOver(
  database: Database,
  { name, seenAtMs }: Condition,
): Promise<void> {
  await database.batch([{
    sql: "delete from alert_conditions where name = ? and seen_at_ms = ?",
    args: [name, seenAtMs],
  }]);
}

/** Whether no gateway has seen a condition for a while. */
export function isOver({ seenAtMs }: Condition, nowMs: number, quietMs: number): boolean {
  return nowMs - seenAtMs >= quietMs || seenAtMs > nowMs + MAX_AHEAD_MS;
}
