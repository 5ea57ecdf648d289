/** A max number of attempts within a time. */
interface Bound {
  readonly most: number;
  readonly withinMs: number;
}

/**
 * Limits on wrong passwords. Guessing from one address is stopped after a few attempts; guessing at one account from
 * many addresses is slowed down. Sign-in links are not limited, so that nobody can lock the owner out.
 */
const BOUNDS = {
  pair: { most: 5, withinMs: 10 * 60_000 },
  address: { most: 30, withinMs: 10 * 60_000 },
  account: { most: 60, withinMs: 60 * 60_000 },
  /** New accounts get credits, so registering is limited as well. */
  registration: { most: 10, withinMs: 60 * 60_000 },
} as const satisfies Record<string, Bound>;

/** Max entries per kind, so that guessing cannot exhaust memory. */
const MAX_REMEMBERED = 50_000;

type Kind = keyof typeof BOUNDS;

/** Counts failed sign-ins by account and address, and registrations by address, in memory. */
export class Attempts {
  readonly #now: () => number;
  /** One table per kind, so that many attempts of one kind do not evict those of another. */
  readonly #times: Readonly<Record<Kind, Map<string, number[]>>> = {
    pair: new Map(),
    address: new Map(),
    account: new Map(),
    registration: new Map(),
  };

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns how long this address must wait before it may sign in to this account, in milliseconds. */
  waitMs(email: string, address: string): number {
    return Math.max(...keys(email, address).map(([kind, key]) => this.#waitOf(kind, key)));
  }

  /** Records a failed attempt. */
  failed(email: string, address: string): void {
    for (const [kind, key] of keys(email, address)) this.#note(kind, key);
  }

  /** Removes the attempt that succeeded, and earlier ones of this pair, which were the owner's. */
  succeeded(email: string, address: string): void {
    for (const [kind, key] of keys(email, address)) {
      const times = kind === "pair" ? [] : this.#times[kind].get(key)?.slice(0, -1) ?? [];
      if (times.length === 0) this.#times[kind].delete(key);
      else this.#times[kind].set(key, times);
    }
  }

  /** Returns how long this address must wait before it may register, in milliseconds. Records an attempt if 0. */
  registerWaitMs(address: string): number {
    const wait = this.#waitOf("registration", address);
    if (wait === 0) this.#note("registration", address);
    return wait;
  }

  #note(kind: Kind, key: string): void {
    const table = this.#times[kind];
    if (table.size >= MAX_REMEMBERED) table.delete(table.keys().next().value!);
    const times = table.get(key) ?? [];
    table.delete(key); // least recently used entries are evicted first
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
