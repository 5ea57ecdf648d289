/**
 * Queues of several owners, taken from in turn: an owner with a thousand items delays another owner's
 * item by one, not by a thousand.
 *
 * @example
 * ```ts
 * import { RoundRobin } from "./mod.ts";
 *
 * const queue = new RoundRobin<number>();
 * queue.add("ada", 1);
 * queue.add("ada", 2);
 * queue.add("bob", 3);
 * [queue.take(), queue.take(), queue.take()]; // [1, 3, 2]
 * ```
 */
export class RoundRobin<Item> {
  /** In the order of their next turn. */
  readonly #queues = new Map<string, Item[]>();
  #size = 0;

  /** Items in all queues. */
  get size(): number {
    return this.#size;
  }

  /** Items of one owner. */
  sizeOf(owner: string): number {
    return this.#queues.get(owner)?.length ?? 0;
  }

  /**
   * Queues an item.
   *
   * @param first Whether it comes before the owner's other items.
   */
  add(owner: string, item: Item, { first = false }: { readonly first?: boolean } = {}): void {
    const queue = this.#queues.get(owner);
    if (queue === undefined) this.#queues.set(owner, [item]);
    else if (first) queue.unshift(item);
    else queue.push(item);
    this.#size++;
  }

  /**
   * Takes the next item.
   *
   * @param accepts Owners whose first item it rejects keep their turn; `"stop"` ends the search.
   * @returns undefined when there is none.
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

  /** Removes an item, if it is still queued. */
  remove(owner: string, item: Item): void {
    const queue = this.#queues.get(owner);
    const at = queue?.indexOf(item) ?? -1;
    if (at < 0) return;
    queue!.splice(at, 1);
    this.#size--;
    if (queue!.length === 0) this.#queues.delete(owner);
  }
}
