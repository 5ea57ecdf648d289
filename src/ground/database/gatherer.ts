import { endOfTurn } from "../platform/mod.ts";

/** Max items that are worked on together, so that no single commit takes long. */
const MAX_BATCH = 2_000;

/**
 * Gathers what concurrent requests want done. A batch begins as soon as the previous one is done, and takes everything that has arrived
 * meanwhile, and that arrives in the same turn of the event loop: most of what a batch costs does not depend on its size.
 */
export class Gatherer<Item> {
  readonly #work: (batch: readonly Item[]) => Promise<void>;
  #waiting: Item[] = [];
  #running: Promise<void> | undefined;

  /** @param work Does what a batch wants, and never rejects. */
  constructor(work: (batch: readonly Item[]) => Promise<void>) {
    this.#work = work;
  }

  /** Items that wait for the next batch. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Those items, in the order in which they came. */
  get items(): readonly Item[] {
    return this.#waiting;
  }

  /** Joins the next batch. */
  join(item: Item): void {
    this.#waiting.push(item);
    this.#running ??= this.#run();
  }

  /** Resolves when nothing waits and no batch is worked on. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await endOfTurn();
      await this.#work(this.#waiting.splice(0, MAX_BATCH));
    }
    this.#running = undefined;
  }
}
