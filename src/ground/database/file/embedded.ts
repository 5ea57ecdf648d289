import {
  type Database,
  DatabaseError,
  type DatabaseLine,
  type FileState,
  type GroupWrite,
  type JsonObject,
  type ObserveCommit,
  type OutboxState,
  type RefusedItem,
  type Row,
  type Statement,
  type Value,
} from "../database.ts";
import {
  type Answer,
  type Ask,
  type Connecting,
  type Numbered,
  PassedOn,
} from "./embedded_protocol.ts";
import { SlotMap } from "../../platform/mod.ts";
import { giveFileThread, takeFileThread } from "./file_threads.ts";
import { FileWatch } from "./file_watch.ts";
import { BehindWriter } from "../behind_writer.ts";
import type { KeepOptions, OpenedDatabase, UseOptions } from "../engine.ts";
import { GroupWriter, type Writing } from "../group_writer.ts";
import { outboxPath, outboxPlaces, WriteOutbox } from "../outbox.ts";
import type { RefusedBehind } from "../pieces.ts";
import type { Asked } from "../presence.ts";
import { namedItem, refusedFiles, RefusedItems, refusedItemsOf } from "../refused_items.ts";
import { sqliteError } from "../sqlite/failures.ts";
import { takeOutboxes } from "../take_outboxes.ts";
import { Unsent } from "./unsent.ts";

/** The way to the thread that owns the file. */
interface Thread {
  postMessage(message: Numbered): void;
  /** Ends the thread, or the line to it. */
  end(): void;
}

/** How an embedded file is opened. */
export interface EmbeddedOptions extends UseOptions {
  /** Whether nothing is written through it. */
  readonly readOnly?: boolean;
  /** Files that must stay what they are for as long as the database is used: the lock of its directory. */
  readonly beside?: readonly string[] | undefined;
  /** Directory of its outboxes, such as one on another disk. Default: that of the file. */
  readonly outboxDirectory?: string | undefined;
  /** Called when the file was given up after a failure, each time that it still cannot be used, and when it is used again. */
  readonly onState?: ((state: FileState) => void) | undefined;
  /** A clock that nobody sets, in milliseconds; tests pass their own. Default: `performance.now()`. */
  readonly monotonicNow?: (() => number) | undefined;
}

/** The number of what is written behind, which no answer is waited for. */
const BEHIND = -1;

/** What is answered while the file has been given up, and is tried again. */
const GIVEN_UP = "SLUICE_REOPENING";

/** What the file's thread was asked. */
interface Question extends PromiseWithResolvers<Row[][]> {
  readonly asked: Asked;
  /** Items that were passed on before, which are written once it is answered. */
  readonly passed: number;
}

/** An embedded libSQL file, owned by a thread of its own. */
export class EmbeddedDatabase implements OpenedDatabase {
  readonly place: string;
  #thread!: Thread;
  /** Whether what is acknowledged survives the loss of power. */
  readonly #durable: boolean;
  readonly #outboxDirectory: string | undefined;
  /** Whether this one has opened the file, and closes it. */
  readonly #isOwner: boolean;
  readonly #passedOn: PassedOn;
  readonly #writer: GroupWriter;
  readonly #observe: ObserveCommit | undefined;
  #behind: BehindWriter | undefined;
  #onRefused: (item: RefusedItem) => void = () => {};
  readonly #refused: RefusedItems;
  /** Those that were written behind, by name. */
  readonly #writes = new Map<string, Writing>();
  /** ID of the database. */
  #id: string | undefined;
  readonly #open = new SlotMap<Question>();
  readonly #watch: FileWatch;
  /** Whether its thread has said that the file cannot be used. */
  #isGivenUp = false;
  /** Items that were passed on to be written behind, and those of them that are written. */
  #passed = 0;
  #written = 0;
  readonly #unsent = new Unsent((write, items, count) => this.#sendBehind(write, items, count));
  /** Whether no other thread asks for what this one has passed on. */
  #isAlone: boolean;
  #closing: Promise<void> | undefined;
  #closed = false;
  /** Called when the thread dies, which the other ends of lines do not notice. */
  #died: (message: string) => void = () => {};

  private constructor(
    { place, outboxDirectory, durable, isOwner, passedOn, monotonicNow }:
      & Omit<DatabaseLine, "port" | "passedOn">
      & Pick<EmbeddedOptions, "monotonicNow">
      & { readonly isOwner: boolean; readonly passedOn?: SharedArrayBuffer },
    observe: ObserveCommit | undefined,
  ) {
    this.place = place;
    this.#durable = durable;
    this.#outboxDirectory = outboxDirectory;
    this.#isOwner = this.#isAlone = isOwner;
    this.#passedOn = new PassedOn(passedOn);
    this.#watch = new FileWatch(monotonicNow);
    this.#observe = observe;
    this.#refused = new RefusedItems(place);
    this.#writer = new GroupWriter(
      (statements, durable) => this.#commit(statements, { rows: false, durable }),
      observe,
    );
  }

  /**
   * Opens a file, creating it if it does not exist.
   *
   * @throws {DatabaseError} If it cannot be opened, or is damaged.
   */
  static async open(
    path: string,
    options: EmbeddedOptions,
  ): Promise<EmbeddedDatabase> {
    const { durability, readOnly = false, beside = [], outboxDirectory, observe } = options;
    const { monotonicNow, onState = () => {} } = options;
    const kept = { place: path, outboxDirectory, durable: durability === "full" };
    const database = new EmbeddedDatabase({ ...kept, isOwner: true, monotonicNow }, observe);
    const use = readOnly ? "reading" : "writing";
    const worker = takeFileThread(use);
    let isSound = true;
    worker.onmessage = ({ data }: MessageEvent<Answer | FileState>) => {
      if ("id" in data) return database.#resolve(data);
      isSound = false; // attempts to open the file again may be due
      database.#isGivenUp = !data.isUsable;
      onState(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      const message = `the database's thread died: ${event.message}`;
      isSound = false;
      database.fail(message);
      database.#died(message);
    };
    const connect = (port: MessagePort) =>
      worker.postMessage({ port } satisfies Connecting, [port]);
    database.#thread = {
      postMessage: (message) => worker.postMessage(message),
      end: () => isSound ? giveFileThread(worker, use) : worker.terminate(),
    };
    database.line = (died) => {
      database.#isAlone = false;
      database.#unsent.send();
      const { port1, port2 } = new MessageChannel();
      connect(port1);
      database.#died = died;
      return { port: port2, ...kept, passedOn: database.#passedOn.memory };
    };
    try {
      await database.#ask({ type: "open", path, readOnly, beside });
    } catch (error) {
      worker.terminate();
      throw error;
    }
    return database;
  }

  /**
   * Uses the file that another thread has opened, over a line to it.
   *
   * @param line A line that no other thread uses.
   * @param observe Called with every commit of this thread.
   * @returns The database. Closing it closes the line.
   */
  static over(line: DatabaseLine, observe?: ObserveCommit): EmbeddedDatabase {
    const { port, ...more } = line;
    const database = new EmbeddedDatabase({ ...more, isOwner: false }, observe);
    port.onmessage = (event: MessageEvent<Answer>) => database.#resolve(event.data);
    database.#thread = {
      postMessage: (message) => port.postMessage(message),
      end: () => port.close(),
    };
    return database;
  }

  line: Database["line"];

  get waiting(): number {
    return this.#writer.waiting + (this.#behind?.waiting ?? 0);
  }

  async all(sql: string, args: readonly Value[] = []): Promise<Row[]> {
    return (await this.#watch.unlessSilent(this.#ask({ type: "all", sql, args })))[0] ?? [];
  }

  async one(sql: string, args: readonly Value[] = []): Promise<Row | undefined> {
    return (await this.#watch.unlessSilent(this.#ask({ type: "one", sql, args })))[0]?.[0];
  }

  batch(statements: readonly Statement[]): Promise<Row[][]> {
    return this.#commit(statements, { rows: true, durable: true });
  }

  write<Item extends JsonObject, Outcome>(
    write: GroupWrite<Item, Outcome>,
    item: Item,
  ): Promise<Outcome> {
    const written = this.#writer.write(write, item);
    // what can be repeated is worth waiting for: the end of a request that may be charged all the same
    return write.repeatable ? written : this.#watch.unlessSilent(written);
  }

  writeBehind: Database["writeBehind"];
  outbox: OutboxState | undefined;

  async flush({ durable }: { readonly durable: boolean }): Promise<void> {
    await this.#ask({ type: "flush", durable });
    if (durable) await this.#refused.keep(); // what it was kept in is given up next
  }

  async refused(): Promise<RefusedItem[]> {
    const paths = await refusedFiles(this.place);
    const database = paths.length === 0 ? undefined : await this.identify();
    if (database === undefined) return [];
    return await refusedItemsOf(this.place, database);
  }

  async keepOutbox(options: Omit<KeepOptions, "path" | "writes">): Promise<void> {
    const { gatewayId, onFault, onState = () => {}, onRefused } = options;
    const database = await this.identify();
    if (database === undefined) return;
    this.#onRefused = onRefused;
    const taken = () => this.flush({ durable: true });
    const behind = this.#behind = new BehindWriter({
      outbox: new WriteOutbox({
        path: outboxPath(this.#outboxPlaces()[0]!, gatewayId),
        database,
        durable: this.#durable,
        taken,
      }),
      send: (write, items, count) => this.#send(write, items, count),
      taken,
      observe: this.#observe,
      onFault,
    });
    this.#keepWatch(behind, onState);
    this.writeBehind = async (write, item) => {
      await behind.write(write, item);
      return undefined;
    };
  }

  /** Has everybody know whether the file answers. */
  #keepWatch(behind: BehindWriter, onState: (state: FileState) => void): void {
    const { presence } = this.#watch;
    const kept = () => this.#passed - this.#written;
    this.outbox = {
      get isUsable() {
        return behind.isUsable;
      },
      get kept() {
        return presence.isAway ? kept() : 0;
      },
      get isDetached() {
        return presence.isAway;
      },
      isShared: false,
    };
    this.#watch.start((state) => {
      if (!this.#isGivenUp) onState(state); // else the file's thread says more
    });
  }

  async takeOutboxes(
    writes: readonly Writing[],
    { onlyDead = false }: { readonly onlyDead?: boolean } = {},
  ): Promise<void> {
    const database = this.#id ?? await this.identify();
    if (database === undefined) return;
    await takeOutboxes({
      file: this.place,
      places: this.#outboxPlaces(),
      database,
      writes,
      send: (write, items, count) => this.#send(write, items, count),
      taken: () => this.flush({ durable: true }),
      forget: () => this.#ask({ type: "forget" }),
      refused: this.#refused.paths,
    }, { onlyDead });
  }

  #outboxPlaces(): string[] {
    return outboxPlaces(this.place, this.#outboxDirectory);
  }

  async identify(): Promise<string | undefined> {
    const [[row] = []] = await this.#ask({ type: "identify" });
    return this.#id = row === undefined || row.id === null ? undefined : String(row.id);
  }

  openReader(beside: readonly string[]): Promise<Database> {
    return EmbeddedDatabase.open(this.place, { durability: "normal", readOnly: true, beside });
  }

  async close(): Promise<void> {
    if (!this.#closed) await (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#writer.idle();
    await this.#behind?.close();
    this.#watch.stop();
    if (this.#isOwner) await this.#ask({ type: "close" });
    this.#closed = true;
    this.#thread.end();
  }

  #commit(
    statements: readonly Statement[],
    { rows, durable }: { rows: boolean; durable: boolean },
  ): Promise<Row[][]> {
    return this.#ask({ type: "commit", statements, rows, durable: durable && this.#durable });
  }

  #send(write: Writing, items: string, count: number): void {
    this.#writes.set(write.name, write);
    this.#passed += count;
    if (this.#isAlone) this.#unsent.add(write, items, count);
    else this.#sendBehind(write, items, count);
  }

  #sendBehind({ name: write, statements }: Writing, items: string, count: number): void {
    this.#thread.postMessage({
      id: BEHIND,
      ask: { type: "behind", write, statements, items, count },
      after: 0,
    });
    this.#passedOn.add();
  }

  #ask(ask: Ask): Promise<Row[][]> {
    if (this.#closed) {
      return Promise.reject(new DatabaseError("SLUICE_CLOSED", "The database is closed"));
    }
    this.#behind?.passOn();
    this.#unsent.send();
    const answer = Promise.withResolvers<Row[][]>();
    const id = this.#open.add({
      ...answer,
      asked: this.#watch.presence.ask(),
      passed: this.#passed,
    });
    this.#thread.postMessage({ id, ask, after: this.#passedOn.count });
    return answer.promise;
  }

  #resolve(answer: Answer): void {
    if ("refused" in answer) return this.#keepRefused(answer.refused);
    const question = this.#open.take(answer.id);
    if (question === undefined) return;
    const { asked, passed, resolve, reject } = question;
    if (answer.ok) {
      asked.answered();
      this.#written = Math.max(this.#written, passed);
      return resolve(answer.rows);
    }
    const { code, message, outcomeUnknown } = answer;
    if (code === GIVEN_UP) asked.failed(message);
    else asked.answered();
    reject(sqliteError(code, message, { outcomeUnknown }));
  }

  #keepRefused({ write, item, code, message }: RefusedBehind): void {
    const named = namedItem(item, this.#writes.get(write)?.columns ?? []);
    const refused = { write, item: named, error: `${code}: ${message}` };
    this.#refused.note({ database: this.#id ?? "", ...refused });
    this.#onRefused(refused);
    this.#behind?.renewOutbox(); // once somebody has dealt with the item, it must not come back
    this.#refused.keep().catch(() => {}); // the next flush tries again
  }

  /** Fails what waits for the thread, which has died, and whatever is asked from now on. */
  fail(message: string): void {
    this.#closed = true;
    this.#unsent.drop();
    if (!this.#isOwner) this.#thread.end();
    for (const { reject } of this.#open.clear()) {
      reject(new DatabaseError("SLUICE_THREAD_DIED", message));
    }
  }
}
