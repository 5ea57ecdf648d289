import type { Dialect } from "../sql/mod.ts";

/** What a statement takes and a row gives. Integers beyond 2^53 do not occur: `check` clauses bound them. */
export type Value = string | number | null;

/** One row, by column name. */
export type Row = Readonly<Record<string, Value>>;

/** One statement with its positional arguments. */
export interface Statement {
  readonly sql: string;
  readonly args?: readonly Value[];
  /** Only its first row is wanted, which is flat in memory however often it is asked for. */
  readonly first?: boolean;
}

/** A condition of a statement, with its positional arguments. */
export interface Condition {
  readonly sql: string;
  readonly args: readonly Value[];
}

/** Rows that the items of a {@linkcode GroupWrite} need to themselves. */
export interface ItemLock {
  readonly table: string;
  /** The column that says which rows. */
  readonly key: string;
  /**
   * A query of those values of it.
   *
   * @param items The argument that has the items, such as `?1`.
   */
  rows(items: string): string;
}

/**
 * A write that concurrent requests share: its statements run once for all items that are waiting.
 *
 * Each statement takes one argument, the items as a JSON array of objects, and reads them with
 * `elementsOf("?1")` by their names. All run in one transaction with everything else that waits; an item's
 * promise resolves after the commit. When a batch fails, each item is tried alone, so one bad item fails alone.
 */
export interface GroupWrite<Item extends JsonObject, Outcome = undefined> {
  /** For logs and metrics. */
  readonly name: string;
  /** The member that tells items apart; its values are texts. */
  readonly key: keyof Item & string;
  /** Items are passed as arrays of these members, which statements read by position: in half of the time. */
  readonly columns?: readonly (keyof Item & string)[];
  readonly statements: readonly string[];
  /**
   * In the order in which all writes take them. An engine that makes several transactions at a time locks the rows of all items of one
   * first, so that no two wait for each other in a circle.
   */
  readonly locks?: readonly ItemLock[];
  /** Whether its statements lock that themselves: then nothing is locked before when there is no other write. */
  readonly locksItself?: boolean;
  /** Whether losing it with the power would do no harm; then the disk is not waited for. */
  readonly forgettable?: boolean;
  /** Whether doing it twice is the same as once; then it is tried again when the answer was lost. */
  readonly repeatable?: boolean;
  /**
   * Reads the outcomes of items: takes a JSON array of their keys, and selects one text, a JSON array of objects
   * that have the key under the same name. Runs after `statements`, before `cleanUp`. Empty for an engine on which the last row
   * that `statements` give is that text.
   */
  readonly outcomes?: string;
  /** The same at any time after it was done. Default: `outcomes`. */
  readonly outcomesLater?: string;
  /** Runs last, without arguments. */
  readonly cleanUp?: string;
  /** Parses what `outcomes` read for an item; undefined when it read nothing. */
  readonly read?: (row: JsonObject | undefined) => Outcome;
  /** Marks an item that is written again, after the database has lost what it had acknowledged. */
  late?(item: JsonObject): JsonObject;
  /** Never set: ties a write to the shape of its items. */
  readonly item?: Item;
}

/** Told of every commit of a writer. */
export type ObserveCommit = (commit: {
  readonly durable: boolean;
  readonly seconds: number;
  readonly items: number;
  readonly failed: boolean;
}) => void;

/** What an item of a group write may be made of. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** An item of a group write, or its outcome. */
export interface JsonObject {
  readonly [name: string]: Json | undefined;
}

/** An item that was written behind and that the database refused. */
export interface RefusedItem {
  /** Name of the write. */
  readonly write: string;
  /** Its members by name. */
  readonly item: JsonObject;
  /** Why, as the database says. */
  readonly error: string;
}

/** How rows are read. */
export interface ReadOptions {
  /** How long a server is waited for; an embedded file always takes as long as it needs. */
  readonly patienceMs?: number;
}

/** How what is written behind does without the database. */
export interface OutboxState {
  /** Whether items can be kept, as far as is known: then the database is not needed for them. */
  readonly isUsable: boolean;
  /** Items that were kept as the database did not answer, and that it does not have yet. */
  readonly kept: number;
  /** Whether the database does not answer. */
  readonly isDetached: boolean;
  /** Whether other gateways may use the database while it does not answer this one. */
  readonly isShared: boolean;
}

/** What a database says unasked: it was given up after a failure, still cannot be used, or is used again. */
export type FileState =
  | { readonly isUsable: false; readonly code: string; readonly message: string }
  | { readonly isUsable: true; readonly awayMs: number };

/** A line to an embedded database, for another thread of this process; sent there with its port. */
export interface DatabaseLine {
  readonly port: MessagePort;
  readonly place: string;
  readonly outboxDirectory: string | undefined;
  readonly durable: boolean;
  /** Counts what was passed on over all lines. */
  readonly passedOn: SharedArrayBuffer;
}

/** How a transaction is made. */
export interface BatchOptions {
  /** Whether other transactions may run at the same time, as its rules lock what they decide on. Default: one after the other. */
  readonly beside?: boolean;
  /** Whether all is undone afterwards, so that other connections do not even learn of it. Only PostgreSQL does that. */
  readonly undone?: boolean;
}

/** A copy of a database that may be up to a minute behind. Its source is read instead while it cannot be; what is written goes there. */
export interface Replica extends Database {
  /** Whether it is one, and near enough to be read; `about` says that to people. @throws {DatabaseError} If it does not answer. */
  look(): Promise<{ readonly isReadable: boolean; readonly about: string }>;
}

/** The only authority on money, windows, accounts and keys: an embedded file or a server. */
export interface Database {
  /** For people: the file's path, or the server's address without secrets. */
  readonly place: string;
  /** What it understands besides standard SQL. Default: `sqlite`. */
  readonly dialect?: Dialect | undefined;
  /** Whether it is incomplete, and others see it: it is being filled. */
  readonly isUnfinished?: boolean | undefined;
  /** Writes that wait for a commit. */
  readonly waiting: number;
  /** A copy that reports read: {@linkcode forReports}. Undefined where there is none. */
  readonly replica?: Replica | undefined;
  /** Reads rows. */
  all(sql: string, args?: readonly Value[], options?: ReadOptions): Promise<Row[]>;
  /** Reads the first row. Flat in memory however often it is called, so the one for polling. */
  one(sql: string, args?: readonly Value[]): Promise<Row | undefined>;
  /** Runs statements in one write transaction of their own; answers each one's rows. */
  batch(statements: readonly Statement[], options?: BatchOptions): Promise<Row[][]>;
  /** Joins the next group commit; resolves with the item's outcome when it is durable. */
  write<Item extends JsonObject, Outcome>(
    write: GroupWrite<Item, Outcome>,
    item: Item,
  ): Promise<Outcome>;
  /**
   * Writes an item, which must be `repeatable`, behind: resolves when it is durable, and whatever is read from then on finds it.
   * Undefined where it is no faster than {@linkcode write}.
   */
  writeBehind?:
    | (<Item extends JsonObject, Outcome>(
      write: GroupWrite<Item, Outcome>,
      item: Item,
    ) => Promise<Outcome | undefined>)
    | undefined;
  /** What keeps that. Undefined where nothing does: each write waits for the database. */
  readonly outbox?: OutboxState | undefined;
  /** Reads what was written behind and refused, and is kept until somebody has dealt with it. Undefined where nothing is. */
  refused?: (() => Promise<readonly RefusedItem[]>) | undefined;
  /**
   * Resolves when all that was written behind is in the database. Undefined where nothing is.
   *
   * @param options `durable` says whether it is to be there for good; otherwise readers see it, unless the disk is full.
   */
  flush?: ((options: { readonly durable: boolean }) => Promise<void>) | undefined;
  /** Commits what waits, then lets go of the file or connection. */
  close(): Promise<void>;
  /**
   * Makes a line to the thread of an embedded file. Undefined for a server, to which each thread connects by itself, and
   * for a database that is itself at the end of a line.
   *
   * @param died Called when the thread dies, which the other ends of lines do not notice. Replaces the one given before.
   */
  line?: ((died: (message: string) => void) => DatabaseLine) | undefined;
}

/**
 * The database for reports, exports and audits, which may be some seconds behind. What decides on money, rights, sign-in or rate limits reads
 * the database itself, and so does what somebody has just changed.
 */
export function forReports(database: Database): Database {
  return database.replica ?? database;
}

/** What a failure means, whatever an engine calls it. */
export type FailureKind =
  /** Somebody else uses what was asked for just now. */
  | "busy"
  /** A `unique` or `primary key` clause was violated. */
  | "duplicate"
  /** Another clause was violated, or a rule refuses. */
  | "rule"
  /** The statement or its arguments are wrong. */
  | "statement"
  /** The database is away, closed, full, damaged or another program's: it fails for all alike. */
  | "unusable";

/** Thrown when the database cannot do what was asked. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  /** The engine's own name of the failure, or the gateway's, which begins with `SLUICE_`. */
  readonly code: string;
  readonly kind: FailureKind;
  /** Whether what was asked may have been done nevertheless: the answer was lost. */
  readonly outcomeUnknown: boolean;

  constructor(
    code: string,
    message: string,
    { outcomeUnknown = false, kind = "unusable", ...options }: ErrorOptions & {
      readonly outcomeUnknown?: boolean;
      readonly kind?: FailureKind;
    } = {},
  ) {
    super(message, options);
    this.code = code;
    this.kind = kind;
    this.outcomeUnknown = outcomeUnknown;
  }

  /** Whether nothing is asked of this database any more. */
  get isFinal(): boolean {
    return this.code === "SLUICE_CLOSED" || this.code === "SLUICE_THREAD_DIED";
  }

  /** Whether the same may well succeed in a moment: the database is in use, is being opened again, or was not heard of. */
  get isPassing(): boolean {
    return this.outcomeUnknown || this.kind === "busy" || this.code === "SLUICE_REOPENING";
  }

  /** Whether a `unique` or `primary key` clause was violated. */
  get isDuplicate(): boolean {
    return this.kind === "duplicate";
  }

  /** Whether one item or statement is at fault, and others may succeed. */
  get isAboutTheData(): boolean {
    return !this.outcomeUnknown && this.kind !== "busy" && this.kind !== "unusable";
  }
}

/** The same failure of something that may have been done. */
export function asUnknown(error: unknown): unknown {
  if (!(error instanceof DatabaseError) || error.outcomeUnknown) return error;
  const { code, message, kind } = error;
  return new DatabaseError(code, message, { cause: error, kind, outcomeUnknown: true });
}
