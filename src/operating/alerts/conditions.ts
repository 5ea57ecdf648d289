import type { Database } from "../../ground/database/mod.ts";

/** Conditions that last, and raise an alert when they have lasted a while. */
export type ConditionKind = "circuit" | "disk";

/** A condition as it is seen. */
export interface SeenCondition {
  /** Such as `circuit:openai/gpt-5`. */
  readonly name: string;
  readonly kind: ConditionKind;
  /** For people. */
  readonly detail: string;
}

/** A condition of the database. Times are in milliseconds since the epoch. */
export interface Condition extends SeenCondition {
  readonly beganAtMs: number;
  readonly seenAtMs: number;
  /** Whether an alert was raised. */
  readonly isAlerted: boolean;
}

/** A time of last sight that lies further ahead than this comes from a clock that was wrong. */
const MAX_AHEAD_MS = 600_000;

const SEE = `insert into alert_conditions (name, kind, detail, began_at_ms, seen_at_ms)
  select value ->> 'name', value ->> 'kind', value ->> 'detail', ?2, ?2 from json_each(?1) where true
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
  const rows = await database.all("select * from alert_conditions order by name limit 10000");
  return rows.map((row) => ({
    name: String(row.name),
    kind: row.kind === "disk" ? "disk" : "circuit",
    detail: String(row.detail),
    beganAtMs: Number(row.began_at_ms),
    seenAtMs: Number(row.seen_at_ms),
    isAlerted: row.alerted === 1,
  }));
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
