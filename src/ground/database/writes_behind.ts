import type { EmbeddedFile } from "./embedded_file.ts";
import type { ItemsBehind, RefusedBehind } from "./embedded_protocol.ts";

/** What is written to. */
type Target = Pick<EmbeddedFile, "commit" | "sync">;

/** Items of one transaction: it takes some ten milliseconds, for which questions wait. */
const MAX_SET = 256;
/** Items that are committed before the disk is waited for. */
const MAX_UNSYNCED = 2_000;

/** Failures of what is written, not of the database. */
const ABOUT_THE_DATA = /^SQLITE_(CONSTRAINT|ERROR|MISMATCH|RANGE|TOOBIG)/;

/** Some of them, and what becomes of those that the database refuses. */
export interface Piece extends ItemsBehind {
  readonly refused: (item: RefusedBehind) => void;
  /** Whether it was in a set that was refused: then it is written by itself. */
  readonly isAlone?: boolean;
}

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

  /** Writes one set. */
  writeSet(file: Target): void {
    const set = takeSet(this.#pieces);
    const [first] = set;
    if (first === undefined) return;
    this.#count -= countOf(set);
    const args = [
      `[${set.map(({ items }) => items.slice(1, -1)).join(",")}]`,
    ];
    const statements = first.statements.map((sql) => ({ sql, args }));
    try {
      file.commit(statements, { rows: false, durable: false });
    } catch (error) {
      const { code, message } = error as { readonly code?: unknown; readonly message: string };
      if (typeof code !== "string" || !ABOUT_THE_DATA.test(code)) {
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

  /** Writes all. */
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

/** Takes the first pieces of the same write, at most a set of them if the first is not larger. */
export function takeSet(pieces: Piece[]): Piece[] {
  const [first] = pieces;
  if (first === undefined) return [];
  let items = 0;
  let end = 0;
  for (const { write, count, isAlone } of pieces) {
    const isMore = end > 0;
    if (isMore && (first.isAlone || isAlone || items + count > MAX_SET)) break;
    if (isMore && write !== first.write) break;
    items += count;
    end++;
  }
  return pieces.splice(0, end);
}

/** Each item by itself, after a set was refused. */
export function singly(piece: Piece): Piece[] {
  return (JSON.parse(piece.items) as unknown[])
    .map((item) => ({ ...piece, items: JSON.stringify([item]), count: 1, isAlone: true }));
}

function countOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { count }) => sum + count, 0);
}
