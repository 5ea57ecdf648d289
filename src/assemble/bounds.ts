import type { Settings } from "../settings/config/mod.ts";
import { FairShare, type FairShareSize, SharedUse } from "../ground/fair_share/mod.ts";
import {
  Arrivals,
  Connections,
  type ConnectionsOptions,
  type CutConnection,
  MemoryGuard,
  openRequestsFor,
  Sockets,
} from "../doors/http/mod.ts";
import { LargeBodies } from "../wire/large_bodies/mod.ts";
import {
  type CoarseTimers,
  collectGarbage,
  releaseMemory,
  residentBytes,
} from "../ground/platform/mod.ts";
import { RateLimit } from "../ground/rate_limits/mod.ts";
import type { Log } from "../ground/telemetry/mod.ts";
import type { News, SharedMemory } from "./thread_protocol.ts";
import { MINUTE_MS } from "../ground/time.ts";

/** Part of the memory that the system allows from which on requests are rejected, unless the settings say. */
const MEMORY_SHARE = 0.85;
/** Large bodies have up to this part of it: a body takes several times its size while it is read. */
const LARGE_BODIES_SHARE = 0.25;

/** Dependencies of {@linkcode Bounds}. */
export interface BoundsOptions {
  readonly now: () => number;
  readonly timers: CoarseTimers;
  /** Called when a connection is cut on which too much came. */
  readonly onCut: (cut: CutConnection) => void;
  readonly log: Log;
  /** Returns the number of requests in flight in this thread. */
  readonly inFlight: () => number;
  /** What the system allows the process, in bytes. */
  readonly memoryBytes: number;
  /** Set where several threads serve: the bounds hold for all of them together. */
  readonly threads?: {
    /** The number of this thread, from 1. */
    readonly thread: number;
    readonly memory: SharedMemory;
    readonly connections: ConnectionsOptions["threads"];
    /** Tells the other threads what was counted. */
    readonly send: (news: News) => void;
  } | undefined;
}

/** Units of large bodies that are counted as one by all threads. */
const LARGE_UNIT_BYTES = 1_024;

/** Makes the memory in which several threads count what they use. */
export function sharedMemory(threads: number): SharedMemory {
  const pool = (unit = 1) => SharedUse.memory({ threads, unit });
  return {
    large: pool(LARGE_UNIT_BYTES),
    images: pool(),
    accounts: pool(),
    keys: pool(),
    accountSockets: pool(),
    keySockets: pool(),
    inFlight: new SharedArrayBuffer(threads * Int32Array.BYTES_PER_ELEMENT),
  };
}

/** Gives back what a thread that has died had in use. */
export function releaseThread(memory: SharedMemory, thread: number): void {
  for (const pool of POOLS) new SharedUse(memory[pool], thread).clear();
  Atomics.store(new Int32Array(memory.inFlight), thread - 1, 0);
}

/** What clients are bounded with. What they have used up stays so when the settings change. */
export class Bounds implements Disposable {
  readonly sockets: Sockets | undefined = Sockets.open();
  readonly connections: Connections;
  /** What arrives on connections. */
  readonly arrivals: Arrivals;
  readonly memory: MemoryGuard;
  readonly #memoryBytes: number;
  /** Memory and worker of large bodies. */
  readonly large: LargeBodies;
  /** Downloads of images. */
  readonly imageSlots: FairShare;
  /** Places for requests in progress, shared between accounts, and those of each key. */
  readonly openRequests: { readonly accounts: FairShare; readonly keys: FairShare };
  /** Places for open WebSockets, shared between accounts, and those of each key. */
  readonly openSockets: { readonly accounts: FairShare; readonly keys: FairShare };
  /** count_tokens requests of each key, per minute. */
  readonly counts: RateLimit;
  /** Bytes of rejected bodies and count_tokens requests of each key, per minute. */
  readonly unbilledBytes: RateLimit;
  /** Requests of each account to the operator's API, which one thread serves, per minute. */
  readonly adminRequests: RateLimit;

  constructor(
    settings: Settings,
    { now, timers, threads, onCut, log, inFlight, memoryBytes }: BoundsOptions,
  ) {
    this.#memoryBytes = memoryBytes;
    const { limits } = settings;
    const sizes = this.#sizes(settings);
    this.connections = new Connections({
      sockets: this.sockets,
      timers,
      idleMs: limits.idleConnectionMs,
      threads: threads?.connections,
    });
    this.arrivals = new Arrivals({
      sockets: this.sockets,
      residentBytes,
      onCut,
      threads: threads?.connections,
    });
    this.memory = new MemoryGuard({
      limitBytes: limits.memoryBytes ?? MEMORY_SHARE * memoryBytes,
      residentBytes,
      inFlight,
      connections: () => this.arrivals.connections,
      collect: "gc" in globalThis ? () => (collectGarbage(), releaseMemory()) : undefined,
      log,
    });
    const pool = (name: Pool, options: { resource: string; owner?: "API key" }) =>
      new FairShare({
        ...options,
        timers,
        ...sizes[name],
        shared: threads && new SharedUse(threads.memory[name], threads.thread),
      });
    this.large = new LargeBodies(pool("large", { resource: "large request bodies" }), timers);
    this.imageSlots = pool("images", { resource: "image downloads" });
    this.openRequests = {
      accounts: pool("accounts", { resource: "requests" }),
      keys: pool("keys", { resource: "requests", owner: "API key" }),
    };
    this.openSockets = {
      accounts: pool("accountSockets", { resource: "WebSockets" }),
      keys: pool("keySockets", { resource: "WebSockets", owner: "API key" }),
    };
    const perMinute = (kind: "counts" | "unbilledBytes", limit: number) =>
      new RateLimit({
        limit,
        windowMs: MINUTE_MS,
        now,
        send: threads && ((owner, units) => threads.send({ kind, owner, units })),
      });
    this.counts = perMinute("counts", limits.countsPerMinute);
    this.unbilledBytes = perMinute("unbilledBytes", limits.unbilledBytesPerMinute);
    this.adminRequests = new RateLimit({
      limit: limits.adminRequestsPerMinute,
      windowMs: MINUTE_MS,
      now,
    });
  }

  /** Applies new settings. Requests that hold more than a new bound keep it. */
  configure(settings: Settings): void {
    const { limits } = settings;
    const sizes = this.#sizes(settings);
    this.connections.idleMs = limits.idleConnectionMs;
    this.memory.limitBytes = limits.memoryBytes ?? MEMORY_SHARE * this.#memoryBytes;
    this.large.memory.resize(sizes.large);
    this.imageSlots.resize(sizes.images);
    this.openRequests.accounts.resize(sizes.accounts);
    this.openRequests.keys.resize(sizes.keys);
    this.openSockets.accounts.resize(sizes.accountSockets);
    this.openSockets.keys.resize(sizes.keySockets);
    this.counts.limit = limits.countsPerMinute;
    this.unbilledBytes.limit = limits.unbilledBytesPerMinute;
    this.adminRequests.limit = limits.adminRequestsPerMinute;
  }

  #sizes({ limits, images, responses }: Settings): Record<Pool, FairShareSize> {
    const shared = (capacity: number, waitMs: number): FairShareSize => ({
      capacity,
      perAccount: Math.max(1, Math.floor(capacity * limits.accountShare)),
      waitMs,
    });
    const openRequests = limits.openRequests ?? openRequestsFor(this.sockets?.limit);
    const perKey = (perAccount: number): FairShareSize => ({
      capacity: Infinity,
      perAccount,
      waitMs: 0,
    });
    return {
      large: shared(
        Math.min(limits.largeBodiesBytes, LARGE_BODIES_SHARE * this.#memoryBytes),
        limits.bodyIdleMs,
      ),
      images: shared(images.fetches, images.waitMs),
      accounts: shared(openRequests, 0),
      keys: perKey(limits.openRequestsPerKey ?? Infinity),
      accountSockets: shared(responses.sockets ?? Math.ceil(openRequests * SOCKETS_SHARE), 0),
      keySockets: perKey(responses.socketsPerKey),
    };
  }

  [Symbol.dispose](): void {
    this.memory.close();
    this.large.close();
    this.arrivals.close();
    this.connections.close();
  }
}

/** WebSockets that may be open, for each request that may be in flight. */
const SOCKETS_SHARE = 0.25;

const POOLS = ["large", "images", "accounts", "keys", "accountSockets", "keySockets"] as const;
type Pool = typeof POOLS[number];
