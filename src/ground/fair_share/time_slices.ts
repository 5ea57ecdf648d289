/** An owner that has used time, and work of it that waits. */
interface Owner {
  /** Time that it counts as having used, in milliseconds. */
  usedMs: number;
  readonly waiting: (() => void)[];
}

/**
 * Runs work of many owners, one piece at a time, so that each gets the same time: next is the owner that has used the least. One
 * with a thousand long pieces delays a short piece of another by one of its own.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { TimeSlices } from "./mod.ts";
 *
 * const slices = new TimeSlices();
 * const order: string[] = [];
 * const work = (name: string) => () => Promise.resolve(void order.push(name));
 * await Promise.all([
 *   slices.run("ada", work("ada 1")),
 *   slices.run("ada", work("ada 2")),
 *   slices.run("bob", work("bob 1")),
 * ]);
 * assertEquals(order, ["ada 1", "bob 1", "ada 2"]);
 * ```
 */
export class TimeSlices {
  readonly #owners = new Map<string, Owner>();
  /** What the owner has used that ran last: who comes new begins there. */
  #presentMs = 0;
  #isRunning = false;
  readonly #tick: () => number;

  /** @param tick Returns milliseconds that go on steadily. */
  constructor(tick: () => number = () => performance.now()) {
    this.#tick = tick;
  }

  /** Runs a piece of work when it is its owner's turn. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const owner = this.#ownerOf(name);
    if (this.#isRunning) await new Promise<void>((resolve) => owner.waiting.push(resolve));
    this.#isRunning = true;
    this.#presentMs = Math.max(this.#presentMs, owner.usedMs);
    const startedTick = this.#tick();
    try {
      return await work();
    } finally {
      // a piece is never free, however short it is
      owner.usedMs += Math.max(this.#tick() - startedTick, MIN_MS);
      this.#next();
    }
  }

  #ownerOf(name: string): Owner {
    const known = this.#owners.get(name);
    if (known !== undefined) {
      known.usedMs = Math.max(known.usedMs, this.#presentMs);
      return known;
    }
    const made: Owner = { usedMs: this.#presentMs, waiting: [] };
    this.#owners.set(name, made);
    return made;
  }

  #next(): void {
    let least: Owner | undefined;
    for (const [name, owner] of this.#owners) {
      if (owner.waiting.length > 0) {
        if (least === undefined || owner.usedMs < least.usedMs) least = owner;
      } else if (owner.usedMs <= this.#presentMs) this.#owners.delete(name);
    }
    const wake = least?.waiting.shift();
    if (wake === undefined) this.#isRunning = false;
    else wake();
  }
}

const MIN_MS = 0.05;
