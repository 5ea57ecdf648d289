import type { EmbeddedFile } from "./embedded_file.ts";
import {
  countOf,
  type ItemsBehind,
  joinedItems,
  MAX_SET,
  type Piece,
  singly,
  takeSet,
} from "../pieces.ts";
import { sqliteError } from "../sqlite/failures.ts";

/** What is written to. */
type Target = Pick<EmbeddedFile, "commit" | "sync">;

/** Items that are committed before the disk is waited for. */
const MAX_UNSYNCED = 2_000;

/**
 * What was kept elsewhere and is to be written to the file: a moment later, in sets. Writing it again changes nothing, so what
 * may have been lost with a connection is written again.
 */
export class WritesBehind {
  readonly #pieces: Piece[] = [];
  #count = 0;
  /** Committed, but the disk was not waited for. */
  #unsynced: Piece[] = [];

  /** Number of items that are to be written. */
  get count(): number {
    return this.#count;
  }

  /** Whether a whole set is to be written. */
  get isDue(): boolean {
    return this.#count >= MAX_SET;
  }

  /**
   * Adds items.
   *
   * @param refused Called with each that the database refuses.
   */
  add(items: ItemsBehind, refused: Piece["refused"]): void {
    this.#pieces.push({ ...items, refused });
    this.#count += items.count;
  }

  writeSet(file: Target): void {
    const set = takeSet(this.#pieces);
    const [first] = set;
    if (first === undefined) return;
    this.#count -= countOf(set);
    const args = [joinedItems(set.map(({ items }) => items))];
    const statements = first.statements.map((sql) => ({ sql, args }));
    try {
      file.commit(statements, { rows: false, durable: false });
    } catch (error) {
      const { code, message } = error as { readonly code?: unknown; readonly message: string };
      if (typeof code !== "string" || !sqliteError(code, message).isAboutTheData) {
        this.#takeBack(set);
        throw error;
      }
      if (first.isAlone) {
        first.refused({ write: first.write, item: first.items.slice(1, -1), code, message });
      } else this.#takeBack(set.flatMap(singly));
      return;
    }
    this.#unsynced.push(...set);
    if (countOf(this.#unsynced) >= MAX_UNSYNCED) this.sync(file);
  }

  writeAll(file: Target): void {
    while (this.#pieces.length > 0) this.writeSet(file);
  }

  /** Waits until all that was written is there for good. */
  sync(file: Target): void {
    if (this.#unsynced.length > 0) file.sync();
    this.#unsynced = [];
  }

  /** All that was written is there for good. */
  synced(): void {
    this.#unsynced = [];
  }

  /** The connection was given up, and with it what it had not made durable. */
  again(): void {
    this.#takeBack(this.#unsynced);
    this.#unsynced = [];
  }

  /** Has pieces written before all others. */
  #takeBack(pieces: readonly Piece[]): void {
    this.#pieces.unshift(...pieces);
    this.#count += countOf(pieces);
  }
}
