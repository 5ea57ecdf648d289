import type { Row, Statement, Value } from "../database.ts";
import type { ItemsBehind, RefusedBehind } from "../pieces.ts";

/** Copies the database into an empty file: also over a connection that only reads. */
export const COPY = "vacuum into ?";

/** What the embedded database's thread is asked. */
export type Ask =
  | {
    readonly type: "open";
    readonly path: string;
    readonly readOnly: boolean;
    /** Files that must stay what they are for as long as the database is used. */
    readonly beside: readonly string[];
  }
  | { readonly type: "one"; readonly sql: string; readonly args: readonly Value[] }
  | { readonly type: "all"; readonly sql: string; readonly args: readonly Value[] }
  | {
    readonly type: "commit";
    readonly statements: readonly Statement[];
    /** Whether all rows of all statements are wanted; not asking keeps memory flat. */
    readonly rows: boolean;
    /** Whether the answer waits until the commit is durable. */
    readonly durable: boolean;
  }
  /** Is answered only if an item is refused, once for each. What is asked afterwards finds them written. */
  | ItemsBehind & { readonly type: "behind" }
  /** Is answered once all that was to be written behind is there, if `durable` for good. */
  | { readonly type: "flush"; readonly durable: boolean }
  /** What is to be written behind is not to be written: it is kept elsewhere, for another to write it. */
  | { readonly type: "forget" }
  /** The schema has changed: the database may have an identity now, which is the answer. */
  | { readonly type: "identify" }
  | { readonly type: "close" };

/** What it answers, with the number of the question. */
export type Answer =
  | { readonly id: number; readonly ok: true; readonly rows: Row[][] }
  | {
    readonly id: number;
    readonly ok: false;
    readonly code: string;
    readonly message: string;
    /** Whether what was asked may have been done nevertheless. */
    readonly outcomeUnknown: boolean;
  }
  | { readonly id: number; readonly refused: RefusedBehind };

/** A question with its number. */
export interface Numbered {
  readonly id: number;
  readonly ask: Ask;
  /** What {@linkcode PassedOn} says: what was passed on before, over any line, is taken first. */
  readonly after: number;
}

/** Connects another thread: what it asks comes through the port, and is answered there. */
export interface Connecting {
  readonly port: MessagePort;
}

/**
 * How often something was passed on to be written behind, over all lines to a thread. What comes over one line may overtake what
 * was sent over another before it.
 */
export class PassedOn {
  readonly memory: SharedArrayBuffer;
  readonly #count: Int32Array<SharedArrayBuffer>;

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#count = new Int32Array(memory);
  }

  get count(): number {
    return Atomics.load(this.#count, 0);
  }

  add(): void {
    Atomics.add(this.#count, 0, 1);
  }
}
