import type { ConnectionsOfThreads } from "./connections.ts";
import { type Peer, peerFrom } from "./peer.ts";
import type { Sockets } from "./sockets.ts";

/** Dependencies of {@linkcode Arrivals}. */
export interface ArrivalsOptions {
  /** `undefined` if the system cannot be queried; then nothing is counted. */
  readonly sockets: Sockets | undefined;
  /** Returns the resident memory of this process: when it grows fast, connections are looked at sooner. */
  readonly residentBytes: () => number;
  /** Called when a connection is cut. */
  readonly onCut?: ((cut: CutConnection) => void) | undefined;
  /** Set where several threads of the process listen on the port. */
  readonly threads?: Pick<ConnectionsOfThreads, "sweeps" | "claimedElsewhere"> | undefined;
  /** The time of a clock that only goes on, in milliseconds. Default: `performance.now()`. */
  readonly now?: () => number;
}

/** A connection that was cut, for the log and the metrics. */
export interface CutConnection {
  readonly peer: Peer;
  /** Bytes that came since its last request, frame or chunk. */
  readonly bytes: number;
}

/** What a watch decides about the bytes that came since its last boundary. */
export type Verdict = "fine" | "end" | "end soon";

/** A connection on which somebody else decides what may come. */
export interface ArrivalWatch {
  /**
   * Notes that what came up to now was handed over.
   *
   * @returns Bytes that came on the connection since it opened; `undefined` if unknown.
   */
  boundary(): number | undefined;
  /**
   * Notes that a piece of a body was handed over.
   *
   * @returns Whether nothing is left that was not.
   */
  delivered(bytes: number): boolean;
  /** Ends the watch. What came up to now counts as whole. */
  end(): void;
}

/** A client connection, by its descriptor. */
interface Watched {
  readonly descriptor: number;
  readonly peer: Peer;
  readonly port: number;
  /** Bytes that the platform had read at the last boundary, and has handed over since; and those that it had read when asked last. */
  base: number;
  seen: number;
  /** Whether a request has begun since the last look. */
  isMarked: boolean;
  /** Whether a request has come on it in this thread. */
  isClaimed: boolean;
}

/**
 * Bytes that may come besides those that are counted elsewhere: a request line and headers (Deno 2.4 takes 400 KB of them), the frames of
 * small chunks, trailers, small bodies, and what the platform reads ahead.
 */
const FREE_BYTES = 1_048_576;
/** What a chunk takes beside its bytes: its size, line ends, and a short extension. */
const CHUNK_FRAME_BYTES = 32;
/** Bytes since the last boundary from which on looks are frequent. */
const BUSY_BYTES = 262_144;
/** The same for all connections together. When there is more, those with the most are cut. */
const FREE_BYTES_OF_ALL = 64 * 1_048_576;
const GROWTH_BYTES = 8 * 1_048_576; // of the process's memory: calls for a look
/** Interval of looks, longer for each thousand connections, at which a look takes a millisecond, unless much comes. */
const LOOK_MS = 20;
const CONNECTIONS_PER_MS = 10;
/** How often to see whether a look is due: while something comes, and when nothing has come for a second. */
const BUSY_TICK_MS = 5;
const IDLE_TICK_MS = 50;
const IDLE_AFTER_MS = 1_000;
/** Interval of looks when nothing has come for a second: what comes then without a request makes memory grow. */
const IDLE_LOOK_MS = 1_000;
/** Pieces of a body after which its connection is looked at without waiting: for each the platform may read 64 KB ahead. */
const PIECES = 64;
/** What may wait of chunked bodies: less than the platform's reads of 64 KB, so that it reads no more than two of them in a turn. */
const NARROW_BYTES = 65_536;
/** Time for a client to read why its connection is closed: a proxy on a busy machine takes a while. */
const END_MS = 250;

/**
 * Counts what arrives on client connections against what their requests may have. The platform keeps some of it without a
 * limit and without a word: trailers (Deno 2.9), frames of HTTP/2, frames of WebSockets up to 64 MB. How much has come is asked of the
 * system. Each request, chunk of a body and frame that is handed over is a boundary; a connection on which more than a
 * megabyte comes without one is cut.
 */
export class Arrivals {
  readonly #options: ArrivalsOptions;
  readonly #now: () => number;
  readonly #byDescriptor = new Map<number, Watched>();
  readonly #byPeer = new Map<Peer, Watched>();
  /** Peers of requests on connections that were not found yet. */
  readonly #pending = new Set<Peer>();
  readonly #judges = new Map<Peer, (bytes: number) => Verdict>();
  /** Timers after which connections are ended. */
  readonly #ending = new Set<ReturnType<typeof setTimeout>>();
  #port: number | undefined;
  #looking: ReturnType<typeof setTimeout> | undefined;
  #lookedTick = 0;
  /** When something came last. */
  #activeTick = 0;
  /** Resident memory when all connections were looked at. */
  #memoryBytes = 0;
  #isBusy = false;

  constructor(options: ArrivalsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Open connections, of all threads of the process; 0 if the system cannot be queried. */
  get connections(): number {
    return this.#byDescriptor.size;
  }

  /** Starts counting on the connections of a listening port. */
  start(port: number): void {
    if (this.#options.sockets === undefined || this.#port !== undefined) return;
    this.#port = port;
    this.#schedule();
  }

  /** Notes that a request has begun on a connection, or that the part of its body that came up to now was handed over. */
  progressed(client: Deno.Addr | undefined): void {
    if (this.#port === undefined) return;
    const peer = peerFrom(client);
    if (peer === undefined) return;
    this.#activate();
    const known = this.#byPeer.get(peer);
    if (known === undefined) this.#pending.add(peer);
    else known.isMarked = known.isClaimed = true;
  }

  /**
   * Has somebody else decide how much may come on a connection.
   *
   * @param judge Called with the bytes that came since the last boundary, each time that they are found to be more than
   *   {@linkcode FREE_BYTES}.
   * @returns The watch; at most one for each connection.
   */
  watch(client: Deno.Addr | undefined, judge: (bytes: number) => Verdict): ArrivalWatch {
    const peer = peerFrom(client);
    if (peer === undefined || this.#port === undefined) {
      return { boundary: () => undefined, delivered: () => false, end: () => {} };
    }
    this.#judges.set(peer, judge);
    this.#activate();
    this.#seek(peer);
    let pieces = 0;
    return {
      boundary: () => {
        this.#activate();
        const found = this.#found(peer);
        const received = found && this.#options.sockets!.received(found.descriptor);
        if (found === undefined || received === undefined) {
          this.progressed(client);
          return undefined;
        }
        found.base = received - this.#options.sockets!.unread(found.descriptor);
        found.isMarked = false;
        return received;
      },
      delivered: (bytes) => {
        this.#activate();
        const found = this.#byPeer.get(peer);
        if (found === undefined) return false;
        found.base += bytes + CHUNK_FRAME_BYTES;
        if (++pieces % PIECES === 0) this.#check(this.#options.sockets!, found);
        return found.base >= found.seen;
      },
      end: () => {
        if (this.#judges.get(peer) === judge) this.#judges.delete(peer);
        this.progressed(client);
      },
    };
  }

  /**
   * Has little wait in the system of what a client sends. In one turn Deno 2.9 reads all that waits, and all that comes meanwhile: 8 MB
   * from a client on a fast network. For each chunk of a body it then moves all that it has read: a body of 15 MB in chunks of 135
   * bytes would hold up the process for a minute. A client that is far away sends its chunks more slowly for it.
   */
  narrow(client: Deno.Addr | undefined): void {
    const peer = peerFrom(client);
    if (peer === undefined || this.#port === undefined) return;
    this.#seek(peer);
    const found = this.#found(peer);
    if (found !== undefined) this.#options.sockets!.narrow(found.descriptor, NARROW_BYTES);
  }

  /** Finds a connection that may have opened since the last look. */
  #seek(peer: Peer): void {
    const sockets = this.#options.sockets!;
    if (this.#found(peer) !== undefined) return;
    for (const descriptor of sockets.descriptors()) {
      if (this.#find(sockets, descriptor, this.#port!)?.peer === peer) return;
    }
  }

  /** The connection of a peer, if it was found and is still there. */
  #found(peer: Peer): Watched | undefined {
    const found = this.#byPeer.get(peer);
    return found && this.#options.sockets!.peerOf(found.descriptor) === peer ? found : undefined;
  }

  /** Ends a connection, a moment later, when its client has read the response. Nothing more is taken from it. */
  endSoon(client: Deno.Addr | undefined): void {
    const peer = peerFrom(client);
    if (this.#options.sockets !== undefined && peer !== undefined) this.#endSoon(peer);
  }

  #endSoon(peer: Peer): void {
    const sockets = this.#options.sockets!;
    const current = () => {
      const descriptor = this.#byPeer.get(peer)?.descriptor ??
        sockets.connectionOf(peer, this.#port);
      return descriptor !== undefined && sockets.peerOf(descriptor) === peer
        ? descriptor
        : undefined;
    };
    const muted = current();
    if (muted !== undefined) sockets.mute(muted);
    const ending = setTimeout(() => {
      this.#ending.delete(ending);
      const descriptor = current();
      if (descriptor !== undefined) sockets.reset(descriptor);
    }, END_MS);
    Deno.unrefTimer(ending);
    this.#ending.add(ending);
  }

  /** Returns those of the peers on whose connections a request has come in this thread. */
  claimed(peers: readonly Peer[]): readonly Peer[] {
    return peers.filter((peer) => this.#pending.has(peer) || this.#byPeer.get(peer)?.isClaimed);
  }

  /** Stops counting. */
  close(): void {
    clearTimeout(this.#looking);
    this.#looking = undefined;
    this.#port = undefined;
    for (const ending of this.#ending) clearTimeout(ending);
    this.#ending.clear();
    this.#judges.clear();
    this.#pending.clear();
  }

  /** Notes that something has come, so that more may be coming. */
  #activate(): void {
    const nowTick = this.#now();
    const isIdle = nowTick - this.#activeTick > IDLE_AFTER_MS;
    this.#activeTick = nowTick;
    if (!isIdle) return;
    clearTimeout(this.#looking);
    this.#schedule();
  }

  /** Whether nothing has come for a while, as far as is known. */
  get #isIdle(): boolean {
    return this.#now() - this.#activeTick > IDLE_AFTER_MS;
  }

  #schedule(): void {
    const looking = setTimeout(() => {
      // Deno 2.4 may run a timer that was cleared while it was due
      if (this.#looking !== looking || this.#port === undefined) return;
      if (this.#isDue()) this.#look(this.#options.sockets!, this.#port);
      this.#schedule();
    }, this.#isIdle ? IDLE_TICK_MS : BUSY_TICK_MS);
    this.#looking = looking;
    Deno.unrefTimer(looking);
  }

  /** Whether all connections are to be looked at now: thousands of them and idle ones less often, unless memory grows. */
  #isDue(): boolean {
    const activeMs = this.#isBusy ? 0 : LOOK_MS + this.#byDescriptor.size / CONNECTIONS_PER_MS;
    return this.#now() - this.#lookedTick >= (this.#isIdle ? IDLE_LOOK_MS : activeMs) ||
      this.#options.residentBytes() > this.#memoryBytes + GROWTH_BYTES;
  }

  #look(sockets: Sockets, port: number): void {
    this.#isBusy = false;
    const gone = new Set(this.#byDescriptor.keys());
    const many: [watched: Watched, bytes: number][] = [];
    for (const descriptor of sockets.descriptors()) {
      const watched = this.#find(sockets, descriptor, port);
      if (watched === undefined) continue;
      gone.delete(descriptor);
      const bytes = this.#check(sockets, watched);
      const isOthers = !watched.isClaimed && this.#options.threads?.sweeps === false;
      if (bytes > 0 && !isOthers) many.push([watched, bytes]);
    }
    this.#bound(many);
    for (const descriptor of gone) this.#forget(this.#byDescriptor.get(descriptor));
    this.#pending.clear();
    this.#lookedTick = this.#now();
    if (this.#isBusy) this.#activeTick = this.#lookedTick;
    this.#memoryBytes = this.#options.residentBytes();
  }

  /** The connection of a descriptor, which may have been closed, and be another one's by now. */
  #find(sockets: Sockets, descriptor: number, port: number): Watched | undefined {
    const known = this.#byDescriptor.get(descriptor);
    if (known !== undefined && sockets.peerPort(descriptor) === known.port) return known;
    if (known !== undefined) this.#forget(known);
    const peer = sockets.clientOf(descriptor, port);
    if (peer === undefined) return undefined;
    const isClaimed = this.#pending.has(peer);
    const found: Watched = {
      descriptor,
      peer,
      port: sockets.peerPort(descriptor),
      base: 0,
      seen: 0,
      isMarked: isClaimed,
      isClaimed,
    };
    this.#byDescriptor.set(descriptor, found);
    this.#byPeer.set(peer, found);
    return found;
  }

  #forget(watched: Watched | undefined): void {
    if (watched === undefined) return;
    this.#byDescriptor.delete(watched.descriptor);
    if (this.#byPeer.get(watched.peer) === watched) this.#byPeer.delete(watched.peer);
  }

  /** Checks what came on a connection. Returns how many bytes of it count, and were let pass. */
  #check(sockets: Sockets, watched: Watched): number {
    const { descriptor } = watched;
    if (watched.isMarked) {
      watched.isMarked = false;
      watched.base = watched.seen = this.#read(descriptor) ?? watched.base;
      return 0;
    }
    const received = sockets.received(descriptor);
    if (received === undefined) return 0;
    if (received === 0) {
      // what came first was dropped: it was of HTTP/2 (see `refuseHttp2`)
      if (sockets.dropped(descriptor) > 0) sockets.end(descriptor);
      return 0;
    }
    if (received - watched.base <= BUSY_BYTES) return 0;
    this.#isBusy = true;
    watched.seen = this.#read(descriptor) ?? 0;
    const bytes = watched.seen - watched.base;
    if (bytes <= FREE_BYTES) return bytes;
    this.#decide(watched, bytes);
    return 0;
  }

  /** Decides on connections, those with the most bytes first, until what is left may stay. */
  #bound(many: [watched: Watched, bytes: number][]): void {
    let bytes = many.reduce((sum, [, one]) => sum + one, 0);
    if (bytes <= FREE_BYTES_OF_ALL) return;
    for (const [watched, most] of many.sort(([, one], [, other]) => other - one)) {
      if (bytes <= FREE_BYTES_OF_ALL) return;
      bytes -= most;
      this.#decide(watched, most);
    }
  }

  #decide(watched: Watched, bytes: number): void {
    if (this.#options.sockets!.peerOf(watched.descriptor) !== watched.peer) this.#forget(watched);
    else if (watched.isClaimed) this.#judge(watched, bytes);
    else this.#askThreads(watched, bytes);
  }

  #judge(watched: Watched, bytes: number): void {
    const verdict = this.#judges.get(watched.peer)?.(bytes) ?? "end";
    if (verdict === "fine") return;
    this.#options.onCut?.({ peer: watched.peer, bytes });
    watched.base += bytes; // once is enough
    if (verdict === "end") this.#options.sockets!.reset(watched.descriptor);
    else this.#endSoon(watched.peer);
  }

  /** A connection on which no request has come in this thread may be another thread's. */
  #askThreads(watched: Watched, bytes: number): void {
    const { threads } = this.#options;
    if (threads === undefined) return this.#judge(watched, bytes);
    if (!threads.sweeps) return;
    watched.base += bytes; // ask again after as many bytes more
    void threads.claimedElsewhere([watched.peer]).then((claimed) => {
      const isSame = this.#options.sockets!.peerOf(watched.descriptor) === watched.peer;
      if (isSame && claimed.length === 0 && !watched.isClaimed) this.#judge(watched, bytes);
    }, () => {}); // a thread has ended, and its connections with it
  }

  /** Bytes of a connection that the platform has read; the rest waits in the system, which bounds it. */
  #read(descriptor: number): number | undefined {
    const sockets = this.#options.sockets!;
    const received = sockets.received(descriptor);
    return received === undefined ? undefined : received - sockets.unread(descriptor);
  }
}
