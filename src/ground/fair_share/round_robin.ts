/**
 * A queue per owner, served in turn: an owner with a thousand items delays another owner's item by one, not by a
 * thousand.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { RoundRobin } from "./mod.ts";
 *
 * const queue = new RoundRobin<number>();
 * queue.add("ada", 1);
 * queue.add("ada", 2);
 * queue.add("bob", 3);
 * assertEquals([queue.take(), queue.take(), queue.take()], [1, 3, 2]);
 * ```
 */
export class RoundRobin<Item> {
  /** Queues in the order of their next turn. */
  readonly #queues = new Map<string, Item[]>();
  #size = 0;

  /** Number of items in all queues. */
  get size(): number {
    return this.#size;
  }

  /**
   * Counts the items of one owner.
   *
   * @returns The number of queued items.
   */
  sizeOf(owner: string): number {
    return this.#queues.get(owner)?.length ?? 0;
  }

  /**
   * Adds an item to its owner's queue.
   *
   * @param first Whether to put it before the owner's other items.
   */
  add(owner: string, item: Item, { first = false }: { readonly first?: boolean } = {}): void {
    const queue = this.#queues.get(owner);
    if (queue === undefined) this.#queues.set(owner, [item]);
    else if (first) queue.unshift(item);
    else queue.push(item);
    this.#size++;
  }

  /**
   * Removes and returns the next item.
   *
   * @param accepts Called with the first item of each owner. `false` skips the owner, who keeps the turn; `"stop"`
   *   ends the search.
   * @returns The item, or `undefined` if none was accepted.
   */
  take(accepts: (item: Item, owner: string) => boolean | "stop" = () => true): Item | undefined {
    for (const [owner, queue] of this.#queues) {
      const accepted = accepts(queue[0]!, owner);
      if (accepted === "stop") return undefined;
      if (!accepted) continue;
      const item = queue.shift()!;
      this.#size--;
      this.#queues.delete(owner);
      if (queue.length > 0) this.#queues.set(owner, queue); // behind the others
      return item;
    }
    return undefined;
  }

  /** Removes an item from its owner's queue; does nothing if it is no longer queued. */
  remove(owner: string, item: Item): void {
    const queue = this.#queues.get(owner);
    const at = queue?.indexOf(item) ?? -1;
    if (at < 0) return;
    queue!.splice(at, 1);
    this.#size--;
    if (queue!.length === 0) this.#queues.delete(owner);
  }
}
