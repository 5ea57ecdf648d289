import { type Database, DatabaseError } from "./database.ts";
import { answerWithin } from "./answer_within.ts";

const PROBE = `insert into probes (id, number) values (1, 1)
  on conflict (id) do update set number = probes.number + 1`;

/** As long as anything else waits for a database that may be in use elsewhere. */
const PATIENCE_MS = 5_000;

/**
 * Commits a write that changes nothing of interest, as durably as any other.
 *
 * @throws {DatabaseError} if the database takes no writes now: it is away, full or read-only.
 */
export async function probeWrite(database: Database): Promise<void> {
  if (database.outbox?.isDetached) throw new DatabaseError("SLUICE_SILENT", "no answer");
  await answerWithin(PATIENCE_MS, database.batch([{ sql: PROBE }]));
}
