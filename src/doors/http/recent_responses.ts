/** A piece of a conversation. Conversations share the pieces of what they continue. */
type Piece = Uint8Array;

/** Memory of all connections for earlier responses. */
export class RecentMemory {
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
   * Notes that a connection has taken or returned memory. If there is too little, the account that has most forgets, beginning
   * with the connection that it has not used for longest.
   */
  took(connection: RecentResponses, bytes: number): void {
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
  readonly connections: Set<RecentResponses>;
}

/** Max responses of one connection that can be continued. */
const MAX_RESPONSES = 8;

/** The last responses of a connection with all that led to them, so that the next request can continue one. */
export class RecentResponses {
  readonly accountId: string;
  readonly #memory: RecentMemory;
  readonly #maxBytes: number;
  readonly #pieces = new Map<string, readonly Piece[]>();
  /** How many of the responses have a piece. */
  readonly #uses = new Map<Piece, number>();
  /** Bytes of all pieces. */
  bytes = 0;

  /** @param accountId The account whose key the connection has. */
  constructor(memory: RecentMemory, accountId: string, maxBytes: number) {
    this.accountId = accountId;
    this.#memory = memory;
    this.#maxBytes = maxBytes;
  }

  /** The conversation up to a response, that one included; undefined if it is not known. */
  find(id: string): readonly Piece[] | undefined {
    return this.#pieces.get(id);
  }

  /** Remembers a response; the oldest ones are forgotten where there are too many. */
  remember(id: string, pieces: readonly Piece[]): void {
    const before = this.bytes;
    this.#drop(id);
    this.#pieces.set(id, pieces);
    for (const piece of pieces) this.#use(piece, 1);
    for (const oldest of this.#pieces.keys()) {
      if (this.#pieces.size <= MAX_RESPONSES && this.bytes <= this.#maxBytes) break;
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
