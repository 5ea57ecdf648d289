import { createHash } from "node:crypto";
import { ifThere, writeFile } from "../files/mod.ts";
import type { Json, JsonObject, RefusedItem } from "./database.ts";
import { filesWith, type KeptItems, outboxPath } from "./outbox.ts";

/** Files of one database. Beyond that nothing is kept: a rule that refuses everything fills no disk. */
const MAX_FILES = 1_000;

/** What a file says. */
interface Kept extends RefusedItem {
  /** ID of the database. */
  readonly database: string;
}

/**
 * Keeps what the database refused, as what was acknowledged must not be in a log only: a file for each item, named after it, so that it is
 * kept once, however often and by however many processes it is tried.
 */
export class RefusedItems {
  readonly #file: string;
  /** Items to keep, by path. */
  readonly #waiting = new Map<string, Kept>();
  #keeping: Promise<void> = Promise.resolve();
  /** Paths of all items that were refused. */
  readonly paths = new Set<string>();

  /** @param file Of the database. */
  constructor(file: string) {
    this.#file = file;
  }

  /** Takes note of an item; {@linkcode keep} has to follow. */
  note(kept: Kept): void {
    const digest = createHash("sha256").update(JSON.stringify([kept.write, kept.item]));
    const path = `${refusedPath(this.#file)}${digest.digest("hex").slice(0, 32)}`;
    this.paths.add(path);
    this.#waiting.set(path, kept);
  }

  /**
   * Resolves when all items that were noted are durable.
   *
   * @throws {Error} If they cannot be kept. They are tried again with the next call.
   */
  keep(): Promise<void> {
    return this.#keeping = this.#keeping.catch(() => {}).then(() => this.#keep());
  }

  async #keep(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const there = new Set(await refusedFiles(this.#file));
    for (const [path, kept] of this.#waiting) {
      if (!there.has(path) && there.size >= MAX_FILES) {
        throw new Error(`the database has refused more than ${MAX_FILES} items`);
      }
      await writeFile(path, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 });
      there.add(path);
      this.#waiting.delete(path);
    }
  }
}

/**
 * Reads an item that was refused.
 *
 * @param database ID of the database.
 * @returns Undefined if it is for another database, or is gone.
 */
export async function refusedItem(
  path: string,
  database: string,
): Promise<RefusedItem | undefined> {
  const text = await ifThere(Deno.readTextFile(path));
  if (text === undefined) return undefined;
  const { database: of, ...refused } = JSON.parse(text) as Kept;
  return of === database ? refused : undefined;
}

/**
 * Reads the items of a database that were refused.
 *
 * @param database ID of the database.
 */
export async function refusedItemsOf(file: string, database: string): Promise<RefusedItem[]> {
  const items = (await refusedFiles(file)).map((path) => refusedItem(path, database));
  return (await Promise.all(items)).filter((item) => item !== undefined);
}

/** An item as it was written, its members by name. */
export function namedItem(text: string, columns: readonly string[]): JsonObject {
  const values = JSON.parse(text) as readonly Json[] | JsonObject;
  return values instanceof Array
    ? Object.fromEntries(columns.map((column, at) => [column, values[at] ?? null]))
    : values;
}

/** The item as an outbox keeps it. */
export function keptAgain({ write, item }: RefusedItem): KeptItems {
  return { write, columns: Object.keys(item), items: JSON.stringify([Object.values(item)]) };
}

/** The files of all items of a database that were refused. */
export async function refusedFiles(file: string): Promise<string[]> {
  return await filesWith(refusedPath(file));
}

/** Whether an outbox's file has what was refused. */
export function isRefused(path: string): boolean {
  return path.includes(refusedPath(""));
}

function refusedPath(file: string): string {
  return `${outboxPath(file, "refused")}-`;
}
