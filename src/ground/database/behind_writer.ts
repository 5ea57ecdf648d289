import { asUnknown, type JsonObject, type ObserveCommit } from "./database.ts";
import { Gatherer } from "./gatherer.ts";
import { itemsOf, type Writing } from "./group_writer.ts";
import type { WriteOutbox } from "./outbox.ts";

/** What a {@linkcode BehindWriter} goes by. */
export interface BehindOptions {
  readonly outbox: WriteOutbox;
  /** Passes items on to the database, which has them before it reads anything. */
  readonly send: (write: Writing, items: string, count: number) => void;
  /** Resolves when the database has for good what was passed on before the call. */
  readonly taken: () => Promise<void>;
  readonly observe?: ObserveCommit | undefined;
  /** Called when nothing can be kept, and when it can be again. */
  readonly onFault?: ((fault: unknown) => void) | undefined;
}

/** An item that waits until it is durable. */
export interface WaitingItem {
  readonly write: Writing;
  readonly item: JsonObject;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * Writes that are durable before the database has them. What all concurrent requests want written is passed on to the database, and is
 * kept in an outbox until that has it: a caller waits for the outbox. While the outbox fails, it is the database that is waited for.
 */
export class BehindWriter {
  readonly #options: BehindOptions;
  readonly #gatherer = new Gatherer<WaitingItem>((batch) => this.#keepAll(batch));
  /** Items that wait and were passed on already: the first ones. */
  #passed = 0;
  #isFaulty = false;
  /** Whether the outbox has something that is to go as soon as the database has the rest. */
  #isStale = false;

  constructor(options: BehindOptions) {
    this.#options = options;
  }

  /** Whether items can be kept, as far as is known. */
  get isUsable(): boolean {
    return !this.#isFaulty;
  }

  /** Items that wait. */
  get waiting(): number {
    return this.#gatherer.waiting;
  }

  /** Resolves when the item is durable. */
  write(write: Writing, item: JsonObject): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#gatherer.join({ write, item, done });
    return done.promise;
  }

  /**
   * Passes on items that wait while the outbox is busy, so that the next query sees them.
   */
  passOn(): void {
    const { items } = this.#gatherer;
    if (this.#passed === items.length) return;
    this.#send(groupsOf(items.slice(this.#passed)));
    this.#passed = items.length;
  }

  /** Has the outbox begin again with the next items, as it has some that are not to be tried any more. */
  renewOutbox(): void {
    this.#isStale = true;
  }

  /** Lets go of the outbox, once nothing waits. */
  async close(): Promise<void> {
    await this.#gatherer.idle();
    await this.#options.outbox.close();
  }

  async #keepAll(batch: readonly WaitingItem[]): Promise<void> {
    const groups = groupsOf(batch);
    const passed = Math.min(this.#passed, batch.length);
    this.#passed -= passed;
    this.#send(passed === 0 ? groups : groupsOf(batch.slice(passed)));
    for (const group of groups) await this.#keep(group);
  }

  #send(groups: readonly Group[]): void {
    for (const { write, all, items } of groups) this.#options.send(write, items, all.length);
  }

  async #keep({ write, all, items }: Group): Promise<void> {
    const { taken, observe } = this.#options;
    const startedTick = performance.now();
    let fault: unknown;
    try {
      if (!await this.#append(write, items)) await taken();
    } catch (error) {
      fault = error;
    }
    const seconds = (performance.now() - startedTick) / 1_000;
    const failed = fault !== undefined;
    observe?.({ durable: true, seconds, items: all.length, failed });
    for (const { done } of all) {
      if (failed) done.reject(asUnknown(fault)); // the items may come to the database all the same
      else done.resolve();
    }
  }

  /** Returns whether the outbox has kept the items. */
  async #append(write: Writing, items: string): Promise<boolean> {
    const { outbox, onFault } = this.#options;
    try {
      if (this.#isFaulty || this.#isStale) await outbox.restart();
      this.#isStale = false;
      await outbox.keepItems({ write: write.name, columns: write.columns ?? [], items });
      if (this.#isFaulty) onFault?.(undefined);
      this.#isFaulty = false;
      return true;
    } catch (error) {
      if (!this.#isFaulty) onFault?.(error);
      this.#isFaulty = true;
      return false;
    }
  }
}

/** Items of one write. */
interface Group {
  readonly write: Writing;
  readonly all: readonly WaitingItem[];
  /** As its statements take them. */
  readonly items: string;
}

function groupsOf(batch: readonly WaitingItem[]): Group[] {
  return [...Map.groupBy(batch, ({ write }) => write)]
    .map(([write, all]) => ({ write, all, items: itemsOf(write, all.map(({ item }) => item)) }));
}
