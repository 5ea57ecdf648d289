import { type Database, type Reading, readTogether } from "../../ground/database/mod.ts";
import { rowsReading, type Sums } from "./rows.ts";

type Noun = "hour" | "day" | "model" | "key" | "account";

/** Sums of one group: the beginning of its hour or UTC day, in milliseconds since the epoch; a model's, a key's or an account's ID. */
export type UsageSum<By extends Noun> =
  & Sums
  & { readonly [Name in By]: Name extends "hour" | "day" ? number : string };

/** Which usage of accounts is added up. */
export interface UsageOf<By extends Noun> {
  readonly accountIds: readonly string[];
  /** Default: all keys that the accounts pay for. */
  readonly keyIds?: readonly string[] | undefined;
  readonly by: readonly By[];
  /** In milliseconds since the epoch: hours that begin from then on, and before the end. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

/**
 * Adds up usage of accounts from roll-ups, as a query that can be read together with others in one statement.
 *
 * @returns Groups that had requests, in the order of what they are grouped by.
 */
export function usageReading<const By extends Noun>(
  { by, sinceMs, untilMs, ...whose }: UsageOf<By>,
): Reading<UsageSum<By>[]> {
  const reading = rowsReading({
    ...whose,
    columns: by.map((name: Noun) => ({ by: name })),
    periods: [{ sinceMs, untilMs, label: null }],
    limit: Number.MAX_SAFE_INTEGER, // none
  });
  return {
    ...reading,
    read: (json) =>
      reading.read(json).map(({ group, ...sums }) => ({
        ...Object.fromEntries(by.map((name, at) => [name, group[at]])),
        ...sums,
      } as UsageSum<By>)).toSorted((a, b) => {
        const name = by.find((one) => a[one] !== b[one]);
        return name === undefined ? 0 : a[name] < b[name] ? -1 : 1;
      }),
  };
}

/** Resolves with {@linkcode usageReading}. */
export async function accountUsage<const By extends Noun>(
  database: Database,
  of: UsageOf<By>,
): Promise<UsageSum<By>[]> {
  return (await readTogether(database, { usage: usageReading(of) })).usage;
}
