import { RateLimit } from "../../ground/rate_limits/mod.ts";
import { MINUTE_MS } from "../../ground/time.ts";
import type { PageRequest } from "./request.tsx";

/**
 * Failed attempts to sign in, by account and by address, and registrations by address; in memory.
 *
 * Guessing from one address is stopped after a few attempts; guessing at one account from many is slowed down.
 * A sign-in link is never bounded, so that nobody can lock the owner out by guessing.
 */
export class Attempts {
  readonly #pair: RateLimit;
  readonly #address: RateLimit;
  readonly #account: RateLimit;
  /** Every account begins with credits, so making them is bounded as well. */
  readonly #registration: RateLimit;

  constructor(now: () => number) {
    this.#pair = new RateLimit({ limit: 5, windowMs: 10 * MINUTE_MS, now });
    this.#address = new RateLimit({ limit: 30, windowMs: 10 * MINUTE_MS, now });
    this.#account = new RateLimit({ limit: 60, windowMs: 60 * MINUTE_MS, now });
    this.#registration = new RateLimit({ limit: 10, windowMs: 60 * MINUTE_MS, now });
  }

  /** Returns how long this address must wait before it may sign in to this account, in milliseconds. */
  waitMs(email: string, address: string): number {
    return Math.max(
      this.#pair.waitMs(`${email} ${address}`),
      this.#address.waitMs(address),
      this.#account.waitMs(email),
    );
  }

  /** Records a failed attempt. */
  failed(email: string, address: string): void {
    this.#pair.add(`${email} ${address}`);
    this.#address.add(address);
    this.#account.add(email);
  }

  /** Removes the attempt that succeeded, and earlier ones of this pair, which were the owner's. */
  succeeded(email: string, address: string): void {
    this.#pair.clear(`${email} ${address}`);
    this.#address.undo(address);
    this.#account.undo(email);
  }

  /** Returns how long this address must wait before it may register, in milliseconds. Records an attempt if 0. */
  registerWaitMs(address: string): number {
    const waitMs = this.#registration.waitMs(address);
    if (waitMs === 0) this.#registration.add(address);
    return waitMs;
  }
}

/**
 * Wrong codes of tools that accounts have typed, in memory. While all together type too many, each may be wrong less often: who types the
 * right code is not kept out by others.
 */
export class CodeGuesses {
  readonly #account: RateLimit;
  readonly #accountBesides: RateLimit;
  readonly #all: RateLimit;

  constructor(now: () => number) {
    const windowMs = 10 * MINUTE_MS;
    this.#account = new RateLimit({ limit: 10, windowMs, now });
    this.#accountBesides = new RateLimit({ limit: 2, windowMs, now });
    this.#all = new RateLimit({ limit: 1_000, windowMs, now });
  }

  /** Whether an account has to wait before it may type a code. */
  isOver(accountId: string): boolean {
    const limit = this.#all.waitMs("") > 0 ? this.#accountBesides : this.#account;
    return limit.waitMs(accountId) > 0;
  }

  /** Records a wrong code. */
  add(accountId: string): void {
    for (const limit of [this.#account, this.#accountBesides]) limit.add(accountId);
    this.#all.add("");
  }
}

/** Whether the visitor's address is over a limit; the response says until when. */
export function mustWait(c: PageRequest, limit: RateLimit): boolean {
  const waitMs = limit.waitMs(c.env.visitor.address);
  if (waitMs > 0) c.header("retry-after", String(Math.ceil(waitMs / 1_000)));
  return waitMs > 0;
}
