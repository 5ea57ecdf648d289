/** Where a conversation was answered last. */
export interface Place {
  readonly upstream: string;
  readonly model: string;
  /** The key that was used, by its hash; undefined at an upstream without several keys. */
  readonly keyId: string | undefined;
}

interface Entry {
  readonly route: string;
  place: Place;
  usedAtMs: number;
}

/** Bounds of what is remembered. */
export interface AffinityLimits {
  readonly conversations: number;
  readonly idleMs: number;
}

const LIMITS: AffinityLimits = { conversations: 20_000, idleMs: 3_600_000 };

/**
 * Remembers where conversations were answered last, so that an upstream's prompt cache is hit again. It holds hashes and
 * names from the settings, nothing that was said. Bounded: the conversation that was used longest ago is forgotten first,
 * and any after an idle hour.
 */
export class Affinity {
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  /** Remembered conversations of each route. */
  readonly #byRoute = new Map<string, number>();
  readonly #now: () => number;
  readonly #limits: AffinityLimits;

  constructor(now: () => number, limits: AffinityLimits = LIMITS) {
    this.#now = now;
    this.#limits = limits;
  }

  /** Number of remembered conversations. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether any conversation of a route is remembered: otherwise none needs to be identified. */
  knows(route: string): boolean {
    return this.#byRoute.has(route);
  }

  /** Where a conversation was answered last; undefined if that is not known, or was too long ago. */
  placeOf(conversation: string): Place | undefined {
    const entry = this.#entries.get(conversation);
    if (entry === undefined) return undefined;
    if (this.#now() - entry.usedAtMs <= this.#limits.idleMs) return entry.place;
    this.forget(conversation);
    return undefined;
  }

  /** Notes where a conversation was answered. */
  remember(conversation: string, route: string, place: Place): void {
    const known = this.#entries.get(conversation);
    const usedAtMs = this.#now();
    if (known === undefined) {
      this.#count(route, 1);
      this.#entries.set(conversation, { route, place, usedAtMs });
    } else {
      known.place = place;
      known.usedAtMs = usedAtMs;
      this.#entries.delete(conversation);
      this.#entries.set(conversation, known);
    }
    for (const [id, entry] of this.#entries) {
      const isIdle = usedAtMs - entry.usedAtMs > this.#limits.idleMs;
      if (!isIdle && this.#entries.size <= this.#limits.conversations) break;
      this.forget(id);
    }
  }

  /** Forgets a conversation. */
  forget(conversation: string): void {
    const entry = this.#entries.get(conversation);
    if (entry === undefined) return;
    this.#entries.delete(conversation);
    this.#count(entry.route, -1);
  }

  #count(route: string, change: number): void {
    const count = (this.#byRoute.get(route) ?? 0) + change;
    if (count === 0) this.#byRoute.delete(route);
    else this.#byRoute.set(route, count);
  }
}
