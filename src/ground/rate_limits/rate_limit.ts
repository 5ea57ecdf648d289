/** What a rate limit allows. */
export interface RateLimitOptions {
  /** Units of one owner within `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
  readonly now: () => number;
  /** Tells the other threads of the process what was counted, where there are any. */
  readonly send?: ((owner: string, units: number) => void) | undefined;
}

/** Units that were counted at about the same time. */
interface Slot {
  readonly startMs: number;
  lastMs: number;
  units: number;
}

/** Parts of a window that are told apart. */
const SLOTS = 60;
/** Owners that are remembered; who was counted longest ago is forgotten first. */
const MAX_OWNERS = 50_000;

/**
 * Counts the units of each owner in a sliding window.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { RateLimit } from "./mod.ts";
 *
 * const tries = new RateLimit({ limit: 5, windowMs: 600_000, now: Date.now });
 * if (tries.waitMs("ada") === 0) tries.add("ada");
 * assertEquals(tries.waitMs("ada"), 0);
 * ```
 */
export class RateLimit {
  readonly #options: RateLimitOptions;
  #limit: number;
  /** Slots of each owner, oldest first. */
  readonly #slots = new Map<string, Slot[]>();

  constructor(options: RateLimitOptions) {
    this.#options = options;
    this.#limit = options.limit;
  }

  /** Units of one owner within the window. Units that are counted stay so when it changes. */
  get limit(): number {
    return this.#limit;
  }

  set limit(limit: number) {
    this.#limit = limit;
  }

  /** Counts units, whether the limit allows them or not. */
  add(owner: string, units = 1): void {
    this.onNews(owner, units);
    this.#options.send?.(owner, units);
  }

  /** Counts units that another thread has counted, and told. */
  onNews(owner: string, units: number): void {
    const { now, windowMs } = this.#options;
    const nowMs = now();
    const slots = this.#recent(owner, nowMs);
    const last = slots.at(-1);
    if (last !== undefined && nowMs - last.startMs < windowMs / SLOTS) {
      last.lastMs = nowMs;
      last.units += units;
    } else slots.push({ startMs: nowMs, lastMs: nowMs, units });
    this.#slots.delete(owner);
    if (this.#slots.size >= MAX_OWNERS) this.#slots.delete(this.#slots.keys().next().value!);
    this.#slots.set(owner, slots);
  }

  /** Takes the last unit back, as if it had not been counted. */
  undo(owner: string): void {
    const last = this.#slots.get(owner)?.at(-1);
    if (last !== undefined) last.units--;
  }

  /** Forgets an owner's units. */
  clear(owner: string): void {
    this.#slots.delete(owner);
  }

  /** Milliseconds until an owner is below the limit; 0 if it is. */
  waitMs(owner: string): number {
    if (!this.#slots.has(owner)) return 0;
    const { now, windowMs } = this.#options;
    const limit = this.#limit;
    const nowMs = now();
    const slots = this.#recent(owner, nowMs);
    let units = slots.reduce((sum, slot) => sum + slot.units, 0);
    for (const slot of slots) {
      if (units < limit) break;
      units -= slot.units;
      if (units < limit) return slot.lastMs + windowMs - nowMs;
    }
    return 0;
  }

  /** Slots that are within the window; a clock that was set back leaves none in the future. */
  #recent(owner: string, nowMs: number): Slot[] {
    const sinceMs = nowMs - this.#options.windowMs;
    return this.#slots.get(owner)?.filter(({ startMs, lastMs }) =>
      lastMs > sinceMs && startMs <= nowMs
    ) ?? [];
  }
}
