import { MINUTE_MS } from "../../ground/time.ts";
import type { SentBounds } from "../../settings/catalog/mod.ts";
import { FairShare, type Share } from "../../ground/fair_share/mod.ts";
import type { CoarseTimers } from "../../ground/platform/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import type { Failure } from "./failure.ts";
import { readWhenReady, readyBytes } from "./ready_bytes.ts";
import type { UpstreamReply } from "./transport.ts";

/** One request that is to be sent. */
export interface BoundedRequest {
  readonly account: string;
  readonly tokens: number;
  readonly signal: AbortSignal;
}

/** What there may be too many of, in the order in which it is taken. */
const BOUNDED = ["requests at once", "requests in a minute", "tokens in a minute"];
/** `Retry-After` of a request that others in flight keep from being sent; nobody knows when they end. */
const AT_ONCE_RETRY_MS = 1_000;

/** What one request has of what may be sent. */
export interface Turn {
  /** Call it when its reply has ended; again, it does nothing. */
  readonly end: () => void;
  /** Gives tokens back that it did not use, once that is known. */
  readonly used: (tokens: number) => void;
}

/** The turn of what is not bounded. */
export const UNBOUNDED: Turn = { end() {}, used() {} };

/** Turns of one request at several places, as one. */
export function allTurns(turns: readonly Turn[]): Turn {
  return {
    end: () => turns.forEach((one) => one.end()),
    used: (tokens) => turns.forEach((one) => one.used(tokens)),
  };
}

/**
 * Bounds what is sent to an upstream, with one of its keys, or to a target. Accounts take turns, and nobody waits longer than is
 * allowed. What was sent counts for a minute.
 */
export class Bound {
  readonly #name: string;
  readonly #timers: CoarseTimers;
  readonly #atOnce: FairShare;
  readonly #requests: FairShare;
  readonly #tokens: FairShare;
  /** Shares that end a minute after they were taken, the oldest first. */
  readonly #sent: { readonly untilTick: number; readonly shares: readonly Share[] }[] = [];
  #isTiming = false;

  /**
   * @param name Where requests are sent, for errors: `groq`.
   * @param timers End waits.
   */
  constructor(name: string, timers: CoarseTimers) {
    this.#name = name;
    this.#timers = timers;
    const [atOnce, requests, tokens] = BOUNDED.map((resource) =>
      new FairShare({ resource, capacity: Infinity, perAccount: Infinity, waitMs: 0, timers })
    );
    this.#atOnce = atOnce!;
    this.#requests = requests!;
    this.#tokens = tokens!;
  }

  /** Sets or changes what may be sent. What was sent counts on. */
  set({ atOnce, requestsPerMinute, tokensPerMinute, waitMs }: SentBounds): this {
    const sizeOf = (capacity = Infinity) => ({ capacity, perAccount: capacity, waitMs });
    this.#atOnce.resize(sizeOf(atOnce));
    this.#requests.resize(sizeOf(requestsPerMinute));
    this.#tokens.resize(sizeOf(tokensPerMinute));
    return this;
  }

  /**
   * Waits for a request's turn.
   *
   * @throws {Refusal} `rate_exceeded` if its turn does not come in time.
   */
  async take({ account, tokens, signal }: BoundedRequest): Promise<Turn> {
    const taken: Share[] = [];
    try {
      for (
        const [pool, units] of [[this.#atOnce, 1], [this.#requests, 1], [
          this.#tokens,
          tokens,
        ]] as const
      ) {
        taken.push(await pool.take(account, units, signal));
      }
    } catch (error) {
      for (const share of taken) share.release();
      throw error instanceof Refusal ? this.#over(taken.length, error) : error;
    }
    const [atOnce, ...shares] = taken;
    this.#sent.push({ untilTick: performance.now() + MINUTE_MS, shares });
    this.#time();
    return { end: () => atOnce!.release(), used: (tokens) => shares[1]!.shrink(tokens) };
  }

  /** @param at What there were too many of. */
  #over(at: number, cause: Refusal): Refusal {
    const [oldest] = this.#sent;
    const retryAfterMs = at === 0 || oldest === undefined
      ? AT_ONCE_RETRY_MS
      : Math.max(0, oldest.untilTick - performance.now());
    return new Refusal(
      "rate_exceeded",
      `Too many ${BOUNDED[at]} to the upstream ${this.#name}. Please try again.`,
      { retryAfterMs, cause },
    );
  }

  #time(): void {
    const [oldest] = this.#sent;
    if (this.#isTiming || oldest === undefined) return;
    this.#isTiming = true;
    this.#timers.after(oldest.untilTick - performance.now(), () => {
      this.#isTiming = false;
      while (this.#sent.length > 0 && this.#sent[0]!.untilTick <= performance.now()) {
        for (const share of this.#sent.shift()!.shares) share.release();
      }
      this.#time();
    });
  }
}

/**
 * Waits for a request's turn at several places.
 *
 * @throws {Refusal} `rate_exceeded` if its turn does not come in time.
 */
export async function takeAll(bounds: readonly Bound[], request: BoundedRequest): Promise<Turn> {
  const turns: Turn[] = [];
  try {
    for (const bound of bounds) turns.push(await bound.take(request));
  } catch (error) {
    allTurns(turns).end();
    throw error;
  }
  return allTurns(turns);
}

/** A reply that tells its request's turn when it has ended, however it does, and what it used. */
export function untilEnd(reply: UpstreamReply, { end, used }: Turn): UpstreamReply {
  const source = readyBytes(reply.body);
  const take = () => {
    try {
      const bytes = source.take();
      if (bytes === undefined) end();
      return bytes;
    } catch (error) {
      end();
      throw error;
    }
  };
  const body = {
    take,
    whenReady: (waiter: Parameters<typeof source.whenReady>[0]) => source.whenReady(waiter),
    read: () => readWhenReady(body),
  };
  return {
    ...reply,
    body,
    used,
    discard() {
      end();
      reply.discard();
    },
    drain() {
      end();
      reply.drain();
    },
  };
}

/** A request whose turn has not come: nothing was sent, and nobody is to blame. */
export function outOfTurn(refusal: Refusal): Failure {
  return {
    kind: "elsewhere",
    detail: refusal.message,
    words: refusal.message,
    outcome: "over its limit here",
    status: undefined,
    retryAfterMs: refusal.retryAfterMs,
    refusal,
    blame: false,
    trips: false,
    timedOut: false,
    ofKey: "limited",
  };
}
