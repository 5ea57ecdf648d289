import { delay } from "../../ground/std/mod.ts";
import { type CoarseTimers, SlotMap } from "../../ground/platform/mod.ts";
import { type Peer, peerFrom, portOf } from "./peer.ts";
import type { Connection, Sockets } from "./sockets.ts";

/** Dependencies and settings of {@linkcode Connections}. */
export interface ConnectionsOptions {
  /** `undefined` if the system cannot be queried; then nothing is watched or closed. */
  readonly sockets: Sockets | undefined;
  readonly timers: CoarseTimers;
  /** Time after which idle client connections are closed, in milliseconds. */
  readonly idleMs: number;
  /** Set where several threads of the process listen on the port. */
  readonly threads?: ConnectionsOfThreads | undefined;
}

/** Connections that belong to several threads: each sees those of all, and knows only of its own whether they are in use. */
export interface ConnectionsOfThreads {
  /** Whether this thread closes idle connections, and checks those on which no request has come, for all of them. */
  readonly sweeps: boolean;
  /** Resolves with those of the peers whose connections are in use in another thread. */
  busyElsewhere(peers: readonly Peer[]): Promise<readonly Peer[]>;
  /** Resolves with those of the peers on whose connections a request has come in another thread. */
  claimedElsewhere(peers: readonly Peer[]): Promise<readonly Peer[]>;
}

/** What should listen on a port. */
export interface Listening {
  /** Number of sockets of this process that should. */
  readonly count: number;
  /**
   * Called from time to time while fewer do than should: the process was out of descriptors, which ends listeners, and
   * Deno 2.4 does not always report it.
   */
  readonly lost: () => void;
}

interface Watched {
  readonly peer: Peer;
  readonly left: () => void;
  /** Set once it was found. */
  descriptor?: number;
}

/** A connection on which nothing was sent. */
interface Idle extends Connection {
  /** Since when, by `performance.now()`. */
  readonly sinceTick: number;
}

/** Interval of checks for disconnects. */
const WATCH_MS = 250;
/** Interval of checks for idle connections: shorter with fewer descriptors, which are used up sooner. */
const MIN_SWEEP_MS = 100;
const MAX_SWEEP_MS = 1_000;
const DESCRIPTORS_PER_MS = 40;
/**
 * Fraction of used descriptors above which responses say that their connection closes. Clients then open another one: a
 * connection that is closed while it is idle may be closed just when its client uses it again, and that request fails.
 */
const PRESSURE = 0.5;
/** Fraction of used descriptors above which connections without a request are closed sooner. */
const HIGH_PRESSURE = 0.75;
const IDLE_UNDER_PRESSURE_MS = 250;
/**
 * How long a connection that seems idle is left open still: its next request may have come, and wait to be read or for its
 * handler, which a busy process takes a moment to call.
 */
const GRACE_STEPS = 4;
const GRACE_STEP_MS = 20;
/** What the system's clock of a connection may be off. */
const CLOCK_MS = 16;
/** Factor of the idle time while a client still has data to read. */
const UNREAD_FACTOR = 10;
/** Number of descriptors that the process opens and closes all the time. */
const NEARLY = 8;
/** Connections that a sweep looks at before it lets requests have their turn: takes about a millisecond. */
const PER_TURN = 512;

/** Watches client connections for disconnects, and closes idle ones. */
export class Connections {
  readonly #options: ConnectionsOptions;
  /** Time after which idle client connections are closed, in milliseconds. */
  idleMs: number;
  /** Whether descriptors are getting scarce, so that clients should not keep their connections. */
  isPressed = false;
  readonly #watched = new SlotMap<Watched>();
  readonly #occupied = new SlotMap<Deno.Addr>();
  /** The port that clients connect to, once it is listened to. */
  #port: number | undefined;
  #dismissWatch: (() => void) | undefined;
  #sweeping: ReturnType<typeof setInterval> | undefined;
  /** Descriptors of the sockets that listened when all were looked at. */
  #listeners: readonly number[] = [];
  /** Whether a listener has ended for which there is no other yet. */
  #isListenerLost = false;
  /** Whether idle connections are being closed, in turns. */
  #isClosingIdle = false;
  readonly #closing = new AbortController();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.idleMs = options.idleMs;
  }

  /**
   * Watches for a client that closes its connection before the response begins.
   *
   * @param left Called once, within 250 ms of the disconnect.
   * @returns A function that ends the watch.
   */
  watch(peer: Peer, left: () => void): () => void {
    if (this.#options.sockets === undefined) return () => {};
    const watched = { peer, left };
    const place = this.#watched.add(watched);
    this.#scheduleWatch();
    return () => void this.#watched.take(place, watched);
  }

  /**
   * Marks a connection as in use, so that it does not count as idle.
   *
   * @returns A function that ends the mark.
   */
  occupy(peer: Deno.Addr): () => void {
    const place = this.#occupied.add(peer);
    return () => void this.#occupied.take(place, peer);
  }

  /**
   * Starts closing idle connections of a listening port, and looking whether it is still listened to.
   *
   * @param listening What should listen there.
   */
  sweep(port: number, listening: Listening): void {
    const { sockets, threads } = this.#options;
    this.#port = port;
    if (sockets === undefined) return;
    this.#sweeping = setInterval(() => {
      const { used } = sockets;
      this.isPressed = used > PRESSURE * sockets.limit;
      if (threads?.sweeps === false) return;
      void this.#closeIdle(sockets, port, used);
      this.#lookAtListeners(sockets, port, listening);
      // with no descriptor to spare, listening would fail or end at once
      if (this.#isListenerLost && used < sockets.limit - NEARLY) listening.lost();
    }, Math.min(MAX_SWEEP_MS, Math.max(MIN_SWEEP_MS, sockets.limit / DESCRIPTORS_PER_MS)));
    Deno.unrefTimer(this.#sweeping);
  }

  /**
   * Notes whether a listener has ended. That there were no descriptors left may not be seen at any look: it can be over in a
   * moment. That a socket no longer listens is.
   */
  #lookAtListeners(sockets: Sockets, port: number, listening: Listening): void {
    const { count } = listening;
    const all = this.#listeners.length;
    const left = this.#listeners.filter((descriptor) => sockets.listens(descriptor, port)).length;
    if (left === all && all >= count) return;
    this.#listeners = [...sockets.listeners(port)];
    // some may only be about to begin
    this.#isListenerLost = this.#listeners.length < count && (this.#isListenerLost || left < all);
  }

  /** Closes idle connections now, to free descriptors. */
  makeRoom(port: number): void {
    const { sockets, threads } = this.#options;
    if (sockets === undefined || threads?.sweeps === false) return;
    void this.#closeIdle(sockets, port, sockets.used);
  }

  /** Returns those of the peers whose connections are in use in this thread. */
  busyOf(peers: readonly Peer[]): readonly Peer[] {
    const busy = new Set(this.#occupied.all().map(peerFrom));
    return peers.filter((peer) => busy.has(peer));
  }

  /** Ends all connections of a listening port, idle or not. */
  endAll(port: number): void {
    this.#options.sockets?.queryAll();
    for (const { descriptor, localPort } of this.#options.sockets?.connections() ?? []) {
      if (localPort === port) this.#options.sockets!.end(descriptor);
    }
  }

  /** Stops watching and closing connections. */
  close(): void {
    clearInterval(this.#sweeping);
    this.#closing.abort();
    this.#dismissWatch?.();
    this.#watched.clear();
  }

  /**
   * Whether a client has closed its connection, or its half of it, by a look at all connections.
   *
   * @returns False also if that is not known.
   */
  hasLeft(peer: Peer): boolean {
    const { sockets } = this.#options;
    if (sockets === undefined) return false;
    const descriptor = sockets.connectionOf(peer, this.#port);
    if (descriptor !== undefined) return sockets.hasLeft(descriptor);
    // a connection that was reset has no other end; one beyond the highest number that is looked at may still be there
    return sockets.used < sockets.limit;
  }

  #scheduleWatch(): void {
    this.#dismissWatch ??= this.#options.timers.after(WATCH_MS, () => {
      this.#dismissWatch = undefined;
      this.#look(this.#options.sockets!);
      if (this.#watched.size > 0) this.#scheduleWatch();
    });
  }

  #look(sockets: Sockets): void {
    this.#find(sockets);
    this.#watched.forEach((watched, place) => {
      const { descriptor, peer, left } = watched;
      if (descriptor === undefined) return;
      // a reset connection has no peer, and its descriptor may be in use again
      if (sockets.peerOf(descriptor) === peer && !sockets.hasLeft(descriptor)) return;
      this.#watched.take(place, watched);
      left();
    });
  }

  /** Finds the descriptors of newly watched connections. */
  #find(sockets: Sockets): void {
    const sought = new Map<Peer, Watched[]>();
    this.#watched.forEach((watched) => {
      if (watched.descriptor !== undefined) return;
      const others = sought.get(watched.peer);
      if (others === undefined) sought.set(watched.peer, [watched]);
      else others.push(watched); // several requests over one HTTP/2 connection
    });
    if (sought.size === 0) return;
    const ports = new Set(sought.keys().map(portOf));
    for (const { descriptor, localPort, peer } of sockets.connections(ports)) {
      const found = sought.get(peer);
      // the process may have other connections with a port of the same number at their other end
      if (found === undefined || localPort !== (this.#port ?? localPort)) continue;
      for (const watched of found) watched.descriptor = descriptor;
    }
  }

  /** Closes idle connections of a listening port, in turns: among ten thousand it takes many milliseconds. */
  async #closeIdle(sockets: Sockets, port: number, used: number): Promise<void> {
    const { signal } = this.#closing;
    if (this.#isClosingIdle || signal.aborted) return;
    this.#isClosingIdle = true;
    try {
      const all: Idle[] = [];
      for (const idle of this.#idle(sockets, port, used)) {
        all.push(...idle);
        await delay(0, { signal });
      }
      // in steps: after a long task a wait is over before the platform has handed over what has come
      for (let step = 0; step < GRACE_STEPS && all.length > 0; step++) {
        await delay(GRACE_STEP_MS, { signal });
      }
      for (let at = 0; at < all.length; at += PER_TURN) {
        this.#closeUnlessBusy(sockets, all.slice(at, at + PER_TURN));
        await delay(0, { signal });
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#isClosingIdle = false;
    }
  }

  /** Yields the idle connections among each {@linkcode PER_TURN} connections. */
  *#idle(sockets: Sockets, port: number, used: number): Generator<readonly Idle[]> {
    const idleMs = used > HIGH_PRESSURE * sockets.limit
      ? Math.min(IDLE_UNDER_PRESSURE_MS, this.idleMs)
      : this.idleMs;
    let idle: Idle[] = [];
    let seen = 0;
    for (const connection of sockets.connections()) {
      const { descriptor, localPort } = connection;
      if (localPort === port) {
        const { ms, unread } = sockets.idle(descriptor);
        if (ms > (unread ? UNREAD_FACTOR * this.idleMs : idleMs)) {
          idle.push({ ...connection, sinceTick: performance.now() - ms });
        }
      }
      if (++seen % PER_TURN !== 0) continue;
      yield idle;
      idle = [];
    }
    yield idle;
  }

  #closeUnlessBusy(sockets: Sockets, idle: readonly Idle[]): void {
    const { threads } = this.#options;
    if (idle.length === 0) return;
    const peers = idle.map(({ peer }) => peer);
    const close = (busy: Iterable<Peer>) => {
      const spared = new Set([...busy, ...this.busyOf(peers)]);
      for (const { descriptor, peer, sinceTick } of idle) {
        // it may be closed by now, and its descriptor in use again
        if (spared.has(peer) || sockets.peerOf(descriptor) !== peer) continue;
        const lastTick = performance.now() - sockets.idle(descriptor).ms;
        const isUsed = lastTick > sinceTick + CLOCK_MS || sockets.hasInput(descriptor);
        if (!isUsed) sockets.end(descriptor);
      }
    };
    if (threads === undefined) close([]);
    else void threads.busyElsewhere(peers).then(close);
  }
}
