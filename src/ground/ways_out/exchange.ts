import { CoarseTimers, joinBytes } from "../platform/mod.ts";
import type { Headers } from "../http1/mod.ts";
import { serverAt } from "./connect.ts";
import type { OutgoingProxy } from "./outgoing_proxy.ts";

/** A small request, and how it is sent. */
export interface ExchangeRequest {
  readonly url: URL;
  readonly method: "GET" | "PUT" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** Undefined for a direct connection. */
  readonly proxy: OutgoingProxy | undefined;
  /** IP address to connect to instead of the URL's host, which is then not resolved. Only without a proxy. */
  readonly address?: string | undefined;
  /** PEM text of a certificate authority to trust besides the usual ones. */
  readonly ca?: string | undefined;
  /** Max time for the connection, for the reply's head and between its pieces, in milliseconds. */
  readonly timeoutMs: number;
  /** Bytes of the reply's body that are read; the rest is dropped. */
  readonly maxBytes: number;
  /** Ends the request. */
  readonly signal: AbortSignal;
}

/** A reply, with as much of its body as was wanted. */
export interface ExchangeReply {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Sends one request exactly once, on a connection of its own. Redirects are not followed. Not the platform's `fetch`: that would repeat a
 * POST by itself when a pooled connection dies, and takes proxies from the environment even for this machine.
 *
 * @throws What the connection failed with, or the signal's reason.
 */
export async function exchange(request: ExchangeRequest): Promise<ExchangeReply> {
  const { url, method, headers, body, timeoutMs, signal } = request;
  signal.throwIfAborted();
  const timers = new CoarseTimers();
  const server = serverAt(url, {
    ...request,
    keepsConnections: false,
    headMs: timeoutMs,
    bodyMs: timeoutMs,
    totalMs: Infinity,
    makeFault: (cause) => cause instanceof Error ? cause : new Error("aborted", { cause }),
    timers,
  });
  const pool = server.pool();
  try {
    const target = server.targetOf(`${url.pathname}${url.search}`);
    const reply = pool.send({ method, target, headers, body, signal });
    const { status, headers: received } = await reply.began;
    server.checkStatus(status);
    const pieces: Uint8Array[] = [];
    for (let left = request.maxBytes; left > 0;) {
      const piece = await reply.read();
      if (piece === undefined) break;
      pieces.push(piece.subarray(0, left));
      left -= Math.min(left, piece.byteLength);
    }
    return { status, headers: received, text: new TextDecoder().decode(joinBytes(pieces)) };
  } finally {
    await pool.close();
    timers.close();
  }
}
