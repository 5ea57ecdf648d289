/** Items that are to be written. */
export interface ItemsBehind {
  /** Name of the write: those of one name have the same statements. */
  readonly write: string;
  readonly statements: readonly string[];
  /** A JSON array. */
  readonly items: string;
  readonly count: number;
}

/** An item that was to be written behind and that the database refuses. */
export interface RefusedBehind {
  readonly write: string;
  /** As JSON. */
  readonly item: string;
  readonly code: string;
  readonly message: string;
}

/** Items, and what becomes of those that the database refuses. */
export interface Piece extends ItemsBehind {
  readonly refused: (item: RefusedBehind) => void;
  /** Whether it was in a set that was refused: then it is written by itself. */
  readonly isAlone?: boolean;
}

/** Items of one transaction: it takes some ten milliseconds, for which questions wait. */
export const MAX_SET = 256;

/** Takes the first pieces of the same write, at most a set of them if the first is not larger. */
export function takeSet<One extends Piece>(pieces: One[]): One[] {
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
export function singly<One extends Piece>(piece: One): One[] {
  return (JSON.parse(piece.items) as unknown[])
    .map((item) => ({ ...piece, items: JSON.stringify([item]), count: 1, isAlone: true }));
}

/** Several JSON arrays, none of them empty, as one. */
export function joinedItems(arrays: readonly string[]): string {
  return `[${arrays.map((items) => items.slice(1, -1)).join(",")}]`;
}

/** Number of their items. */
export function countOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { count }) => sum + count, 0);
}
