import { SlotMap } from "./slot_map.ts";

/** How exact these timers are. */
const TICK_MS = 20;

interface Entry {
  readonly atMs: number;
  readonly act: () => void;
}

/**
 * Timeouts that are nearly always cancelled before they fire, at the cost of an insertion into a
 * list: one interval serves all of them. They fire up to 20 ms late.
 */
export class CoarseTimers {
  readonly #entries = new SlotMap<Entry>();
  #interval: ReturnType<typeof setInterval> | undefined;
  #idleTicks = 0;

  /** Calls `act` after `ms`, unless the answer is called before. */
  after(ms: number, act: () => void): () => void {
    const entry = { atMs: performance.now() + ms, act };
    const place = this.#entries.add(entry);
    this.#interval ??= setInterval(this.#tick, TICK_MS);
    return () => void this.#entries.take(place, entry);
  }

  readonly #tick = () => {
    const now = performance.now();
    this.#entries.forEach((entry, place) => {
      if (entry.atMs > now) return;
      this.#entries.take(place);
      entry.act();
    });
    // An idle process has no interval running, and a busy one does not make it again each time.
    this.#idleTicks = this.#entries.size === 0 ? this.#idleTicks + 1 : 0;
    if (this.#idleTicks < 5) return;
    clearInterval(this.#interval);
    this.#interval = undefined;
    this.#idleTicks = 0;
  };

  /** Stops; what waits is forgotten. */
  close(): void {
    clearInterval(this.#interval);
    this.#interval = undefined;
    this.#entries.clear();
  }
}
