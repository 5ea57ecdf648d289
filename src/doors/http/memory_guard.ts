import { Refusal } from "../../ground/refusal.ts";
import type { Log } from "../../ground/telemetry/mod.ts";

/** Dependencies of {@linkcode MemoryGuard}. */
export interface MemoryGuardOptions {
  /** Resident memory from which on requests are rejected. */
  readonly limitBytes: number;
  /** Returns the resident memory of this process. */
  readonly residentBytes: () => number;
  /** Returns the number of requests in flight in this thread. */
  readonly inFlight: () => number;
  /** Returns the number of open client connections. */
  readonly connections: () => number;
  /** Collects garbage. Where V8 has no way to, requests are not rejected either: nobody could say when memory is free again. */
  readonly collect: (() => void) | undefined;
  readonly log: Log;
  /** The time of a clock that only goes on, in milliseconds. */
  readonly now?: () => number;
}

const LOOK_MS = 200;
/** Part of the limit from which on garbage is collected, as V8 does not know the limit. */
const HIGH = 0.75;
/** Time between two collections, which take 30 to 80 ms each. */
const COLLECT_EVERY_MS = 2_000;
/** The same where requests would be rejected otherwise. */
const COLLECT_SHORT_MS = 400;
/**
 * A thread with few requests collects when memory has grown by this since it last did so with few, so that a flood leaves nothing
 * behind. What a collection amid a flood has left says nothing of what is needed: a flood may be of connections that make no requests, so
 * once most connections are gone, it is the least ever that memory is compared with.
 */
const GROWTH = 1.25;
const GROWTH_BYTES = 32 * 1_048_576;
const FEW_REQUESTS = 4;
const FEW_CONNECTIONS = 4;
const QUIET_MS = 10_000;
const RETRY_MS = 2_000;

/** Keeps the process below what the system allows it: collects garbage early, and rejects requests before the system ends the process. */
export class MemoryGuard {
  readonly #options: MemoryGuardOptions;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #now: () => number;
  #collectedTick: number;
  /** Resident memory after the last collection with few requests, or less if it was less since. */
  #quietBytes = Infinity;
  /** The least resident memory so far. */
  #leastBytes = Infinity;
  /** The most connections since that collection. */
  #mostConnections = 0;
  #isShedding = false;
  limitBytes: number;

  constructor(options: MemoryGuardOptions) {
    this.#options = options;
    this.limitBytes = options.limitBytes;
    this.#now = options.now ?? (() => performance.now());
    this.#collectedTick = this.#now();
    this.#timer = setInterval(() => this.look(), LOOK_MS);
    Deno.unrefTimer(this.#timer);
  }

  /** Whether requests are rejected. */
  get isShedding(): boolean {
    return this.#isShedding;
  }

  /** @throws {Refusal} `gateway_unavailable` while memory is short. */
  check(): void {
    if (!this.#isShedding) return;
    const message = "The gateway is short of memory. Please try again.";
    throw new Refusal("gateway_unavailable", message, { retryAfterMs: RETRY_MS });
  }

  /** Looks at the memory, and does what it calls for. */
  look(): void {
    let bytes = this.#options.residentBytes();
    const sinceMs = this.#now() - this.#collectedTick;
    this.#quietBytes = Math.min(this.#quietBytes, bytes);
    this.#leastBytes = Math.min(this.#leastBytes, bytes);
    const connections = this.#options.connections();
    this.#mostConnections = Math.max(this.#mostConnections, connections);
    const areMostGone = 2 * connections + FEW_CONNECTIONS < this.#mostConnections;
    const before = areMostGone ? this.#leastBytes : this.#quietBytes;
    const hasGrown = bytes > before * GROWTH + GROWTH_BYTES;
    const isHigh = bytes > HIGH * this.limitBytes && sinceMs > COLLECT_EVERY_MS ||
      bytes > this.limitBytes && sinceMs > COLLECT_SHORT_MS;
    const isQuiet = sinceMs > QUIET_MS && this.#options.inFlight() <= FEW_REQUESTS;
    const { collect } = this.#options;
    if (collect === undefined) return;
    if (isHigh || (hasGrown && isQuiet)) {
      collect();
      bytes = this.#options.residentBytes();
      if (isQuiet) {
        this.#quietBytes = bytes;
        this.#mostConnections = connections;
      }
      this.#collectedTick = this.#now();
    }
    const isShort = bytes > this.limitBytes;
    if (isShort === this.#isShedding) return;
    this.#isShedding = isShort;
    const fields = { resident_bytes: bytes, limit_bytes: this.limitBytes };
    if (isShort) this.#options.log.warn("short of memory: requests are rejected", fields);
    else this.#options.log.info("memory is free again", fields);
  }

  /** Stops looking. */
  close(): void {
    clearInterval(this.#timer);
  }
}
