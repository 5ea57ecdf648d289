import { z } from "zod";
import type { Database } from "../database/mod.ts";
import { NEVER } from "./credits.ts";
import { displayed } from "../names.ts";

const entryRow = z.object({
  cause_id: z.string(),
  lot_id: z.string(),
  kind: z.enum(["grant", "charge", "expire"]),
  credits: z.int(),
  at_ms: z.int(),
  source: z.string(),
  note: z.string(),
}).transform((row) => ({
  /** A request's id, a lot's id (its grant), or the id of an expiry. */
  causeId: row.cause_id,
  lotId: row.lot_id,
  kind: row.kind,
  credits: row.credits,
  atMs: row.at_ms,
  /** The lot's. */
  source: row.source,
  note: displayed(row.note),
}));

/** One movement of credits. */
export type Entry = z.output<typeof entryRow>;

const SELECT = `select cause_id, lot_id, kind, credits, at_ms, source, note
  from entries join lots on lots.id = lot_id`;

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
    `${SELECT} where entries.account_id = ? and (at_ms, cause_id, lot_id) < (?, ?, ?)
      order by at_ms desc, cause_id desc, lot_id desc limit ?`,
    [accountId, before?.atMs ?? NEVER, before?.causeId ?? "", before?.lotId ?? "", limit],
  );
  return rows.map((row) => entryRow.parse(row));
}

/** The entries that one cause made. */
export async function entriesOfCause(database: Database, causeId: string): Promise<Entry[]> {
  const rows = await database.all(`${SELECT} where cause_id = ? order by lot_id`, [causeId]);
  return rows.map((row) => entryRow.parse(row));
}
