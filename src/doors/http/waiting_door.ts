import { newRequestId } from "../../ground/platform/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { errorResponse } from "./responses.ts";

const RETRY_AFTER_MS = 2_000;

/**
 * Listens instead of a gateway that cannot start yet, as its database does not answer: clients are told to come again, in the
 * dialect of their path, and `/readyz` says why.
 */
export class WaitingDoor implements AsyncDisposable {
  readonly port: number;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /**
   * @param why What is waited for, for `/readyz`: that may be read by anybody who reaches it.
   * @throws {Deno.errors.AddrInUse} If the port is in use.
   */
  constructor(
    { host, port, now }: {
      readonly host: string;
      readonly port: number;
      readonly now: () => number;
    },
    why: string,
  ) {
    this.#server = Deno.serve({ hostname: host, port, onListen() {} }, async (request) => {
      await request.body?.cancel();
      return respond(request, why, now());
    });
    this.port = this.#server.addr.port;
  }

  /** Stops listening. Its responses take no time. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

function respond(request: Request, why: string, nowMs: number): Response {
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
  const state = {
    requestId,
    clientRequestId: undefined,
    path,
    headers: { ...headers, "x-request-id": requestId, "request-id": requestId },
    peer: undefined,
    header: (name: string) => request.headers.get(name),
    isCodex: false,
  };
  const refusal = new Refusal(
    "gateway_unavailable",
    "The gateway is starting: it waits for its database. Please try again.",
    { retryAfterMs: RETRY_AFTER_MS },
  );
  return errorResponse(state, refusal, nowMs);
}
