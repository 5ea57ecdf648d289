import type { Database } from "./database.ts";

const PROBE = `insert into probes (id, number) values (1, 1)
  on conflict (id) do update set number = number + 1`;

/**
 * Commits a write that changes nothing of interest, as durably as any other.
 *
 * @throws {DatabaseError} if the database takes no writes now: it is away, full or read-only.
 */
export async function probeWrite(database: Database): Promise<void> {
  await database.batch([{ sql: PROBE }]);
}
