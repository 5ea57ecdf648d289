import { labelOf, ownersOfKeys } from "../../people/accounts/mod.ts";
import { toldApart, ZoneFormats } from "../../ground/platform/mod.ts";
import type { SummedRow } from "./rows.ts";
import type { UsageParts } from "./selection.ts";
import { type Dimension, TIMES } from "./usage_query.ts";

/** A group's value as reports show it: times in their zone, else the ID. */
export function nameOfGroup(
  dimension: Dimension,
  value: string | number | null | undefined,
  zone: string,
): string {
  if (value === null || value === undefined) return "others";
  if (!TIMES.includes(dimension)) return String(value);
  const ms = Number(value);
  if (zone === "UTC") {
    const chars = dimension === "hour" ? 13 : dimension === "day" ? 10 : 7;
    const text = new Date(ms).toISOString().slice(0, chars);
    return dimension === "hour" ? `${text}:00Z` : text;
  }
  return zonedText(dimension, ms, zone);
}

const FORMATS = new ZoneFormats("en-US", {
  hourCycle: "h23",
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  timeZoneName: "longOffset",
});

/** A time in a zone: `2026-11-05T10:00+01:00`, `2026-11-05` or `2026-11`. */
function zonedText(dimension: Dimension, ms: number, zone: string): string {
  const parts = Object.fromEntries(
    FORMATS.of(zone).formatToParts(ms).map(({ type, value }) => [type, value]),
  );
  const month = `${parts.year}-${parts.month}`;
  if (dimension === "month") return month;
  if (dimension === "day") return `${month}-${parts.day}`;
  const offset = parts.timeZoneName!.replace("GMT", "") || "+00:00";
  return `${month}-${parts.day}T${parts.hour}:${parts.minute}${offset}`;
}

type Named = Parameters<typeof toldApart>[0];

const accountsOf = async ({ accounts }: UsageParts, ids: readonly string[]): Promise<Named> =>
  [...(await accounts.byIds(ids)).values()].map((one) => ({ id: one.id, name: labelOf(one) }));

/** Groupings by IDs, and where these have names. */
const NAMES: Readonly<
  Record<string, (parts: UsageParts, ids: readonly string[]) => Promise<Named>>
> = {
  key: ({ database }, keyIds) => ownersOfKeys(database, { keyIds }),
  account: accountsOf,
  member: accountsOf,
  team: async ({ teams }, ids) => (await teams.list()).filter(({ id }) => ids.includes(id)),
};

/** Whether a grouping is by IDs of what has names. */
export function hasNames(dimension: string): boolean {
  return Object.hasOwn(NAMES, dimension);
}

/** Names of keys, accounts, members and teams, by grouping and ID: no two of a grouping look the same. */
export async function namesOf(
  parts: UsageParts,
  by: readonly Dimension[],
  rows: readonly SummedRow[],
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const [at, dimension] of by.entries()) {
    const ids = [...new Set(rows.map(({ group }) => group[at]))]
      .filter((id) => typeof id === "string" && id !== "") as string[];
    if (ids.length === 0) continue;
    const found = await NAMES[dimension]?.(parts, ids) ?? [];
    for (const [id, label] of toldApart(found)) names.set(`${dimension} ${id}`, label);
  }
  return names;
}
