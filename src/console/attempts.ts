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

/** What is remembered at the most, so that guessing cannot fill the memory. */
const MAX_REMEMBERED = 50_000;

/** Failed tries to sign in, by account and by address, and registrations by address; in memory. */
export class Attempts {
  readonly #now: () => number;
  readonly #failures = new Map<string, number[]>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds to wait before this account is tried from this address; 0 for none. */
  waitMs(email: string, address: string): number {
    return Math.max(...keys(email, address).map(([key, bound]) => this.#waitOf(key, bound)));
  }

  /** Notes a wrong password. */
  failed(email: string, address: string): void {
    for (const [key] of keys(email, address)) this.#note(key);
  }

  /** A right password: this try was none, and those before it were its owner's. */
  succeeded(email: string, address: string): void {
    const [pair, ...others] = keys(email, address).map(([key]) => key);
    this.#failures.delete(pair!);
    for (const key of others) {
      const times = this.#failures.get(key)?.slice(0, -1) ?? [];
      if (times.length === 0) this.#failures.delete(key);
      else this.#failures.set(key, times);
    }
  }

  /** Milliseconds until this address may register again; notes that it does when it is 0. */
  registerWaitMs(address: string): number {
    const key = `registers ${address}`;
    const wait = this.#waitOf(key, BOUNDS.registration);
    if (wait === 0) this.#note(key);
    return wait;
  }

  #note(key: string): void {
    if (this.#failures.size >= MAX_REMEMBERED) {
      this.#failures.delete(this.#failures.keys().next().value!);
    }
    const times = this.#failures.get(key) ?? [];
    this.#failures.delete(key); // what is used last is forgotten last
    this.#failures.set(key, [...times, this.#now()].slice(-BOUNDS.account.most));
  }

  #waitOf(key: string, { most, withinMs }: Bound): number {
    const now = this.#now();
    const recent = (this.#failures.get(key) ?? []).filter((at) => at > now - withinMs && at <= now);
    return recent.length < most ? 0 : recent.at(-most)! + withinMs - now;
  }
}

function keys(email: string, address: string): [string, Bound][] {
  return [
    [`${email} ${address}`, BOUNDS.pair],
    [address, BOUNDS.address],
    [email, BOUNDS.account],
  ];
}
