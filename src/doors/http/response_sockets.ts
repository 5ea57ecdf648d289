import type { Caller } from "../../people/accounts/mod.ts";
import type { Settings } from "../../settings/config/mod.ts";
import { connectionFault } from "../../wire/dialects/mod.ts";
import type { RateLimit } from "../../ground/rate_limits/mod.ts";
import { invalid, Refusal } from "../../ground/refusal.ts";
import { delay } from "../../ground/std/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import type { Arrivals } from "./arrivals.ts";
import type { Connections } from "./connections.ts";
import { checkQuota, UNBILLED_BYTES } from "./quota.ts";
import { PartialInput, type PartialInputOptions } from "./partial_input.ts";
import { ConnectionMemory, HeldFrames } from "./connection_memory.ts";
import { RecentResponses } from "./recent_responses.ts";
import { shuttingDown } from "./responses.ts";
import { type Places, takePlace } from "./places.ts";
import type { RequestState } from "./request_state.ts";
import { ResponseSocket } from "./response_socket.ts";

/** Sends a request through the gateway. */
export type RequestTurn = (
  request: Request,
  info: { readonly remoteAddr: Deno.Addr } | undefined,
  options: { readonly generates: boolean },
) => Response | Promise<Response>;

/** Dependencies of {@linkcode ResponseSockets}. */
export interface ResponseSocketsOptions extends PartialInputOptions {
  readonly arrivals: Pick<Arrivals, "watch" | "endSoon">;
  readonly request: RequestTurn;
  readonly connections: Connections;
  /** Max bytes of responses that are kept for a moment. Default: 256 MB. */
  readonly recentBytes?: number;
  /** Places for open connections, shared between accounts, and those of each key. */
  readonly places: Places;
  /** Max characters of frames that are in memory. Default: 128 M. */
  readonly frameChars?: number;
  /** Bytes of rejected frames count in the key's quota. */
  readonly unbilledBytes: RateLimit;
  readonly log: Log;
}

/** A client that wants a connection. */
export interface SocketRequest {
  readonly request: Request;
  readonly state: RequestState;
  readonly caller: Caller;
  readonly settings: Pick<Settings, "responses" | "limits">;
}

/** A connection that is open. */
interface Open {
  readonly socket: ResponseSocket;
  readonly settings: Settings["responses"];
}

/** Max interval of looks at idle connections. */
const MAX_LOOK_MS = 1_000;
const LOOKS_PER_LIMIT = 4;
const MIN_LOOK_MS = 20;
/** Time for a client to complete the handshake, and after which the platform closes a connection without a sign of life. */
const HANDSHAKE_MS = 10_000;
const PING_S = 120;
/** Memory of a thread for what connections continue, and the share of one of them. */
const MEMORY_BYTES = 256 * 1_048_576;
const CONNECTION_BYTES = 16 * 1_048_576;
/** The same for frames, in characters. */
const FRAME_CHARS = 128 * 1_048_576;

/** Headers of a handshake that are not those of its turns. */
const HANDSHAKE =
  /^(?:connection|upgrade|sec-websocket-.*|x-request-id|origin|content-.*|transfer-encoding|accept|expect|te|trailer)$/;

/** The WebSockets of a thread, over which clients create responses. They outlive the settings that they began with. */
export class ResponseSockets {
  readonly #options: ResponseSocketsOptions;
  readonly #open = new Set<Open>();
  readonly #memory: ConnectionMemory;
  readonly #frameMemory: ConnectionMemory;
  readonly #partial: PartialInput;
  #looking: ReturnType<typeof setInterval> | undefined;
  #isDraining = false;

  constructor(options: ResponseSocketsOptions) {
    this.#options = options;
    this.#partial = new PartialInput(options);
    this.#memory = new ConnectionMemory(Math.min(MEMORY_BYTES, options.recentBytes ?? Infinity));
    this.#frameMemory = new ConnectionMemory(Math.min(FRAME_CHARS, options.frameChars ?? Infinity));
  }

  /**
   * Upgrades a request to a connection.
   *
   * @throws {Refusal} `request_invalid` if the handshake is not valid; `rate_exceeded` if the key has sent too much that was
   *   rejected; `gateway_unavailable` if there are too many connections, or they are closed just now.
   */
  open({ request, state, caller, settings }: SocketRequest): Response {
    if (this.#isDraining) throw shuttingDown();
    const { log, unbilledBytes, places, connections } = this.#options;
    checkQuota(unbilledBytes, caller.keyId, UNBILLED_BYTES);
    const turns = turnRequests(request); // the request cannot be read once it is upgraded
    const release = takePlace(caller, places, { peer: state.peer, connections });
    let upgraded: Deno.WebSocketUpgrade;
    try {
      upgraded = Deno.upgradeWebSocket(request, { idleTimeout: PING_S });
    } catch (cause) {
      release();
      throw invalid(undefined, `Invalid WebSocket handshake: ${String(cause).slice(0, 200)}.`);
    }
    const info = state.peer && { remoteAddr: state.peer };
    const { requestId } = state;
    const frames = this.#partial.frames(state.peer, {
      account: caller.accountId,
      maxBytes: settings.limits.bodyBytes,
      refused: (error, bytes) => {
        unbilledBytes.add(caller.keyId, bytes);
        open.socket.refuse(error);
      },
    });
    const held = new HeldFrames(this.#frameMemory, caller.accountId, () => {
      open.socket.refuse(tooManyFrames());
      this.#options.arrivals.endSoon(state.peer); // the platform keeps the last frame for as long as the connection is there
    });
    const open: Open = {
      settings: settings.responses,
      socket: new ResponseSocket(upgraded.socket, {
        // not an async function, which would keep the body until there is a response
        request: (body, { signal, generates }) =>
          Promise.resolve(this.#options.request(turns(body, signal), info, { generates })),
        maxChars: settings.limits.bodyBytes,
        holds: (chars) => held.use(chars),
        recent: new RecentResponses(this.#memory, caller.accountId, CONNECTION_BYTES),
        rejected: (size) => {
          unbilledBytes.add(caller.keyId, size);
          return unbilledBytes.waitMs(caller.keyId) === 0;
        },
        onMessage: frames.arrived,
        onFault: (error) =>
          log.error("a WebSocket failed", { id: requestId, error: String(error) }),
        onClose: () => {
          this.#open.delete(open);
          frames.end();
          release();
          if (this.#open.size === 0) this.#stopLooking();
        },
      }),
    };
    this.#open.add(open);
    this.#look(settings.responses);
    return upgraded.response;
  }

  /** Closes every connection that has no turn in progress, and the others after it; or takes new ones again. */
  drain(isDraining: boolean): void {
    this.#isDraining = isDraining;
    if (!isDraining) return;
    for (const { socket } of this.#open) socket.close("the gateway is shutting down");
  }

  /**
   * Closes all connections.
   *
   * @param patienceMs Max time for clients to take their last frames and to close their ends.
   */
  async close(patienceMs: number): Promise<void> {
    this.drain(true);
    const untilTick = performance.now() + patienceMs;
    while (this.#open.size > 0 && performance.now() < untilTick) await delay(MIN_LOOK_MS);
    for (const { socket } of [...this.#open]) socket.abandon();
    this.#stopLooking();
  }

  /** Looks at all connections from time to time: each has two limits, and a timer for each would cost more. */
  #look({ socketIdleMs, socketMs }: Settings["responses"]): void {
    if (this.#looking !== undefined) return;
    const everyMs = Math.min(MAX_LOOK_MS, Math.min(socketIdleMs, socketMs) / LOOKS_PER_LIMIT);
    this.#looking = setInterval(() => this.#closeOld(), Math.max(MIN_LOOK_MS, everyMs));
    Deno.unrefTimer(this.#looking);
  }

  #stopLooking(): void {
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  #closeOld(): void {
    const nowTick = performance.now();
    for (const { socket, settings: { socketIdleMs, socketMs } } of [...this.#open]) {
      const ageMs = nowTick - socket.openedTick;
      if (ageMs > HANDSHAKE_MS && !socket.isOpen && !socket.isRunning) socket.abandon();
      else if (ageMs > socketMs) socket.close("too old", tooOld(socketMs));
      else if (nowTick - socket.usedTick > socketIdleMs && !socket.isRunning) socket.close("idle");
      if (nowTick - (socket.unreadTick ?? nowTick) > socketIdleMs) socket.abandon();
    }
  }
}

/** Makes the requests of a connection's turns: with its key and headers. */
function turnRequests(
  { url, headers }: Request,
): (body: Uint8Array[], signal: AbortSignal) => Request {
  const own = [...headers].filter(([name]) => !HANDSHAKE.test(name));
  return (pieces, signal) => {
    const size = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    return new Request(url, {
      method: "POST",
      headers: [
        ...own,
        ["content-type", "application/json"],
        ["content-length", String(size)],
        ["accept", "text/event-stream"],
      ],
      body: handedOver(pieces),
      signal,
    });
  };
}

/** Pieces one by one. The request keeps none of them, which is there for as long as it is replied to. */
function handedOver(pieces: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
  }, { highWaterMark: 0 });
}

function tooManyFrames(): Refusal {
  const message = "Too many large frames on WebSockets of this account. Please try again.";
  return new Refusal("gateway_unavailable", message);
}

function tooOld(socketMs: number) {
  return connectionFault(
    "websocket_connection_limit_reached",
    `The connection has been open for ${
      Math.round(socketMs / 60_000)
    } minutes, the limit. Open another one.`,
  );
}
