/** A number of tries within a time. */
interface Bound {
  readonly most: number;
  readonly withinMs: number;
}

/**
 * Bounds of wrong passwords. Whoever guesses from one place is stopped after a few; guessing at one
 * account from many places is slowed down. A sign-in link is never bounded, so that nobody can lock
 * the owner out by guessing.
 */
const BOUNDS = {
  pair: { most: 5, withinMs: 10 * 60_000 },
  address: { most: 30, withinMs: 10 * 60_000 },
  account: { most: 60, withinMs: 60 * 60_000 },
  /** Every account begins with credits, so making them is bounded as well. */
  registration: { most: 10, withinMs: 60 * 60_000 },
} as const satisfies Record<string, Bound>;

/** What is remembered of each kind, so that guessing cannot fill the memory. */
const MAX_REMEMBERED = 50_000;

type Kind = keyof typeof BOUNDS;

/** Failed tries to sign in, by account and by address, and registrations by address; in memory. */
export class Attempts {
  readonly #now: () => number;
  /** A table for each kind: many tries of one kind make none of another forgotten. */
  readonly #times: Readonly<Record<Kind, Map<string, number[]>>> = {
    pair: new Map(),
    address: new Map(),
    account: new Map(),
    registration: new Map(),
  };

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds to wait before this account is tried from this address; 0 for none. */
  waitMs(email: string, address: string): number {
    return Math.max(...keys(email, address).map(([kind, key]) => this.#waitOf(kind, key)));
  }

  /** Notes a wrong password. */
  failed(email: string, address: string): void {
    for (const [kind, key] of keys(email, address)) this.#note(kind, key);
  }

  /** A right password: this try was none, and those before it were its owner's. */
  succeeded(email: string, address: string): void {
    for (const [kind, key] of keys(email, address)) {
      const times = kind === "pair" ? [] : this.#times[kind].get(key)?.slice(0, -1) ?? [];
      if (times.length === 0) this.#times[kind].delete(key);
      else this.#times[kind].set(key, times);
    }
  }

  /** Milliseconds until this address may register again; notes that it does when it is 0. */
  registerWaitMs(address: string): number {
    const wait = this.#waitOf("registration", address);
    if (wait === 0) this.#note("registration", address);
    return wait;
  }

  #note(kind: Kind, key: string): void {
    const table = this.#times[kind];
    if (table.size >= MAX_REMEMBERED) table.delete(table.keys().next().value!);
    const times = table.get(key) ?? [];
    table.delete(key); // what is used last is forgotten last
    table.set(key, [...times, this.#now()].slice(-BOUNDS[kind].most));
  }

  #waitOf(kind: Kind, key: string): number {
    const { most, withinMs } = BOUNDS[kind];
    const now = this.#now();
    const recent = (this.#times[kind].get(key) ?? [])
      .filter((at) => at > now - withinMs && at <= now);
    return recent.length < most ? 0 : recent.at(-most)! + withinMs - now;
  }
}

function keys(email: string, address: string): [Kind, string][] {
  return [
    ["pair", `${email} ${address}`],
    ["address", address],
    ["account", email],
  ];
}
