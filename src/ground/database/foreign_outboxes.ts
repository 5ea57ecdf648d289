import { ifThere } from "../files/mod.ts";
import { joinPath } from "../std/mod.ts";
import type { Database } from "./database.ts";
import { isOutbox, keptItems } from "./outbox.ts";
import { isRefused, refusedItem } from "./refused_items.ts";

/**
 * Finds outboxes whose settlements nobody takes, as they are for another database: one that was replaced by another file, or that the
 * settings do not name any more.
 *
 * @param directories Where outboxes may be: of the data, and of an embedded file.
 * @returns Their paths, in order; without those that have nothing.
 */
export async function foreignOutboxes(
  database: Database,
  directories: readonly string[],
): Promise<string[]> {
  const row = await database.one("select id from database_identity");
  const found: string[] = [];
  for (const directory of new Set(directories)) {
    // no gateway may have started there yet
    const entries = await ifThere(Array.fromAsync(Deno.readDir(directory))) ?? [];
    for (const { name, isFile } of entries) {
      const path = joinPath(directory, name);
      if (isFile && isOutbox(name) && await isForeign(path, String(row?.id))) found.push(path);
    }
  }
  return found.toSorted();
}

async function isForeign(path: string, database: string): Promise<boolean> {
  try {
    const kept = isRefused(path)
      ? await refusedItem(path, database)
      : await keptItems(path, database);
    return kept === undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false; // taken meanwhile
    throw error;
  }
}
