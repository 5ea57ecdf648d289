import { z } from "zod";
import type { Database } from "../database/mod.ts";

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
  note: row.note,
}));

/** One movement of credits. */
export type Entry = z.output<typeof entryRow>;

const SELECT = `select cause_id, lot_id, kind, credits, at_ms, source, note
  from entries join lots on lots.id = lot_id`;

/** An account's entries, newest first, before a time. */
export async function entriesOf(
  database: Database,
  { accountId, beforeMs, limit }: {
    readonly accountId: string;
    readonly beforeMs: number;
    readonly limit: number;
  },
): Promise<Entry[]> {
  const rows = await database.all(
    `${SELECT} where entries.account_id = ? and at_ms < ? order by at_ms desc, cause_id limit ?`,
    [accountId, beforeMs, limit],
  );
  return rows.map((row) => entryRow.parse(row));
}

/** The entries that one cause made. */
export async function entriesOfCause(database: Database, causeId: string): Promise<Entry[]> {
  const rows = await database.all(`${SELECT} where cause_id = ? order by lot_id`, [causeId]);
  return rows.map((row) => entryRow.parse(row));
}
