import type { Database, FileState, ObserveCommit, RefusedItem } from "./database.ts";
import type { Writing } from "./group_writer.ts";

/** How a database is used, whatever its engine. */
export interface UseOptions {
  /** `full`: what is acknowledged survives the loss of power; `normal`: only that of the process. */
  readonly durability: "full" | "normal";
  readonly observe?: ObserveCommit | undefined;
}

/** Where a standby of PostgreSQL is, for reports. */
export interface ReplicaPlace {
  readonly replicaUrl?: string | undefined;
  /** Called with why it cannot be read, and without when it can again. */
  readonly onReplica?: ((fault: string | undefined) => void) | undefined;
}

/** Where a server is. */
export interface ServerPlace extends ReplicaPlace {
  readonly url: string;
  /** Auth token of a libSQL server, or the password of a PostgreSQL whose URL has none. */
  readonly token: string | undefined;
}

/** How writes are kept that go behind. */
export interface KeepOptions {
  /** Whose outbox it is. */
  readonly gatewayId: string;
  /** Where it is, if the database itself is not in a file beside which it can be: how the names of files begin. */
  readonly path: string;
  /** All that are written behind. */
  readonly writes: readonly Writing[];
  /** Called when nothing can be kept, and when it can be again. */
  readonly onFault: (fault: unknown) => void;
  /** Called when the database does not answer, again and again, and when it does. */
  readonly onState?: ((state: FileState) => void) | undefined;
  /** Called with how many items are written again, as the database has lost them after it had acknowledged them. */
  readonly onLost?: ((count: number) => void) | undefined;
  /** Called with an item that the database refuses. */
  readonly onRefused: (item: RefusedItem) => void;
}

/** A database as its engine has opened it, with what a gateway needs at its beginning, now and then, and at its end. */
export interface OpenedDatabase extends Database {
  /** Has it recognized by its own ID from now on, as its schema has one. Undefined where its address is enough. */
  identify?(): Promise<string | undefined>;
  /** Keeps what is written behind from now on, until the database has it. */
  keepOutbox(options: KeepOptions): Promise<void>;
  /**
   * Writes what gateways have kept that ended without order.
   *
   * @param writes All that are written behind.
   * @param options.onlyDead Whether to leave alone what running gateways keep, and what was refused before.
   */
  takeOutboxes(
    writes: readonly Writing[],
    options?: { readonly onlyDead?: boolean },
  ): Promise<void>;
  /**
   * Opens a connection for reads on a thread of its own. Undefined where reads hold up no writes.
   *
   * @param beside Files that must stay what they are meanwhile.
   */
  openReader?(beside: readonly string[]): Promise<Database>;
}

/** Whether a database is as its engine has opened it: tests wrap some in what only reads and writes. */
export function isOpened(database: Database): database is OpenedDatabase {
  return "takeOutboxes" in database;
}

/** An engine, for one database. What commits, reads and failures are, {@linkcode Database} says. */
export interface Engine {
  /** Opens the database and whatever else it needs. Its schema is as it was found. */
  open(): Promise<OpenedDatabase>;
  /**
   * Makes a database whole or not at all: nobody else uses it before the work has ended, and nothing is left of it if that fails.
   */
  fill<T>(work: (database: Database) => Promise<T>): Promise<T>;
  /**
   * Copies the database before its schema is changed. Undefined where the operator keeps its copies.
   *
   * @param version Of the schema that it has.
   */
  copyBefore?(database: Database, version: number): Promise<void>;
}
