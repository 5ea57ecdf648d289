import type { FairShare, Share } from "../../ground/fair_share/mod.ts";
import { humanBytes } from "../../ground/platform/mod.ts";
import { invalid, Refusal } from "../../ground/refusal.ts";
import type { Arrivals, ArrivalWatch, Verdict } from "./arrivals.ts";

/** Dependencies of {@linkcode PartialInput}. */
export interface PartialInputOptions {
  readonly arrivals: Pick<Arrivals, "watch">;
  /** What large bodies share, in bytes. */
  readonly memory: FairShare;
}

/** Who sends, and how much it may be. */
export interface Sender {
  /** ID of the account whose share is taken. */
  readonly account: string;
  /** The largest body or frame. */
  readonly maxBytes: number;
  /**
   * Called once, with the bytes that have come and were not handed over, when they exceed the bound or the share of the account.
   * The connection is ended soon after.
   */
  readonly refused: (error: Refusal, bytes: number) => void;
}

/** A connection on which a body is coming. */
export interface BodyWatch {
  /** Says that a piece of it was handed over. */
  delivered(bytes: number): void;
  /** Ends the watch. */
  end(): void;
}

/** A connection whose frames are watched. */
export interface FrameWatch {
  /**
   * Says that a whole message has come.
   *
   * @param bytes Its payload.
   * @returns Whether it may have come in masked frames.
   */
  arrived(bytes: number): boolean;
  /** Ends the watch. */
  end(): void;
}

/** How a client's messages are framed (RFC 6455, section 5.2): a header by the length of the payload, and the mask. */
const HEADER_BYTES = 2;
const MASK_BYTES = 4;
const SHORT_PAYLOAD = 125;
const MEDIUM_PAYLOAD = 65_535;

/** What the system and the platform may have read ahead of a frame's end. */
const AHEAD_BYTES = 1_048_576;

/**
 * Bounds what the platform holds of input that it has not handed over. It puts a frame of a WebSocket together before it says
 * anything of it, up to 64 MB for each connection, and reads bodies faster than they are taken from it (Deno 2.9). How much has come is
 * counted by {@linkcode Arrivals}; beyond a megabyte it takes its share of the memory of large bodies.
 */
export class PartialInput {
  readonly #options: PartialInputOptions;

  constructor(options: PartialInputOptions) {
    this.#options = options;
  }

  /** Watches a connection while a body comes. */
  body(client: Deno.Addr | undefined, sender: Sender): BodyWatch {
    const { watch, release } = this.#watch(client, sender);
    return {
      delivered(bytes) {
        if (watch.delivered(bytes)) release();
      },
      end() {
        release();
        watch.end();
      },
    };
  }

  /** Watches a connection of which the handshake of a WebSocket has come. */
  frames(client: Deno.Addr | undefined, sender: Sender): FrameWatch {
    const { watch, release } = this.#watch(client, sender);
    const handshakeBytes = watch.boundary();
    let leastBytes = handshakeBytes ?? 0;
    return {
      arrived(bytes) {
        release();
        const received = watch.boundary();
        leastBytes += framedBytes(bytes);
        return handshakeBytes === undefined || received === undefined || received >= leastBytes;
      },
      end() {
        release();
        watch.end();
      },
    };
  }

  /** Takes shares for what comes on a connection. */
  #watch(
    client: Deno.Addr | undefined,
    { account, maxBytes, refused }: Sender,
  ): { readonly watch: ArrivalWatch; readonly release: () => void } {
    const shares: Share[] = [];
    const release = () => {
      for (const share of shares.splice(0)) share.release();
    };
    const refuse = (error: Refusal, bytes: number): Verdict => {
      release();
      refused(error, bytes);
      return "end soon"; // the platform would read on until the client is done, also after a close frame
    };
    const watch = this.#options.arrivals.watch(client, (bytes) => {
      if (bytes > maxBytes + AHEAD_BYTES) return refuse(tooLarge(maxBytes), bytes);
      const held = shares.reduce((sum, { units }) => sum + units, 0);
      if (bytes <= held) return "fine";
      try {
        shares.push(this.#options.memory.takeNow(account, bytes - held));
        return "fine";
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return refuse(error, bytes);
      }
    });
    return { watch, release };
  }
}

/** The least bytes in which a client sends a message: in one frame, masked. */
function framedBytes(payload: number): number {
  const length = payload <= SHORT_PAYLOAD ? 0 : payload <= MEDIUM_PAYLOAD ? 2 : 8;
  return HEADER_BYTES + length + MASK_BYTES + payload;
}

/** A frame that exceeds the limit. */
export function tooLarge(maxBytes: number): Refusal {
  return invalid(undefined, `Frame too large: the limit is ${humanBytes(maxBytes)}.`);
}
