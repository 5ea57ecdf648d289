import { ifThere, lockedFile } from "../files/mod.ts";
import { DatabaseError, type Json } from "./database.ts";
import type { Writing } from "./group_writer.ts";
import { type KeptItems, keptItems, outboxFiles } from "./outbox.ts";
import { removeFile } from "./outbox_file.ts";
import { keptAgain, refusedFiles, refusedItem } from "./refused_items.ts";

/** The database that takes what outboxes have kept. */
export interface Taker {
  /** Path of its file. */
  readonly file: string;
  /** Where its outboxes are. */
  readonly places: readonly string[];
  /** Its ID. */
  readonly database: string;
  /** All that are written behind. */
  readonly writes: readonly Writing[];
  /** Passes items on to it. */
  readonly send: (write: Writing, items: string, count: number) => void;
  /** Resolves when it has for good what was passed on before the call, and all that it refused is kept. */
  readonly taken: () => Promise<void>;
  /** Has it give up what it could not take. */
  readonly forget: () => Promise<unknown>;
  /** Whether an item was refused since it was passed on, by the path of its file. */
  readonly refused: Set<string>;
}

/**
 * Writes what outboxes have kept, and removes those whose gateways do not run: nobody has locked them. If the database cannot take anything
 * just now, as on a full disk, they stay for the next time.
 *
 * @param onlyDead Whether to leave alone those of gateways that run, and what was refused before.
 */
export async function takeOutboxes(
  taker: Taker,
  { onlyDead }: { readonly onlyDead: boolean },
): Promise<void> {
  using locks = new DisposableStack();
  const done: string[] = [];
  const refused = await refusedFiles(taker.file);
  const found = (await outboxFiles(...taker.places)).filter((path) => !refused.includes(path));
  const isDead = new Set<string>();
  for (const path of found) {
    // another process may have removed the file meanwhile
    const lock = await ifThere(lockedFile(path, { create: false }));
    if (lock === undefined) continue;
    locks.use(lock);
    isDead.add(path);
  }
  if (onlyDead && isDead.size === 0) return;
  if (!await isTaken(taker)) return; // what waits already must not come twice
  for (const path of found) {
    if (onlyDead && !isDead.has(path)) continue;
    const kept = await ifThere(keptItems(path, taker.database));
    if (kept === undefined) continue;
    pass(kept, path, taker);
    if (isDead.has(path)) done.push(path);
  }
  for (const path of onlyDead ? [] : refused) {
    const item = await refusedItem(path, taker.database);
    if (item === undefined) continue;
    taker.refused.delete(path);
    pass([keptAgain(item)], path, taker);
    done.push(path);
  }
  if (!await isTaken(taker)) {
    // it would stand in the way of a command that only reads
    if (!onlyDead) await taker.forget();
    return;
  }
  for (const path of done) {
    if (!taker.refused.has(path)) await removeFile(path);
  }
}

/** Passes items on, with their members in the order of this program. */
function pass(kept: readonly KeptItems[], path: string, { writes, send }: Taker): void {
  for (const { write: name, columns, items } of kept) {
    const write = writes.find((one) => one.name === name);
    if (write === undefined) {
      throw new DatabaseError("SLUICE_OUTBOX", `${path}: there is no write named ${name}`);
    }
    const rows = JSON.parse(items) as readonly (readonly Json[])[];
    const ordered = rows.map((row) =>
      (write.columns ?? []).map((column) => row[columns.indexOf(column)] ?? null)
    );
    send(write, JSON.stringify(ordered), ordered.length);
  }
}

async function isTaken({ taken }: Taker): Promise<boolean> {
  return await taken().then(() => true, () => false);
}
