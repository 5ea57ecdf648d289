import { type CoarseTimers, SlotMap } from "../platform/mod.ts";
import { type Peer, peerFrom, type Sockets } from "./sockets.ts";

/** How connections are looked after. */
export interface ConnectionsOptions {
  /** undefined where the system cannot be asked; then nothing here happens. */
  readonly sockets: Sockets | undefined;
  readonly timers: CoarseTimers;
  /** Idle connections of clients are closed after this. */
  readonly idleMs: number;
}

interface Watched {
  readonly peer: Peer;
  readonly left: () => void;
  /** Once it was found. */
  descriptor?: number;
}

/** How soon it is noticed that a client has left. */
const WATCH_MS = 250;
/** The pace of looking for idle connections: the fewer descriptors there are, the sooner they are all taken. */
const MIN_SWEEP_MS = 100;
const MAX_SWEEP_MS = 1_000;
const DESCRIPTORS_PER_MS = 40;
/** Connections that no request with a key is on are closed at once when this part of the descriptors is in use. */
const PRESSURE = 0.5;
const IDLE_UNDER_PRESSURE_MS = 250;
/** How much longer a connection may be idle while its client has yet to read what was sent. */
const UNREAD_FACTOR = 10;
/** Descriptors that the process opens and closes all the time. */
const NEARLY = 8;

/** The connections of clients: which have been left by their client, which are idle. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #watched = new SlotMap<Watched>();
  readonly #occupied = new SlotMap<Deno.Addr>();
  #dismissWatch: (() => void) | undefined;
  #sweeping: ReturnType<typeof setInterval> | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /**
   * Watches for a client to close its connection before it got its response.
   *
   * @param left Called once, within a quarter of a second of the close.
   * @returns Ends the watch.
   */
  watch(peer: Peer, left: () => void): () => void {
    if (this.#options.sockets === undefined) return () => {};
    const watched = { peer, left };
    const place = this.#watched.add(watched);
    this.#scheduleWatch();
    return () => void this.#watched.take(place, watched);
  }

  /** Keeps a client's connection from counting as idle until the result is called. */
  occupy(peer: Deno.Addr): () => void {
    const place = this.#occupied.add(peer);
    return () => void this.#occupied.take(place, peer);
  }

  /**
   * Closes idle connections of a listening port from now on.
   *
   * @param exhausted Called when the process had no descriptors left a moment ago, which may have cost it
   *   its listener (Deno 2.4 does not tell).
   */
  sweep(port: number, exhausted: () => void): void {
    const { sockets } = this.#options;
    if (sockets === undefined) return;
    let wasExhausted = false;
    this.#sweeping = setInterval(() => {
      const { used } = sockets;
      const isExhausted = used >= sockets.limit - NEARLY;
      this.#closeIdle(sockets, port, used);
      if (wasExhausted && !isExhausted) exhausted();
      wasExhausted = isExhausted;
    }, Math.min(MAX_SWEEP_MS, Math.max(MIN_SWEEP_MS, sockets.limit / DESCRIPTORS_PER_MS)));
    Deno.unrefTimer(this.#sweeping);
  }

  /** Closes connections that are idle for a short time already, to make room for others. */
  makeRoom(port: number): void {
    const { sockets } = this.#options;
    if (sockets !== undefined) this.#closeIdle(sockets, port, sockets.used);
  }

  /** Ends every connection of a listening port, whatever it is doing. */
  endAll(port: number): void {
    for (const { descriptor, localPort } of this.#options.sockets?.connections() ?? []) {
      if (localPort === port) this.#options.sockets!.end(descriptor);
    }
  }

  close(): void {
    clearInterval(this.#sweeping);
    this.#dismissWatch?.();
    this.#watched.clear();
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
      // a reset connection has no peer any more, and its descriptor may be another's
      if (sockets.peerOf(descriptor) === peer && !sockets.hasLeft(descriptor)) return;
      this.#watched.take(place, watched);
      left();
    });
  }

  /** Finds the descriptors of those that are watched since the last time. */
  #find(sockets: Sockets): void {
    const sought = new Map<Peer, Watched[]>();
    this.#watched.forEach((watched) => {
      if (watched.descriptor !== undefined) return;
      const others = sought.get(watched.peer);
      if (others === undefined) sought.set(watched.peer, [watched]);
      else others.push(watched); // over one HTTP/2 connection
    });
    if (sought.size === 0) return;
    for (const { descriptor, peer } of sockets.connections()) {
      const found = sought.get(peer);
      if (found === undefined) continue;
      for (const watched of found) watched.descriptor = descriptor;
    }
  }

  /** @param used Descriptors that the process has. */
  #closeIdle(sockets: Sockets, port: number, used: number): void {
    const busy = new Set(this.#occupied.all().map(peerFrom));
    const pressed = used > PRESSURE * sockets.limit;
    const idleMs = pressed
      ? Math.min(IDLE_UNDER_PRESSURE_MS, this.#options.idleMs)
      : this.#options.idleMs;
    for (const { descriptor, localPort, peer } of sockets.connections()) {
      if (localPort !== port || busy.has(peer)) continue;
      const { ms, unread } = sockets.idle(descriptor);
      if (ms > (unread ? UNREAD_FACTOR * this.#options.idleMs : idleMs)) sockets.end(descriptor);
    }
  }
}
