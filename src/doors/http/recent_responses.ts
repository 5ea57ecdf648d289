import type { ConnectionMemory, Held } from "./connection_memory.ts";

/** A piece of a conversation. Conversations share the pieces of what they continue. */
type Piece = Uint8Array;

/** Max responses of one connection that can be continued. */
const MAX_RESPONSES = 8;
/** What the turn in progress has instead of an ID: no response has it. */
const IN_PROGRESS = "";

/** The last responses of a connection with all that led to them, so that the next request can continue one. */
export class RecentResponses implements Held {
  readonly accountId: string;
  readonly #memory: ConnectionMemory;
  readonly #maxBytes: number;
  readonly #pieces = new Map<string, readonly Piece[]>();
  /** How many of the responses have a piece. */
  readonly #uses = new Map<Piece, number>();
  /** Bytes of all pieces. */
  bytes = 0;

  /** @param accountId The account whose key the connection has. */
  constructor(memory: ConnectionMemory, accountId: string, maxBytes: number) {
    this.accountId = accountId;
    this.#memory = memory;
    this.#maxBytes = maxBytes;
  }

  /** The conversation up to a response, that one included; undefined if it is not known. */
  find(id: string): readonly Piece[] | undefined {
    return this.#pieces.get(id);
  }

  /** Remembers what leads to the response of a turn, until it is complete or ends otherwise. What is too large is forgotten at once. */
  begin(pieces: readonly Piece[]): void {
    const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (bytes <= this.#maxBytes) this.remember(IN_PROGRESS, pieces);
  }

  /**
   * Remembers the response of the turn in progress with what led to it, if that is still known.
   *
   * @param items Its output.
   */
  complete(id: string, items: Piece): void {
    const pieces = this.find(IN_PROGRESS);
    this.end();
    if (pieces !== undefined) this.remember(id, [...pieces, items]);
  }

  /** Forgets what led to the response of a turn. */
  end(): void {
    this.forget(IN_PROGRESS);
  }

  /** Remembers a response; the oldest ones are forgotten where there are too many. */
  remember(id: string, pieces: readonly Piece[]): void {
    const before = this.bytes;
    this.#drop(id);
    this.#pieces.set(id, pieces);
    for (const piece of pieces) this.#use(piece, 1);
    const max = MAX_RESPONSES + (this.#pieces.has(IN_PROGRESS) ? 1 : 0);
    for (const oldest of this.#pieces.keys()) {
      if (this.#pieces.size <= max && this.bytes <= this.#maxBytes) break;
      this.#drop(oldest);
    }
    this.#memory.took(this, this.bytes - before);
  }

  /** Forgets a response. */
  forget(id: string): void {
    const before = this.bytes;
    this.#drop(id);
    this.#memory.took(this, this.bytes - before);
  }

  /** Forgets all. */
  clear(): void {
    const before = this.bytes;
    this.#pieces.clear();
    this.#uses.clear();
    this.bytes = 0;
    this.#memory.took(this, -before);
  }

  #drop(id: string): void {
    for (const piece of this.#pieces.get(id) ?? []) this.#use(piece, -1);
    this.#pieces.delete(id);
  }

  #use(piece: Piece, times: 1 | -1): void {
    const before = this.#uses.get(piece) ?? 0;
    const after = before + times;
    if (after === 0) this.#uses.delete(piece);
    else this.#uses.set(piece, after);
    if (before === 0) this.bytes += piece.byteLength;
    if (after === 0) this.bytes -= piece.byteLength;
  }
}
