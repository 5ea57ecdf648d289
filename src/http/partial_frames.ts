import type { FairShare, Share } from "../fair_share/mod.ts";
import { humanBytes } from "../platform/mod.ts";
import { invalid, Refusal } from "../refusal.ts";
import { type Peer, peerFrom, portOf, type Sockets } from "./sockets.ts";

/** Dependencies of {@linkcode PartialFrames}. */
export interface PartialFramesOptions {
  /** `undefined` if the system cannot be queried; then nothing is watched. */
  readonly sockets: Sockets | undefined;
  /** What large bodies share, in bytes. */
  readonly memory: FairShare;
}

/** A connection whose frames are watched. */
export interface FrameWatch {
  /** Says that a whole frame has come. */
  arrived(): void;
  /** Ends the watch. */
  end(): void;
}

interface Watched {
  readonly peer: Peer;
  readonly account: string;
  readonly maxBytes: number;
  readonly refused: (error: Refusal, bytes: number) => void;
  readonly shares: Share[];
  /** Set once it was found. */
  descriptor?: number;
  /** What had come on the connection when its last whole frame had. */
  wholeBytes: number;
}

/** A frame up to this size takes no share, as a body of a request does not. */
const SMALL_BYTES = 1_048_576;
/** What the system and the platform may have read ahead of a frame's end. */
const AHEAD_BYTES = 1_048_576;
/** Interval of looks: short while a large frame is coming, longer for each thousand connections, at which a look takes a millisecond. */
const BUSY_MS = 20;
const CALM_MS = 50;
const CONNECTIONS_PER_MS = 10;
/** Time for a client to read why its connection is closed. */
const CUT_MS = 50;

/**
 * Bounds what frames of WebSockets hold while they come. The platform puts a frame together before it hands it over, up to 64 MB
 * for each connection, and says nothing of it before. What has come on a connection since its last whole frame is asked of the
 * system; beyond a megabyte it takes its share of the memory of large bodies, as the body of a request does.
 */
export class PartialFrames {
  readonly #options: PartialFramesOptions;
  readonly #watched = new Set<Watched>();
  #looking: ReturnType<typeof setTimeout> | undefined;
  /** Timers after which refused connections are ended. */
  readonly #cutting = new Set<ReturnType<typeof setTimeout>>();

  constructor(options: PartialFramesOptions) {
    this.#options = options;
  }

  /**
   * Watches a connection.
   *
   * @param client The client's end.
   * @param account ID of the account whose share is taken.
   * @param maxBytes The largest frame.
   * @param refused Called once, with what has come of it, when a frame exceeds that or the share of the account. The connection
   *   is ended soon after.
   */
  watch(
    client: Deno.Addr | undefined,
    { account, maxBytes, refused }: {
      readonly account: string;
      readonly maxBytes: number;
      readonly refused: (error: Refusal, bytes: number) => void;
    },
  ): FrameWatch {
    const peer = peerFrom(client);
    if (this.#options.sockets === undefined || peer === undefined) {
      return { arrived: () => {}, end: () => {} };
    }
    const watched: Watched = { peer, account, maxBytes, refused, shares: [], wholeBytes: 0 };
    this.#watched.add(watched);
    this.#schedule(CALM_MS);
    return {
      arrived: () => {
        release(watched);
        watched.wholeBytes = this.#received(watched) ?? watched.wholeBytes;
      },
      end: () => {
        release(watched);
        this.#watched.delete(watched);
        if (this.#watched.size === 0) this.#stop();
      },
    };
  }

  #schedule(afterMs: number): void {
    this.#looking ??= setTimeout(() => {
      this.#looking = undefined;
      const isComing = this.#look(this.#options.sockets!);
      if (this.#watched.size === 0) return;
      this.#schedule(isComing ? BUSY_MS : CALM_MS + this.#watched.size / CONNECTIONS_PER_MS);
    }, afterMs);
    Deno.unrefTimer(this.#looking);
  }

  #stop(): void {
    clearTimeout(this.#looking);
    this.#looking = undefined;
  }

  /** Returns whether a large frame is coming. */
  #look(sockets: Sockets): boolean {
    this.#find(sockets);
    let isComing = false;
    for (const watched of [...this.#watched]) {
      const bytes = (this.#received(watched) ?? 0) - watched.wholeBytes;
      if (bytes <= SMALL_BYTES) continue;
      isComing = true;
      if (bytes > watched.maxBytes + AHEAD_BYTES) {
        this.#refuse(watched, tooLarge(watched.maxBytes), bytes);
      } else {
        this.#take(watched, bytes);
      }
    }
    return isComing;
  }

  #take(watched: Watched, bytes: number): void {
    const { account, shares } = watched;
    const held = shares.reduce((sum, { units }) => sum + units, 0);
    if (bytes <= held) return;
    try {
      shares.push(this.#options.memory.takeNow(account, bytes - held));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#refuse(watched, error, bytes);
    }
  }

  /** The platform would read on until the client is done, also after a close frame. */
  #refuse(watched: Watched, error: Refusal, bytes: number): void {
    const { peer, descriptor } = watched;
    const sockets = this.#options.sockets!;
    this.#watched.delete(watched);
    release(watched);
    watched.refused(error, bytes);
    const cutting = setTimeout(() => {
      this.#cutting.delete(cutting);
      if (sockets.peerOf(descriptor!) === peer) sockets.end(descriptor!);
    }, CUT_MS);
    Deno.unrefTimer(cutting);
    this.#cutting.add(cutting);
  }

  /** Ends all watches. */
  close(): void {
    this.#stop();
    this.#watched.clear();
    for (const cutting of this.#cutting) clearTimeout(cutting);
    this.#cutting.clear();
  }

  /** What has come on a connection; undefined as long as it was not found, and once it is gone. */
  #received({ descriptor, peer }: Watched): number | undefined {
    const sockets = this.#options.sockets!;
    if (descriptor === undefined || sockets.peerOf(descriptor) !== peer) return undefined;
    return sockets.received(descriptor);
  }

  #find(sockets: Sockets): void {
    const sought = new Map(
      [...this.#watched].filter(({ descriptor }) => descriptor === undefined)
        .map((one) => [one.peer, one]),
    );
    if (sought.size === 0) return;
    for (const { descriptor, peer } of sockets.connections(new Set(sought.keys().map(portOf)))) {
      const found = sought.get(peer);
      if (found !== undefined) found.descriptor = descriptor;
    }
  }
}

/** A frame that exceeds the limit. */
export function tooLarge(maxBytes: number): Refusal {
  return invalid(undefined, `Frame too large: the limit is ${humanBytes(maxBytes)}.`);
}

function release({ shares }: Watched): void {
  for (const share of shares.splice(0)) share.release();
}
