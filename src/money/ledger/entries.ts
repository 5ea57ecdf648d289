import * as z from "zod";
import { rowOf, shownText } from "../../ground/row.ts";
import type { Database } from "../../ground/database/mod.ts";
import { NEVER } from "../../ground/time.ts";

/** A row of entries with their lots. */
export const entryRow = rowOf({
  /** A request's id, a lot's id (its grant), or the id of an expiry or a take-back. */
  cause_id: z.string(),
  lot_id: z.string(),
  kind: z.enum(["grant", "charge", "expire", "take_back"]),
  credits: z.int(),
  at_ms: z.int(),
  /** The lot's. */
  source: z.string(),
  note: shownText,
  /** Why credits were taken back; empty for other kinds. */
  reason: shownText,
});

/** One movement of credits. */
export type Entry = z.output<typeof entryRow>;

/** The columns of a row, and what is joined to entries for them. */
export const ENTRY_COLUMNS =
  `cause_id, entries.lot_id, kind, entries.credits, entries.at_ms, source,
    lots.note, coalesce(take_backs.note, '') as reason`;
export const ENTRY_TABLES =
  "join lots on lots.id = entries.lot_id left join take_backs on take_backs.id = cause_id";

const SELECT = `select ${ENTRY_COLUMNS} from entries ${ENTRY_TABLES}`;

/** An account's entries, newest first; those before the last one of the page before. */
export async function entriesOf(
  database: Database,
  { accountId, before, limit }: {
    readonly accountId: string;
    readonly before?: Pick<Entry, "atMs" | "causeId" | "lotId"> | undefined;
    readonly limit: number;
  },
): Promise<Entry[]> {
  const rows = await database.all(
    `${SELECT} where entries.account_id = ? and (entries.at_ms, cause_id, entries.lot_id) < (?, ?, ?)
      order by entries.at_ms desc, cause_id desc, entries.lot_id desc limit ?`,
    [accountId, before?.atMs ?? NEVER, before?.causeId ?? "", before?.lotId ?? "", limit],
  );
  return rows.map((row) => entryRow.parse(row));
}

/** The entries that one cause made. */
export async function entriesOfCause(database: Database, causeId: string): Promise<Entry[]> {
  const rows = await database.all(`${SELECT} where cause_id = ? order by entries.lot_id`, [
    causeId,
  ]);
  return rows.map((row) => entryRow.parse(row));
}

/**
 * Reads an account's entries of a range in pages, oldest first.
 *
 * @param database The database.
 * @param options Account, range, which is half-open, and entries per page.
 * @returns Pages with at least one entry.
 */
export async function* entriesBetween(
  database: Database,
  { accountId, sinceMs, untilMs, limit }: {
    readonly accountId: string;
    readonly sinceMs: number;
    readonly untilMs: number;
    readonly limit: number;
  },
): AsyncGenerator<Entry[]> {
  let last: Pick<Entry, "atMs" | "causeId" | "lotId"> = { atMs: sinceMs, causeId: "", lotId: "" };
  while (true) {
    const rows = await database.all(
      `${SELECT} where entries.account_id = ? and (entries.at_ms, cause_id, entries.lot_id) > (?, ?, ?)
        and entries.at_ms < ? order by entries.at_ms, cause_id, entries.lot_id limit ?`,
      [accountId, last.atMs, last.causeId, last.lotId, untilMs, limit],
    );
    const entries = rows.map((row) => entryRow.parse(row));
    if (entries.length > 0) yield entries;
    if (entries.length < limit) return;
    last = entries.at(-1)!;
  }
}
