import {
  asUnknown,
  DatabaseError,
  type GroupWrite,
  type JsonObject,
  type ObserveCommit,
  type Row,
  type Statement,
} from "./database.ts";
import { wellFormedJson } from "../platform/mod.ts";
import { Gatherer } from "./gatherer.ts";
import { lockRows } from "../sql/mod.ts";

/**
 * Commits statements in one transaction, all of them or none.
 *
 * @param durable Whether it is to survive the loss of power before the promise resolves.
 * @returns Each one's rows.
 */
export type Commit = (statements: readonly Statement[], durable: boolean) => Promise<Row[][]>;

/** Maximum number of waiting items; beyond it writes are refused rather than memory filled. */
const MAX_WAITING = 100_000;

/** A write of any items and outcomes. */
export type AnyWrite = GroupWrite<JsonObject, unknown>;

/** A write, as far as what to do with its items. */
export type Writing =
  & Pick<AnyWrite, "name" | "statements">
  & Partial<Pick<AnyWrite, "key" | "columns" | "outcomes" | "outcomesLater" | "late">>;

/** Items of a write that were committed together. */
export interface CommittedItems {
  readonly write: Writing;
  /** A JSON array, as it was sent. */
  readonly items: string;
  readonly count: number;
}

/** Told of what was acknowledged. */
export type Committed = (items: CommittedItems) => void;

interface Waiting {
  readonly write: AnyWrite;
  readonly item: JsonObject;
  readonly done: PromiseWithResolvers<unknown>;
}

/**
 * Gathers what all concurrent requests want written and commits it together.
 *
 * A commit starts as soon as the previous one is done, and durable if it had to be, and takes everything that has
 * arrived meanwhile: latency is one commit, throughput grows with load, and full durability costs one `fsync` for many
 * requests. Two commits at a time were slower: they halve the batches.
 */
export class GroupWriter {
  readonly #commit: Commit;
  readonly #observe: ObserveCommit | undefined;
  readonly #locksFirst: boolean;
  readonly #committed: Committed | undefined;
  readonly #gatherer = new Gatherer<Waiting>((batch) => this.#settle(batch));

  /**
   * @param observe Told of every commit.
   * @param options.locksFirst Whether other writers' transactions are made beside those of this one.
   */
  constructor(
    commit: Commit,
    observe?: ObserveCommit,
    { locksFirst = false, committed }: {
      readonly locksFirst?: boolean;
      readonly committed?: Committed;
    } = {},
  ) {
    this.#commit = commit;
    this.#observe = observe;
    this.#locksFirst = locksFirst;
    this.#committed = committed;
  }

  /** Items that wait for a commit. */
  get waiting(): number {
    return this.#gatherer.waiting;
  }

  /** Joins the next commit; resolves after it with what became of the item. */
  write<Item extends JsonObject, Outcome>(
    write: GroupWrite<Item, Outcome>,
    item: Item,
  ): Promise<Outcome> {
    if (this.waiting >= MAX_WAITING) {
      return Promise.reject(
        new DatabaseError(
          "SLUICE_QUEUE_FULL",
          `Cannot write ${write.name} as too many writes wait`,
        ),
      );
    }
    const done = Promise.withResolvers<unknown>();
    // what a write's items and outcomes are is known to its caller only
    this.#gatherer.join({ write: write as unknown as AnyWrite, item, done });
    return done.promise as Promise<Outcome>;
  }

  /** Resolves when nothing waits for a commit and none runs. */
  async idle(): Promise<void> {
    await this.#gatherer.idle();
  }

  async #settle(batch: readonly Waiting[], isRepeated = false): Promise<void> {
    const groups = groupsOf(batch);
    const durable = groups.some(({ write }) => !write.forgettable);
    const startedTick = performance.now();
    const observe = (failed: boolean) => {
      const seconds = (performance.now() - startedTick) / 1_000;
      this.#observe?.({ durable, seconds, items: batch.length, failed });
    };
    let rows: Row[][];
    try {
      const locks = this.#locksFirst ? locksOf(groups) : [];
      const writes = groups.flatMap(({ statements }) => statements);
      rows = (await this.#commit([...locks, ...writes], durable)).slice(locks.length);
    } catch (error) {
      observe(true);
      await this.#failed(batch, error, isRepeated);
      return;
    }
    // outside of the try: what is committed is never tried again
    observe(false);
    let at = 0;
    for (const group of groups) {
      this.#committed?.({ write: group.write, items: group.items, count: group.all.length });
      const end = at + group.statements.length;
      resolve(group, rows.slice(at, end));
      at = end;
    }
  }

  async #failed(batch: readonly Waiting[], error: unknown, isRepeated: boolean): Promise<void> {
    if (!(error instanceof DatabaseError) || error.isAboutTheData) {
      if (batch.length === 1) batch[0]!.done.reject(error);
      else for (const waiting of batch) await this.#settle([waiting]);
      return;
    }
    // An answer that was lost: the same again finds out, where that does no harm.
    const mayRepeat = !isRepeated && error instanceof DatabaseError && error.outcomeUnknown;
    const again: Waiting[] = [];
    for (const waiting of batch) {
      if (mayRepeat && waiting.write.repeatable) again.push(waiting);
      // whether the first attempt of a repetition was done is as unknown as before
      else waiting.done.reject(isRepeated ? asUnknown(error) : error);
    }
    if (again.length > 0) await this.#settle(again, true);
  }
}

/** Items of one write. */
interface Group {
  readonly write: AnyWrite;
  readonly all: readonly Waiting[];
  /** A JSON array. */
  readonly items: string;
  readonly statements: readonly Statement[];
}

/** Locks what the items of all groups need to themselves, a table's rows in the order of their keys. */
function locksOf(groups: readonly Group[]): Statement[] {
  if (groups.length === 1 && groups[0]!.write.locksItself) return [];
  const locks = groups.flatMap(({ write, items }) =>
    (write.locks ?? []).map((lock) => ({ lock, items }))
  );
  return [...Map.groupBy(locks, ({ lock }) => lock.table)].map(([table, all]) => {
    const { key } = all[0]!.lock;
    const rows = all.map(({ lock }, at) => lock.rows(`?${at + 1}`)).join(" union ");
    return {
      sql: lockRows({ table, key, rows }),
      args: all.map(({ items }) => items),
    };
  });
}

/** Items of the same write share its statements; writes keep the order of their first item. */
function groupsOf(batch: readonly Waiting[]): Group[] {
  const byWrite = Map.groupBy(batch, ({ write }) => write);
  return [...byWrite].map(([write, all]) => {
    const items = itemsOf(write, all.map(({ item }) => item));
    const args = [items];
    const keys = () => [wellFormedJson(all.map(({ item }) => item[write.key]))];
    return {
      write,
      all,
      items,
      statements: [
        ...write.statements.map((sql) => ({ sql, args })),
        ...(write.outcomes === undefined
          ? []
          : [{ sql: write.outcomes, args: keys(), first: true }]),
        ...(write.cleanUp === undefined ? [] : [{ sql: write.cleanUp }]),
      ],
    };
  });
}

/**
 * Items as the statements of their write take them: a JSON array. SQLite makes invalid UTF-8 of the escape of half a character, and such
 * a text ends the process that reads it (libsql 0.5).
 */
export function itemsOf(
  { columns }: Pick<Writing, "columns">,
  items: readonly JsonObject[],
): string {
  return wellFormedJson(
    columns === undefined
      ? items
      : items.map((item) => columns.map((column) => item[column] ?? null)),
  );
}

/** Tells each item what became of it. */
function resolve({ write, all }: Group, rows: readonly Row[][]): void {
  if (write.outcomes === undefined) {
    for (const { done } of all) done.resolve(undefined);
    return;
  }
  const last = rows.findLast(({ length }) => length > 0)?.[0];
  const [text] = Object.values(last ?? {});
  const outcomes = new Map(
    (JSON.parse(String(text ?? "[]")) as JsonObject[]).map((row) => [row[write.key], row]),
  );
  for (const { item, done } of all) {
    try {
      done.resolve(write.read?.(outcomes.get(item[write.key])));
    } catch (error) {
      done.reject(error);
    }
  }
}
