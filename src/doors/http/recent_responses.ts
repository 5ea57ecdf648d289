/** A piece of a conversation. Conversations share the pieces of what they continue. */
type Piece = Uint8Array;

/** What a connection has in memory. */
export interface Held {
  readonly accountId: string;
  readonly bytes: number;
  /** Lets go of all of it. */
  clear(): void;
}

/** Memory of all connections for what they have of one kind. */
export class ConnectionMemory {
  readonly #maxBytes: number;
  #bytes = 0;
  readonly #accounts = new Map<string, AccountMemory>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes that are taken. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Notes that a connection has taken or returned memory. If there is too little, the account that has most lets go, beginning
   * with the connection that it has not used for longest.
   */
  took(connection: Held, bytes: number): void {
    this.#bytes += bytes;
    const { accountId } = connection;
    const own = this.#accounts.get(accountId) ?? { bytes: 0, connections: new Set() };
    own.bytes += bytes;
    own.connections.delete(connection);
    if (connection.bytes > 0) own.connections.add(connection);
    if (own.connections.size > 0) this.#accounts.set(accountId, own);
    else this.#accounts.delete(accountId);
    while (this.#bytes > this.#maxBytes) {
      const [oldest] = this.#largest().connections;
      oldest!.clear(); // comes back here
    }
  }

  #largest(): AccountMemory {
    return [...this.#accounts.values()].reduce((one, other) =>
      other.bytes > one.bytes ? other : one
    );
  }
}

/** What an account's connections have of it. */
interface AccountMemory {
  bytes: number;
  /** The one that used its responses last is the last one. */
  readonly connections: Set<Held>;
}

/** Max responses of one connection that can be continued. */
const MAX_RESPONSES = 8;
/** What the turn in progress has instead of an ID: no response has it. */
const IN_PROGRESS = "";

/** The frames of a connection that are in memory. */
export class HeldFrames implements Held {
  readonly accountId: string;
  readonly #memory: ConnectionMemory;
  readonly #short: () => void;
  bytes = 0;

  /** @param short Called when there is no memory for them. */
  constructor(memory: ConnectionMemory, accountId: string, short: () => void) {
    this.#memory = memory;
    this.accountId = accountId;
    this.#short = short;
  }

  /** Notes how much they take now. */
  use(bytes: number): void {
    const more = bytes - this.bytes;
    this.bytes = bytes;
    if (more !== 0) this.#memory.took(this, more);
  }

  clear(): void {
    this.use(0);
    this.#short();
  }
}

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
