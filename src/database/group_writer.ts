import { DatabaseError, type GroupWrite, type Json, type Statement } from "./database.ts";

/** Commits statements in one transaction; all of them or none. */
export type Commit = (statements: readonly Statement[]) => Promise<void>;

/** Items that wait at the most; beyond it writes are refused rather than memory filled. */
const MAX_WAITING = 100_000;
/** Items in one transaction at the most, so that no single commit takes long. */
const MAX_BATCH = 2_000;

interface Waiting {
  readonly write: GroupWrite<Json>;
  readonly item: Json;
  readonly done: PromiseWithResolvers<void>;
}

/** What the writer has done, for metrics and benchmarks. */
export interface WriterCounts {
  commits: number;
  items: number;
  waiting: number;
}

/**
 * Gathers what all concurrent requests want written and commits it together.
 *
 * A commit starts as soon as the previous one is done and takes everything that has arrived
 * meanwhile: latency is one commit, throughput grows with load, and full durability costs one
 * `fsync` for many requests.
 */
export class GroupWriter {
  readonly counts: WriterCounts = { commits: 0, items: 0, waiting: 0 };
  readonly #commit: Commit;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(commit: Commit) {
    this.#commit = commit;
  }

  /** Joins the next commit. */
  write<Item extends Json>(write: GroupWrite<Item>, item: Item): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(
        new DatabaseError(
          "SLUICE_QUEUE_FULL",
          `Cannot write ${write.name} as too many writes wait`,
        ),
      );
    }
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ write: write as GroupWrite<Json>, item, done });
    this.counts.waiting = this.#waiting.length;
    this.#running ??= this.#run();
    return done.promise;
  }

  /** Resolves when nothing waits and nothing runs. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // lets everything of this turn of the event loop join
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_BATCH);
      this.counts.waiting = this.#waiting.length;
      await this.#settle(batch);
    }
    this.#running = undefined;
  }

  async #settle(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#commit(statementsOf(batch));
      this.counts.commits++;
      this.counts.items += batch.length;
      for (const { done } of batch) done.resolve();
    } catch (error) {
      if (batch.length === 1) batch[0]!.done.reject(error);
      else if (isAboutTheData(error)) {
        for (const waiting of batch) await this.#settle([waiting]);
      } else for (const { done } of batch) done.reject(error);
    }
  }
}

/** One item can be at fault for a violated clause; a locked or full database fails for all alike. */
function isAboutTheData(error: unknown): boolean {
  return !(error instanceof DatabaseError) ||
    !/^(SQLITE_(BUSY|FULL|IOERR|CORRUPT|NOTADB|CANTOPEN|READONLY)|SLUICE_)/.test(error.code);
}

/** Items of the same write share its statements; writes keep the order of their first item. */
function statementsOf(batch: readonly Waiting[]): Statement[] {
  const groups = new Map<GroupWrite<Json>, Json[]>();
  for (const { write, item } of batch) {
    const items = groups.get(write);
    if (items === undefined) groups.set(write, [item]);
    else items.push(item);
  }
  return [...groups].flatMap(([write, items]) => {
    const args = [JSON.stringify(items)];
    return write.statements.map((sql) => ({ sql, args }));
  });
}
