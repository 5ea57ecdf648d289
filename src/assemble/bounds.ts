import type { Settings } from "../config/mod.ts";
import { FairShare, type FairShareSize } from "../fair_share/mod.ts";
import { Connections, openRequestsFor, Sockets } from "../http/mod.ts";
import { LargeBodies } from "../large_bodies/mod.ts";
import type { CoarseTimers } from "../platform/mod.ts";
import { RateLimit } from "../rate_limits/mod.ts";

const MINUTE_MS = 60_000;

/** What clients are bounded with. What they have used up stays so when the settings change. */
export class Bounds implements Disposable {
  readonly sockets: Sockets | undefined = Sockets.open();
  readonly connections: Connections;
  /** Memory and worker of large bodies. */
  readonly large: LargeBodies;
  /** Downloads of images. */
  readonly imageSlots: FairShare;
  /** Places for requests in progress, shared between accounts, and those of each key. */
  readonly openRequests: { readonly accounts: FairShare; readonly keys: FairShare };
  /** count_tokens requests of each key, per minute. */
  readonly counts: RateLimit;
  /** Bytes of rejected bodies and count_tokens requests of each key, per minute. */
  readonly unbilledBytes: RateLimit;

  constructor(
    settings: Settings,
    { now, timers }: { readonly now: () => number; readonly timers: CoarseTimers },
  ) {
    const { limits } = settings;
    const sizes = this.#sizes(settings);
    this.connections = new Connections({
      sockets: this.sockets,
      timers,
      idleMs: limits.idleConnectionMs,
    });
    this.large = new LargeBodies(
      new FairShare({ resource: "large request bodies", timers, ...sizes.large }),
      timers,
    );
    this.imageSlots = new FairShare({ resource: "image downloads", timers, ...sizes.images });
    this.openRequests = {
      accounts: new FairShare({ resource: "requests", timers, ...sizes.accounts }),
      keys: new FairShare({ resource: "requests", owner: "API key", timers, ...sizes.keys }),
    };
    const perMinute = (limit: number) => new RateLimit({ limit, windowMs: MINUTE_MS, now });
    this.counts = perMinute(limits.countsPerMinute);
    this.unbilledBytes = perMinute(limits.unbilledBytesPerMinute);
  }

  /** Applies new settings. Whoever holds more than a new bound keeps it. */
  configure(settings: Settings): void {
    const { limits } = settings;
    const sizes = this.#sizes(settings);
    this.connections.idleMs = limits.idleConnectionMs;
    this.large.memory.resize(sizes.large);
    this.imageSlots.resize(sizes.images);
    this.openRequests.accounts.resize(sizes.accounts);
    this.openRequests.keys.resize(sizes.keys);
    this.counts.limit = limits.countsPerMinute;
    this.unbilledBytes.limit = limits.unbilledBytesPerMinute;
  }

  #sizes({ limits, images }: Settings): Record<Pool, FairShareSize> {
    const shared = (capacity: number, waitMs: number): FairShareSize => ({
      capacity,
      perAccount: Math.max(1, Math.floor(capacity * limits.accountShare)),
      waitMs,
    });
    return {
      large: shared(limits.largeBodiesBytes, limits.bodyIdleMs),
      images: shared(images.fetches, images.waitMs),
      accounts: shared(limits.openRequests ?? openRequestsFor(this.sockets?.limit), 0),
      keys: { capacity: Infinity, perAccount: limits.openRequestsPerKey ?? Infinity, waitMs: 0 },
    };
  }

  [Symbol.dispose](): void {
    this.large.close();
    this.connections.close();
    this.sockets?.close();
  }
}

type Pool = "large" | "images" | "accounts" | "keys";
