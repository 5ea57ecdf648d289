import * as z from "zod";
import type { Key, Team } from "../../people/accounts/mod.ts";
import type { Database } from "../../ground/database/mod.ts";
import { EXPRESSIONS } from "./report.ts";

/** Possible groupings of a team's report. */
export const TEAM_GROUPINGS = ["member", "model", "key", "day", "hour"] as const;
/** Grouping of a team's report. */
export type TeamGrouping = typeof TEAM_GROUPINGS[number];

const sums = {
  requests: z.int(),
  errors: z.int(),
  input_tokens: z.int(),
  cached_tokens: z.int(),
  output_tokens: z.int(),
  credits: z.int(),
};
const row = z.object({ key_id: z.string(), name: z.string(), ...sums });
const SUMS = Object.keys(sums) as (keyof typeof sums)[];

/** Requests, tokens and credits of one group of a team's report. */
export interface TeamReportRow extends Readonly<Record<keyof typeof sums, number>> {
  /** Model, key ID, or UTC day or hour; of a member's rows the model. */
  readonly group: string;
  /** Account ID of the member, in a report by member; `null` for keys of the whole team, and in other reports. */
  readonly memberId: string | null;
}

/** What a team's report covers. */
export interface TeamReportOptions {
  readonly team: Team;
  /** All keys of the team, revoked ones included. */
  readonly keys: readonly Key[];
  readonly by: TeamGrouping;
  /** Start and end, in milliseconds since the epoch; hours count whole. */
  readonly sinceMs: number;
  readonly untilMs?: number;
}

/**
 * Computes the start of the UTC month.
 *
 * @param nowMs Current time in milliseconds since the epoch.
 * @returns Milliseconds since the epoch.
 */
export function monthStart(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
}

/**
 * Reports the usage of a team's keys from hourly roll-ups. What its members do with other keys is not in it.
 *
 * @param database The database.
 * @param options Team, keys, grouping, start and end.
 * @returns One row per group, ordered by it. By member, one row per member and model.
 */
export async function teamReport(
  database: Database,
  { keys, by, sinceMs, untilMs = Number.MAX_SAFE_INTEGER }: TeamReportOptions,
): Promise<TeamReportRow[]> {
  const payers = [...new Set(keys.map(({ accountId }) => accountId))];
  const members = new Map(keys.map(({ id, memberId }) => [id, memberId]));
  const rows = await database.all(
    `select key_id, ${EXPRESSIONS[by === "member" ? "model" : by]} as name,
        ${SUMS.map((column) => `sum(${column}) as ${column}`).join(", ")}
      from usage_hours
      where account_id in (select value from json_each(?)) and hour_at_ms >= ? and hour_at_ms < ?
        and key_id in (select value from json_each(?))
      group by 1, 2 order by 2, 1`,
    [JSON.stringify(payers), sinceMs, untilMs, JSON.stringify([...members.keys()])],
  );
  const groups = new Map<string, TeamReportRow>();
  for (const { key_id: keyId, name, ...own } of rows.map((one) => row.parse(one))) {
    const memberId = by === "member" ? members.get(keyId) ?? null : null;
    const id = JSON.stringify([memberId, name]);
    const before = groups.get(id);
    groups.set(id, {
      ...(before === undefined ? own : added(before, own)),
      group: name,
      memberId,
    });
  }
  return [...groups.values()];
}

/**
 * Adds up what each key has spent since it was made.
 *
 * @param database The database.
 * @param accountId The account that pays for the keys.
 * @returns Credits by key ID, without keys that have not been used.
 */
export async function spentByKey(
  database: Database,
  accountId: string,
): Promise<ReadonlyMap<string, number>> {
  // an account's days are looked up one by one: its hours are twenty times as many
  const rows = await database.all(
    `with recursive days(at_ms) as (
        select min(day_at_ms) from usage_days
        union all
        select at_ms + 86400000 from days where at_ms < (select max(day_at_ms) from usage_days)
      )
      select key_id, sum(credits) as credits
      from days cross join usage_days on day_at_ms = at_ms and account_id = ? group by 1`,
    [accountId],
  );
  return new Map(rows.map((one) => [String(one.key_id), Number(one.credits)]));
}

/** Adds up the sums of two rows. */
function added<Sums extends Readonly<Record<keyof typeof sums, number>>>(
  a: Readonly<Record<keyof typeof sums, number>>,
  b: Sums,
): Sums {
  return { ...b, ...Object.fromEntries(SUMS.map((name) => [name, a[name] + b[name]])) };
}
