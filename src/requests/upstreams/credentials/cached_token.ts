import { CredentialsFault } from "./credentials.ts";

/** A token, and when it ends. */
export interface Token {
  readonly value: string;
  /** Milliseconds since the epoch; `undefined` if nobody said. */
  readonly endsAtMs: number | undefined;
}

/** When tokens are got again. */
export interface TokenTimes {
  /** The time, in milliseconds since the epoch. */
  readonly now: () => number;
  /** How long before its end a token is got again. Default: a minute. */
  readonly earlyMs?: number;
  /** For how long nothing is got again after a token was got, or after a failure: who gives tokens is not asked for each request. Default: 5 s. */
  readonly pauseMs?: number;
}

/**
 * A token that many requests use at once: got once, again before it ends, and again once after it was refused. While it is renewed, the
 * one that has not ended goes on being used.
 */
export class CachedToken<T extends Token> {
  readonly #get: () => Promise<T>;
  readonly #now: () => number;
  readonly #earlyMs: number;
  readonly #pauseMs: number;
  #current: T | undefined;
  #getting: Promise<T> | undefined;
  #gotAtMs = -Infinity;
  #failed: { readonly atMs: number; readonly fault: CredentialsFault } | undefined;

  /**
   * @param get Gets a new one; throws a {@linkcode CredentialsFault}.
   * @param times When it is got again.
   */
  constructor(
    get: () => Promise<T>,
    { now, earlyMs = 60_000, pauseMs = 5_000 }: TokenTimes,
  ) {
    this.#get = get;
    this.#now = now;
    this.#earlyMs = earlyMs;
    this.#pauseMs = pauseMs;
  }

  /** The token in use, if one was got. */
  get current(): T | undefined {
    return this.#current;
  }

  /**
   * Resolves with a token that has not ended.
   *
   * @throws {CredentialsFault} If there is none.
   */
  async token(): Promise<T> {
    const current = this.#current;
    const leftMs = (current?.endsAtMs ?? Infinity) - this.#now();
    if (current !== undefined && leftMs > this.#earlyMs) return current;
    const isPaused = this.#failed !== undefined && this.#now() - this.#failed.atMs < this.#pauseMs;
    if (current !== undefined && leftMs > 0) {
      // one that lasts no longer than it is got early would be got for each request
      const isNew = this.#now() - this.#gotAtMs < this.#pauseMs;
      if (!isPaused && !isNew) this.#renew().catch(() => {}); // it is tried again
      return current;
    }
    if (isPaused) throw this.#failed!.fault;
    return await this.#renew();
  }

  /**
   * Notes that a token was refused.
   *
   * @returns Whether there is or will be another one.
   */
  refused(value: string): boolean {
    if (this.#current?.value !== value) {
      return this.#current !== undefined || this.#getting !== undefined;
    }
    if (this.#now() - this.#gotAtMs < this.#pauseMs) return false;
    this.#current = undefined;
    return true;
  }

  #renew(): Promise<T> {
    return this.#getting ??= this.#renewOnce().finally(() => this.#getting = undefined);
  }

  async #renewOnce(): Promise<T> {
    try {
      this.#current = await this.#get();
      this.#gotAtMs = this.#now();
      this.#failed = undefined;
      return this.#current;
    } catch (error) {
      if (error instanceof CredentialsFault) this.#failed = { atMs: this.#now(), fault: error };
      throw error;
    }
  }
}
