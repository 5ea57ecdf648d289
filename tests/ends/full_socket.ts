import { ConnectionMemory } from "../../src/doors/http/connection_memory.ts";
import { RecentResponses } from "../../src/doors/http/recent_responses.ts";
import { ResponseSocket } from "../../src/doors/http/response_socket.ts";
import type { JsonObject } from "../../src/wire/dialects/mod.ts";
import type { TestGateway } from "../fake/gateway.ts";

/** The caller's end of a WebSocket. */
export interface CallersEnd {
  send(frame: JsonObject): Promise<void>;
  /** The next frame; undefined once the connection is closed. */
  next(): Promise<Record<string, unknown> | undefined>;
  /** Ends the connection without a word. */
  drop(): void;
}

/** More than what a turn sends to a client that does not read. */
const FULL_BYTES = 300_000;
const RECENT_BYTES = 16 * 1_048_576;

/**
 * A WebSocket of the gateway's that nothing lies in between, as the platform shows it where all buffers on the way are full: only a
 * caller that waits for a frame has room for one.
 */
export class FullSocket implements CallersEnd {
  readyState: number = WebSocket.OPEN;
  onmessage: ((event: { data: string }) => void) | undefined;
  onclose: (() => void) | undefined;
  readonly #turns: ResponseSocket;
  readonly #noticed: (withoutRoomMs: number) => void;
  /** When the last frame came, as long as the gateway has seen no room since. */
  #fullTick: number | undefined;
  readonly #frames: string[] = [];
  #reader: PromiseWithResolvers<void> | undefined;

  /**
   * @param options.headers Those of the handshake.
   * @param options.noticed Called when the gateway sees that there is room, with how long it saw none.
   */
  constructor(
    { gateway: { app }, url }: TestGateway,
    { headers, noticed = () => {} }: {
      readonly headers: Readonly<Record<string, string>>;
      readonly noticed?: (withoutRoomMs: number) => void;
    },
  ) {
    this.#noticed = noticed;
    this.#turns = new ResponseSocket(this as unknown as WebSocket, {
      request: (pieces, { signal, generates }) => {
        const body = new Blob(pieces as Uint8Array<ArrayBuffer>[]);
        const more = { "content-length": String(body.size), accept: "text/event-stream" };
        const init = { method: "POST", headers: { ...headers, ...more }, body, signal };
        return app.turn(new Request(`${url}/v1/responses`, init), undefined, { generates });
      },
      recent: new RecentResponses(new ConnectionMemory(RECENT_BYTES), "", RECENT_BYTES),
      maxChars: RECENT_BYTES,
      holds: () => {},
      rejected: () => true,
      onFault: (error) => {
        throw error;
      },
      onClose: () => {},
    });
  }

  get bufferedAmount(): number {
    if (this.#reader === undefined) return FULL_BYTES;
    const tick = performance.now();
    this.#noticed(tick - (this.#fullTick ?? tick));
    this.#fullTick = undefined;
    return 0;
  }

  /** Called by the gateway with a frame for the caller, or by the caller with one for it. */
  send(frame: string | JsonObject): Promise<void> {
    if (typeof frame === "string") this.#came(frame);
    else this.onmessage?.({ data: JSON.stringify(frame) });
    return Promise.resolve();
  }

  /** Whether all that was sent is read. */
  get isRead(): boolean {
    return this.#frames.length === 0;
  }

  async next(): Promise<JsonObject | undefined> {
    while (this.isRead && this.readyState === WebSocket.OPEN) {
      this.#reader = Promise.withResolvers();
      await this.#reader.promise;
    }
    const frame = this.#frames.shift();
    return frame === undefined ? undefined : JSON.parse(frame);
  }

  /** The gateway lets go of a caller that has not read for too long. */
  abandon(): void {
    this.#turns.abandon();
  }

  drop(): void {
    this.close();
  }

  close(): void {
    if (this.readyState === WebSocket.CLOSED) return;
    this.readyState = WebSocket.CLOSED;
    this.#wake();
    this.onclose?.();
  }

  #came(frame: string): void {
    this.#fullTick ??= performance.now();
    this.#frames.push(frame);
    this.#wake();
  }

  #wake(): void {
    this.#reader?.resolve();
    this.#reader = undefined;
  }
}
