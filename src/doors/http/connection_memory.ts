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
  /** The one that took or returned memory last is the last one. */
  readonly connections: Set<Held>;
}

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
