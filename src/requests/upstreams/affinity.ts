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
  toldAtMs: number;
}

/** Bounds of what is remembered. */
export interface AffinityLimits {
  readonly conversations: number;
  readonly idleMs: number;
}

/** What one thread tells the others: where a conversation was answered. Without a place, it may be answered anywhere. */
export interface AffinityNews {
  readonly conversation: string;
  readonly route: string;
  readonly place: Place | undefined;
}

/** Fraction of the idle time after which the other threads hear again of a conversation. */
const TOLD_AGAIN = 1 / 4;

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
  /** Tells the other threads of the process, where there are any. */
  send: ((news: AffinityNews) => void) | undefined;

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
    this.#remove(conversation);
    return undefined;
  }

  /** Notes where a conversation was answered. */
  remember(conversation: string, route: string, place: Place): void {
    const entry = this.#note(conversation, route, place);
    if (this.send === undefined || entry === undefined) return;
    entry.toldAtMs = entry.usedAtMs;
    this.send({ conversation, route, place });
  }

  /** Notes what another thread has told. */
  onNews({ conversation, route, place }: AffinityNews): void {
    if (place === undefined) this.#remove(conversation);
    else {
      const entry = this.#note(conversation, route, place);
      if (entry !== undefined) entry.toldAtMs = entry.usedAtMs;
    }
  }

  /** Returns the conversation's entry if the other threads do not know what it says. */
  #note(conversation: string, route: string, place: Place): Entry | undefined {
    const known = this.#entries.get(conversation);
    const usedAtMs = this.#now();
    const entry = known ?? { route, place, usedAtMs, toldAtMs: usedAtMs };
    const isNews = known === undefined || !isSame(known.place, place) ||
      usedAtMs - known.toldAtMs > this.#limits.idleMs * TOLD_AGAIN;
    if (known === undefined) this.#count(route, 1);
    else {
      known.place = place;
      known.usedAtMs = usedAtMs;
      this.#entries.delete(conversation);
    }
    this.#entries.set(conversation, entry);
    for (const [id, entry] of this.#entries) {
      const isIdle = usedAtMs - entry.usedAtMs > this.#limits.idleMs;
      if (!isIdle && this.#entries.size <= this.#limits.conversations) break;
      this.#remove(id);
    }
    return isNews ? entry : undefined;
  }

  /** Forgets a conversation: it may be answered anywhere. */
  forget(conversation: string): void {
    const route = this.#entries.get(conversation)?.route;
    if (route === undefined) return;
    this.#remove(conversation);
    this.send?.({ conversation, route, place: undefined });
  }

  #remove(conversation: string): void {
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

function isSame(one: Place, other: Place): boolean {
  return one.upstream === other.upstream && one.model === other.model && one.keyId === other.keyId;
}
