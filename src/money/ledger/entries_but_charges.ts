import * as z from "zod";
import type { Reading } from "../../ground/database/mod.ts";
import { type Entry, ENTRY_COLUMNS, ENTRY_TABLES, entryRow } from "./entries.ts";
import { DAY_MS } from "../../ground/time.ts";
import { byIndex, jsonArrayOfRows, jsonObject, sumOf } from "../../ground/sql/mod.ts";

/** What a kind of entry moved in a UTC day. */
export interface DaySum {
  readonly dayAtMs: number;
  readonly kind: Exclude<Entry["kind"], "charge">;
  readonly entries: number;
  readonly credits: number;
}

const daySum = z.object({
  dayAtMs: z.int(),
  kind: z.enum(["grant", "expire", "take_back"]),
  entries: z.int(),
  credits: z.int(),
});

/** An account and a half-open range. */
export interface EntriesRange {
  readonly accountId: string;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** An account's balance, what is held included. */
export function balanceReading(accountId: string): Reading<number> {
  return {
    sql: "select balance from balances where account_id = ?",
    args: [accountId],
    read: (json) => z.int().parse(json ?? 0),
  };
}

/** Sums of an account's entries but charges, by day and kind, oldest first. */
export function sumsButChargesReading(
  { accountId, sinceMs, untilMs }: EntriesRange,
): Reading<readonly DaySum[]> {
  return {
    sql: `select ${
      jsonArrayOfRows(
        jsonObject("day as dayAtMs, kind, entries, credits"),
      )
    } from (
        select at_ms / ${DAY_MS} * ${DAY_MS} as day, kind, count(*) as entries, ${
      sumOf("credits")
    } as credits
        from ${byIndex("entries", "entries_but_charges")}
        where kind <> 'charge' and account_id = ? and at_ms >= ? and at_ms < ?
        group by 1, 2 order by 1, 2
      ) as found`,
    args: [accountId, sinceMs, untilMs],
    read: (json) => z.array(daySum).parse(json),
  };
}

/** An account's entries but charges, oldest first. */
export function entriesButChargesReading(
  { accountId, sinceMs, untilMs, limit }: EntriesRange & { readonly limit: number },
): Reading<readonly Entry[]> {
  return {
    sql: `select ${jsonArrayOfRows(jsonObject(Object.keys(entryRow.in.shape).join(", ")))} from (
        select ${ENTRY_COLUMNS} from ${byIndex("entries", "entries_but_charges")} ${ENTRY_TABLES}
        where kind <> 'charge' and entries.account_id = ? and entries.at_ms >= ? and entries.at_ms < ?
        order by entries.at_ms, cause_id, entries.lot_id limit ?
      ) as found`,
    args: [accountId, sinceMs, untilMs, limit],
    read: (json) => z.array(entryRow).parse(json),
  };
}
