import { CoarseTimers, newRequestId, residentBytes } from "../../ground/platform/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { Arrivals } from "./arrivals.ts";
import { Connections } from "./connections.ts";
import { crossOriginHeaders, preflight } from "./cross_origin.ts";
import { isApiPath } from "./request_line.ts";
import { errorResponse } from "./responses.ts";
import { serve, type Server } from "./serve.ts";
import { Sockets } from "./sockets.ts";

const RETRY_AFTER_MS = 2_000;
/** Time for responses that were begun: the gateway waits for the port. */
const CLOSE_MS = 500;

/** Address and bounds of a {@linkcode WaitingDoor}. */
export interface WaitingDoorOptions {
  readonly host: string;
  readonly port: number;
  readonly now: () => number;
  /** Time after which connections are closed on which nothing was sent, in milliseconds. */
  readonly idleMs: number;
  /** Allowed origins of browsers; `*` allows any. */
  readonly origins: readonly string[];
  /** Called when the listener failed because the process is out of descriptors, and will be restarted. */
  readonly onInterruption: (error: unknown) => void;
}

/**
 * Listens instead of a gateway that cannot start yet, as its database does not answer: clients are told to come again, in the
 * dialect of their path, and `/readyz` says why. What arrives on its connections is bounded as at a gateway's.
 */
export class WaitingDoor implements AsyncDisposable {
  readonly port: number;
  /** What is waited for, which may be read by anybody who reaches it. */
  why: string;
  readonly #owned = new DisposableStack();
  readonly #server: Server;

  /**
   * @param why See {@linkcode WaitingDoor.why}.
   * @throws {Deno.errors.AddrInUse} If the port is in use.
   */
  constructor(
    { host, port, now, idleMs, origins, onInterruption }: WaitingDoorOptions,
    why: string,
  ) {
    this.why = why;
    const own = <T extends { close(): void }>(part: T) =>
      this.#owned.adopt(part, (one) => one.close());
    const sockets = Sockets.open();
    const timers = own(new CoarseTimers());
    const connections = own(new Connections({ sockets, timers, idleMs }));
    const arrivals = own(new Arrivals({ sockets, residentBytes }));
    const fetch = (request: Request, info?: { readonly remoteAddr: Deno.Addr }) => {
      arrivals.progressed(info?.remoteAddr);
      return respond(request, { why: this.why, origins, nowMs: now() });
    };
    try {
      this.#server = serve({ fetch }, {
        host,
        port,
        connections,
        listened(bound) {
          sockets?.refuseHttp2(bound);
          sockets?.extendBacklog(bound);
          arrivals.start(bound);
        },
        onInterruption,
      });
    } catch (error) {
      this.#owned.dispose();
      throw error;
    }
    this.port = this.#server.port;
  }

  /** Stops listening, and ends connections that stay open. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close(CLOSE_MS);
    this.#owned.dispose();
  }
}

function respond(
  request: Request,
  { why, origins, nowMs }: Pick<WaitingDoorOptions, "origins"> & {
    readonly why: string;
    readonly nowMs: number;
  },
): Response {
  const { pathname: path } = new URL(request.url);
  const headers = { "connection": "close" }; // the next request is for the gateway
  if (path === "/healthz") return Response.json({ status: "ok" }, { headers });
  if (path === "/readyz") {
    return Response.json({ status: "not ready", faults: [why] }, {
      status: STATUS_CODE.ServiceUnavailable,
      headers: { ...headers, "retry-after": String(RETRY_AFTER_MS / 1_000) },
    });
  }
  const requestId = newRequestId(nowMs);
  const ids = { ...headers, "x-request-id": requestId, "request-id": requestId };
  const own = isApiPath(path) ? { ...ids, ...crossOriginHeaders(request, origins) } : ids;
  if (isApiPath(path) && request.method === "OPTIONS") return preflight(request, own);
  const state = {
    requestId,
    clientRequestId: undefined,
    path,
    headers: own,
    peer: undefined,
    header: (name: string) => request.headers.get(name),
    isCodex: false,
  };
  const refusal = new Refusal(
    "gateway_unavailable",
    `The gateway is starting: ${why}. Please try again.`,
    { retryAfterMs: RETRY_AFTER_MS },
  );
  return errorResponse(state, refusal, nowMs);
}
