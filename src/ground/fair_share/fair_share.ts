import type { CoarseTimers } from "../platform/mod.ts";
import { Refusal } from "../refusal.ts";
import { RoundRobin } from "./round_robin.ts";
import type { SharedUse, UseLimits } from "./shared_use.ts";

/** The size of a pool. */
export interface FairShareSize {
  /** Total units. */
  readonly capacity: number;
  /** Max units that one account may hold, capped at `capacity`. */
  readonly perAccount: number;
  /** Max time to wait for units, in milliseconds; 0 rejects immediately. */
  readonly waitMs: number;
}

/** What a pool is of, and its first size. */
export interface FairShareOptions extends FairShareSize {
  /** Plural name of the resource for error messages: `large request bodies`. */
  readonly resource: string;
  /** Name of the owner of a share for error messages. Default: `account`. */
  readonly owner?: "account" | "API key";
  readonly timers: CoarseTimers;
  /** What all threads of the process use of it; without, the pool is this thread's alone. */
  readonly shared?: SharedUse | undefined;
}

/** Units held by one request. Disposing releases them. */
export interface Share extends Disposable {
  /** Units held now. */
  readonly units: number;
  /**
   * Raises the share to `units`. Growing takes precedence over new shares of the same account.
   *
   * @param signal Ends the wait and rejects with its reason.
   * @throws {Refusal} `gateway_unavailable` if the units are not free in time.
   */
  grow(units: number, signal?: AbortSignal): Promise<void>;
  /** Returns all but `units` to the pool. */
  shrink(units: number): void;
  /** Returns all units to the pool. Later calls do nothing. */
  release(): void;
}

interface Waiter {
  readonly share: PooledShare;
  readonly units: number;
  readonly granted: () => void;
}

/** Waiting requests use memory, too: for their connection and the bytes received so far. */
const MAX_WAITING_PER_ACCOUNT = 128;
const RETRY_AFTER_MS = 2_000;
/** Accounts without units are removed once the table is larger than this. */
const MAX_IDLE_ACCOUNTS = 1_000;
/** Interval at which waiting requests look for units that other threads have returned. */
const LOOK_MS = 20;

/**
 * A pool of a scarce resource that no account can exhaust alone.
 *
 * Units are taken in the order of requests, but account by account: an account with a thousand waiting requests
 * delays another account by one.
 */
export class FairShare {
  readonly #options: FairShareOptions;
  #size: FairShareSize;
  /** Units in use. */
  #used = 0;
  /** Units held by account. */
  readonly #held = new Map<string, number>();
  readonly #waiting = new RoundRobin<Waiter>();
  #isLooking = false;

  constructor(options: FairShareOptions) {
    this.#options = options;
    this.#size = options;
  }

  /** Changes the size. Shares that are held remain, even if they are more than the new size; new ones wait for them. */
  resize(size: FairShareSize): void {
    this.#size = size;
    this.#serve();
  }

  get #perAccount(): number {
    return Math.min(this.#size.perAccount, this.#size.capacity);
  }

  /** Units in use, by all threads of the process if they share the pool. */
  get used(): number {
    return this.#options.shared?.used ?? this.#used;
  }

  get #limits(): UseLimits {
    return { capacity: this.#size.capacity, perAccount: this.#perAccount };
  }

  /** Number of requests waiting for units. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Takes units, and waits for them if needed.
   *
   * @param account ID of the account that is charged with the units.
   * @param units Number of units; more than an account's share takes the whole share.
   * @param signal Aborted when the caller disconnects: ends the wait, and rejects with the signal's reason.
   * @returns The share; release it when the work is done.
   * @throws {Refusal} `gateway_unavailable` if the units are not free in time.
   */
  async take(account: string, units: number, signal?: AbortSignal): Promise<Share> {
    const share = new PooledShare(this, account);
    await this.raise(share, units, { first: false, signal });
    return share;
  }

  /**
   * Takes units without waiting.
   *
   * @param account ID of the account that is charged with the units.
   * @returns The share; release it when the work is done.
   * @throws {Refusal} `gateway_unavailable` if the units are not free now.
   */
  takeNow(account: string, units: number): Share {
    const share = new PooledShare(this, account);
    if (!this.#grant(share, units)) throw this.#exhausted(account, units);
    return share;
  }

  /** Raises a share of this pool. Called by shares only. */
  raise(
    share: PooledShare,
    wanted: number,
    { first, signal }: { readonly first: boolean; readonly signal: AbortSignal | undefined },
  ): Promise<void> {
    const to = Math.min(wanted, this.#perAccount);
    if (to <= share.units) return Promise.resolve();
    if (signal?.aborted) return Promise.reject(signal.reason);
    const overtakes = first || this.#waiting.size === 0;
    if (overtakes && this.#grant(share, to)) return Promise.resolve();
    const mayWait = this.#size.waitMs > 0 &&
      this.#waiting.sizeOf(share.account) < MAX_WAITING_PER_ACCOUNT;
    if (!mayWait) return Promise.reject(this.#exhausted(share.account, to));
    return this.#wait(share, to, first, signal);
  }

  /** Lowers a share of this pool. Called by shares only. */
  lower(share: PooledShare, to: number): void {
    const { account } = share;
    const returned = share.units - to;
    this.#options.shared?.lower(account, { from: share.units, to });
    this.#used -= returned;
    share.units = to;
    this.#held.set(account, this.#held.get(account)! - returned);
    if (this.#held.size > MAX_IDLE_ACCOUNTS) {
      for (const [one, units] of this.#held) if (units === 0) this.#held.delete(one);
    }
    this.#serve();
  }

  #wait(
    share: PooledShare,
    units: number,
    first: boolean,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { account } = share;
    const { timers } = this.#options;
    const { waitMs } = this.#size;
    return new Promise((resolve, reject) => {
      const end = () => {
        dismiss();
        signal?.removeEventListener("abort", abort);
      };
      const giveUp = (reason: unknown) => {
        end();
        this.#waiting.remove(account, waiter);
        this.#serve(); // smaller requests may have waited behind this one
        reject(reason);
      };
      const abort = () => giveUp(signal!.reason);
      const dismiss = timers.after(waitMs, () => giveUp(this.#exhausted(account, units)));
      signal?.addEventListener("abort", abort);
      const waiter: Waiter = {
        share,
        units,
        granted: () => {
          end();
          resolve();
        },
      };
      this.#waiting.add(account, waiter, { first });
      this.#serve(); // everyone ahead may be waiting for their own account's share
    });
  }

  #fits({ account, units: has }: PooledShare, units: number): "yes" | "account" | "pool" {
    const more = units - has;
    const { shared } = this.#options;
    if (shared !== undefined) return shared.fits(account, more, this.#limits);
    if ((this.#held.get(account) ?? 0) + more > this.#perAccount) return "account";
    return more > this.#size.capacity - this.#used ? "pool" : "yes";
  }

  #grant(share: PooledShare, units: number): boolean {
    const { shared } = this.#options;
    const fits = shared === undefined
      ? this.#fits(share, units)
      : shared.raise(share.account, { from: share.units, to: units }, this.#limits);
    if (fits !== "yes") return false;
    const more = units - share.units;
    this.#used += more;
    this.#held.set(share.account, (this.#held.get(share.account) ?? 0) + more);
    share.units = units;
    return true;
  }

  /** Serves waiting requests, account by account. A request that waits for the pool is never overtaken. */
  #serve(): void {
    while (this.#waiting.size > 0) {
      const next = this.#waiting.take(({ share, units }) => {
        const fits = this.#fits(share, units);
        return fits === "pool" ? "stop" : fits === "yes";
      });
      if (next === undefined) return this.#look();
      if (this.#grant(next.share, next.units)) next.granted();
      else { // another thread was quicker
        this.#waiting.add(next.share.account, next, { first: true });
        return this.#look();
      }
    }
  }

  /** Looks again soon: other threads do not tell what they return. */
  #look(): void {
    if (this.#options.shared === undefined || this.#isLooking) return;
    this.#isLooking = true;
    this.#options.timers.after(LOOK_MS, () => {
      this.#isLooking = false;
      this.#serve();
    });
  }

  #exhausted(account: string, units: number): Refusal {
    const { resource, owner = "account" } = this.#options;
    const held = this.#held.get(account) ?? 0;
    const own = this.#options.shared?.fits(account, units, this.#limits) === "account" ||
      held + units > this.#perAccount;
    return new Refusal(
      "gateway_unavailable",
      `Too many ${resource} in progress${own ? ` for this ${owner}` : ""}. Please try again.`,
      { retryAfterMs: RETRY_AFTER_MS },
    );
  }
}

class PooledShare implements Share {
  readonly #pool: FairShare;
  readonly account: string;
  units = 0;

  constructor(pool: FairShare, account: string) {
    this.#pool = pool;
    this.account = account;
  }

  grow(units: number, signal?: AbortSignal): Promise<void> {
    return this.#pool.raise(this, units, { first: true, signal });
  }

  shrink(units: number): void {
    if (units < this.units) this.#pool.lower(this, units);
  }

  release(): void {
    this.shrink(0);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
