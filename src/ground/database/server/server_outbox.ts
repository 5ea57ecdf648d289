import { DatabaseError, type Json, type JsonObject, type RefusedItem } from "../database.ts";
import type { WaitingItem } from "../behind_writer.ts";
import type { KeepOptions } from "../engine.ts";
import { Gatherer } from "../gatherer.ts";
import {
  type Commit,
  type Committed,
  type CommittedItems,
  itemsOf,
  type Writing,
} from "../group_writer.ts";
import { outboxPath, WriteOutbox } from "../outbox.ts";
import { namedItem, RefusedItems, refusedItemsOf } from "../refused_items.ts";
import { takeOutboxes } from "../take_outboxes.ts";
import { countOf, joinedItems, type Piece, singly, takeSet } from "../pieces.ts";

/** What a {@linkcode ServerOutbox} goes by. */
export interface ServerOutboxOptions extends Omit<KeepOptions, "writes" | "onState"> {
  /** ID of the server's database. */
  readonly database: string;
  readonly durable: boolean;
  /** Commits at the server, before whatever waits for the outbox. */
  readonly commit: Commit;
  /** Told of what it has taken. */
  readonly committed?: Committed;
  /** Reads the first value of the first row of a query of one argument. */
  readonly read?: (sql: string, arg: string) => Promise<unknown>;
}

/** Space of each file: ten thousand settlements find place on a disk that is full when the server goes away. */
const PREPARED_BYTES = 4 * 1024 * 1024;

/** Has the files emptied, in turn with what is kept. */
const EMPTY = Symbol("empty");
/** How many items the server is asked about at once, whether it has them. */
const MAX_ASKED = 2_000;

interface KeptPiece extends Piece {
  readonly of: Writing;
  /** Whether the server may have it, as it was acknowledged before. */
  readonly isRepeated: boolean;
}

/**
 * Keeps what a server could not be told, until it has it. An item is passed on only once it is durable: what cannot be kept is not
 * written later either, as its caller learns that.
 */
export class ServerOutbox {
  readonly #options: ServerOutboxOptions;
  readonly #outbox: WriteOutbox;
  readonly #refused: RefusedItems;
  readonly #gatherer = new Gatherer<WaitingItem | typeof EMPTY>((batch) => this.#keepAll(batch));
  #pieces: KeptPiece[] = [];
  #writing: Promise<void> | undefined;
  #isFaulty = false;
  /** Whether its files have anything. */
  #isFilled = false;

  constructor(options: ServerOutboxOptions) {
    this.#options = options;
    const { path, gatewayId, database, durable } = options;
    this.#refused = new RefusedItems(path);
    this.#outbox = new WriteOutbox({
      path: outboxPath(path, gatewayId),
      database,
      durable,
      preparedBytes: PREPARED_BYTES,
      taken: () => this.taken(),
    });
  }

  /** Makes its files; without them, they are made with the first item. */
  async prepare(): Promise<void> {
    await this.#outbox.prepare().catch((error) => this.#fail(error));
  }

  /** Whether items can be kept, as far as is known. */
  get isUsable(): boolean {
    return !this.#isFaulty;
  }

  /** Items that were kept and that the server does not have. */
  get count(): number {
    return this.#pieces.reduce((sum, { count }) => sum + count, 0);
  }

  /** Whether there is something to {@linkcode empty}: what its files have may be at the server already. */
  get isToEmpty(): boolean {
    return this.#isFilled || this.#isFaulty || this.#pieces.length > 0;
  }

  /**
   * Keeps an item; resolves when it is durable.
   *
   * @throws If it cannot be kept: then it is not written.
   */
  async keepItem(write: Writing, item: JsonObject): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#gatherer.join({ write, item, done });
    await done.promise;
  }

  /** Has the server take what it acknowledged once more, as far as it lacks that: it comes before whatever is written from now on. */
  repeat({ write, items, count }: CommittedItems): void {
    this.#pass(write, items, count, true);
  }

  /**
   * Resolves when the server has all that was kept before the call.
   *
   * @throws {DatabaseError} If it does not take it; it is kept for the next call.
   */
  async taken(): Promise<void> {
    await this.#writing?.catch(() => {});
    if (this.#pieces.length > 0) {
      await (this.#writing ??= this.#writeAll().finally(() => this.#writing = undefined));
    }
    await this.#refused.keep();
  }

  /**
   * Writes what earlier gateways on the data directory have kept.
   *
   * @throws {DatabaseError} If the server does not take it: what was lent to them must not be released before.
   */
  async takeEarlier(writes: readonly Writing[], onlyDead: boolean): Promise<void> {
    const { path, database } = this.#options;
    await takeOutboxes({
      file: path,
      places: [path],
      database,
      writes,
      send: (write, items, count) => this.#pass(write, items, count),
      taken: () => this.taken(),
      forget: () => Promise.resolve(),
      refused: this.#refused.paths,
    }, { onlyDead });
    await this.taken();
  }

  /** Items that the server refused, and that nobody has dealt with yet. */
  async refused(): Promise<RefusedItem[]> {
    return await refusedItemsOf(this.#options.path, this.#options.database);
  }

  /** Lets go of its files; what the server does not have stays in them. */
  async close(): Promise<void> {
    await this.#gatherer.idle();
    await this.#outbox.close();
  }

  /** Has the server take what was kept, and empties the files. Failures are tried again with the next call. */
  async empty(): Promise<void> {
    await this.taken();
    this.#gatherer.join(EMPTY);
  }

  async #keepAll(batch: readonly (WaitingItem | typeof EMPTY)[]): Promise<void> {
    const waiting = batch.filter((one) => one !== EMPTY);
    if (waiting.length === 0) await this.#clear();
    for (const [write, all] of Map.groupBy(waiting, ({ write }) => write)) {
      const items = itemsOf(write, all.map(({ item }) => item));
      try {
        if (this.#isFaulty) await this.#restart();
        this.#isFilled = true;
        await this.#outbox.keepItems({ write: write.name, columns: write.columns ?? [], items });
      } catch (error) {
        this.#fail(error);
        for (const { done } of all) done.reject(error);
        continue;
      }
      this.#pass(write, items, all.length);
      for (const { done } of all) done.resolve();
    }
  }

  /** Empties the files, if the server has all. */
  async #clear(): Promise<void> {
    try {
      await this.taken();
    } catch {
      return; // the next look tries again
    }
    try {
      if (this.#isFaulty) await this.#restart();
      else await this.#outbox.clear();
      this.#isFilled = false;
    } catch (error) {
      this.#fail(error);
    }
  }

  async #restart(): Promise<void> {
    await this.#outbox.restart();
    await this.#outbox.prepare();
    this.#isFaulty = this.#isFilled = false;
    this.#options.onFault(undefined);
  }

  /** What its files have is harmless: it is at the server, or nobody was told that it was kept. */
  #fail(error: unknown): void {
    if (!this.#isFaulty) this.#options.onFault(error);
    this.#isFaulty = true;
  }

  #pass(of: Writing, items: string, count: number, isRepeated = false): void {
    const { name: write, statements, columns = [] } = of;
    const refused: Piece["refused"] = ({ item, code, message }) => {
      const error = { write, item: namedItem(item, columns), error: `${code}: ${message}` };
      this.#refused.note({ database: this.#options.database, ...error });
      this.#options.onRefused(error);
    };
    this.#pieces.push({ write, statements, items, count, refused, of, isRepeated });
  }

  async #writeAll(): Promise<void> {
    while (this.#pieces.length > 0) {
      const end = this.#pieces.findIndex(({ isRepeated }) => isRepeated);
      if (end === 0) {
        await this.#writeLost();
        continue;
      }
      const set = takeSet(this.#pieces.slice(0, end === -1 ? undefined : end));
      const [first] = set as [KeptPiece, ...KeptPiece[]];
      const args = [joinedItems(set.map(({ items }) => items))];
      let rest: KeptPiece[] = [];
      try {
        await this.#options.commit(first.statements.map((sql) => ({ sql, args })), true);
        this.#options.committed?.({ write: first.of, items: args[0]!, count: countOf(set) });
      } catch (error) {
        if (!(error instanceof DatabaseError) || !error.isAboutTheData) throw error;
        const { write, items } = first;
        const { code, message } = error;
        if (first.isAlone) first.refused({ write, item: items.slice(1, -1), code, message });
        else rest = set.flatMap(singly);
      }
      this.#pieces.splice(0, set.length, ...rest); // others came behind them meanwhile
    }
  }

  /** Leaves, of the first that are written once more, what the server has not: to ask takes a tenth of the time of writing. */
  async #writeLost(): Promise<void> {
    const [first] = this.#pieces as [KeptPiece, ...KeptPiece[]];
    const { of, of: { key = "", columns = [] } } = first;
    let [end, items] = [0, 0];
    for (const { isRepeated, write, count } of this.#pieces) {
      if (!isRepeated || write !== first.write) break;
      if (end > 0 && items + count > MAX_ASKED) break;
      items += count;
      end++;
    }
    const all = new Map(
      this.#pieces.slice(0, end)
        .flatMap((piece) => JSON.parse(piece.items) as Json[])
        .map((item) => namedItem(JSON.stringify(item), columns))
        .map((item) => [item[key], item]),
    );
    const keys = JSON.stringify([...all.keys()]);
    const text = await this.#options.read?.(of.outcomesLater ?? of.outcomes ?? "", keys) ?? "[]";
    for (const row of JSON.parse(String(text)) as JsonObject[]) all.delete(row[key]);
    const lost = [...all.values()].map((item) => of.late?.(item) ?? item);
    if (lost.length > 0) this.#options.onLost?.(lost.length);
    const rest = { ...first, items: itemsOf(of, lost), count: lost.length, isRepeated: false };
    this.#pieces.splice(0, end, ...(lost.length > 0 ? [rest] : []));
  }
}
