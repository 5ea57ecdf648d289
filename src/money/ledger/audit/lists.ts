import * as z from "zod";
import { type Database, schemaDifferences } from "../../../ground/database/mod.ts";
import { RULES } from "../rules/mod.ts";
import { type StoredTier, TierList } from "../tiers.ts";
import type { Check, Mismatch } from "./check.ts";

/** Small tables that have one row, or none, when no transaction is open. */
export const LISTS: readonly Check[] = [
  {
    noun: "decision",
    name: "decisions",
    id: "request_id",
    pairs: { decision: ["1", "0"] },
    from: "decisions",
  },
  {
    noun: "settlement",
    name: "settlements",
    id: "request_id",
    pairs: { settling: ["1", "0"] },
    from: "settling",
  },
  // Without it no gateway notices a revoked key.
  {
    noun: "revision",
    name: "revisions",
    id: "'keys'",
    pairs: {
      revision: [
        // gateways of before schema 8 count their probes there
        "(select string_agg(noun, ',') from revisions where noun <> 'probe')",
        "'keys'",
      ],
    },
    from: "(select 1) as one",
  },
  {
    noun: "window",
    name: "pruned windows",
    id: "'pruned_windows'",
    pairs: { pruned_windows: ["(select count(*) from pruned_windows)", "1"] },
    from: "(select 1) as one",
  },
];

const tierRow = z.object({
  list_id: z.string(),
  above: z.int(),
  minute: z.int(),
  hour: z.int(),
  day: z.int(),
  account_minute: z.int().nullable(),
  account_hour: z.int().nullable(),
  account_day: z.int().nullable(),
});

/** Longer lists in an order of their own are not checked. */
const MAX_PERMUTED = 6;

/** A list of tiers is named by its contents, so that its name tells whether they are still the same. */
export async function checkTiers(database: Database): Promise<Mismatch[]> {
  const rows = await database.all("select * from tiers order by list_id, above");
  const lists = new Map<string, StoredTier[]>();
  for (const row of rows) {
    const { list_id: id, account_minute, account_hour, account_day, ...limits } = tierRow.parse(
      row,
    );
    // an older gateway stores none of the three; of some but not all the digest is another
    const isOlder = [account_minute, account_hour, account_day].every((limit) => limit === null);
    const account = {
      minute: account_minute ?? NaN,
      hour: account_hour ?? NaN,
      day: account_day ?? NaN,
    };
    lists.set(id, [...(lists.get(id) ?? []), isOlder ? limits : { ...limits, account }]);
  }
  return [...lists].flatMap(([id, tiers]): Mismatch[] => {
    if (orders(tiers).some((one) => TierList.idOf(one) === id)) return [];
    return [{ noun: "tier", kind: "tier", id, found: id, expected: TierList.idOf(tiers) }];
  });
}

/** The orders in which the settings may have listed them. */
function orders(tiers: readonly StoredTier[]): (readonly StoredTier[])[] {
  if (tiers.length > MAX_PERMUTED) return [tiers, tiers.toReversed()];
  if (tiers.length === 0) return [[]];
  return tiers.flatMap((first, at) =>
    orders(tiers.toSpliced(at, 1)).map((rest) => [first, ...rest])
  );
}

/** Tables, checks and indexes are those that the migrations make, triggers and views those of the rules. */
export async function checkSchema(database: Database): Promise<Mismatch[]> {
  return (await schemaDifferences(database, RULES)).map(({ object, found, expected }) => ({
    noun: "schema",
    kind: "schema",
    id: object,
    found,
    expected,
  }));
}

/** Settlements that were acknowledged, and that the database refused: nobody is charged for them. */
export async function checkRefused(database: Database): Promise<Mismatch[]> {
  const refused = await database.refused?.() ?? [];
  return refused.map(({ item }) => ({
    noun: "settlement",
    kind: "refused",
    id: String(item.request_id),
    found: null,
    expected: Number(item.price_credits),
  }));
}
