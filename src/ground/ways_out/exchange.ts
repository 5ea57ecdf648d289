import { Buffer } from "node:buffer";
import type { Dispatcher, Pool } from "undici";
import PoolWithoutTypes from "undici/lib/dispatcher/pool.js";
import { until } from "../platform/mod.ts";
import { forwarding, makeConnector } from "./connect.ts";
import type { OutgoingProxy } from "./outgoing_proxy.ts";
import { authenticationFault } from "./proxy_fault.ts";

const PoolConstructor: typeof Pool = PoolWithoutTypes;
/** Below it, a reply is still to come. */
const FIRST_FINAL_STATUS = 200;

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
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/**
 * Sends one request exactly once, on a connection of its own. Redirects are not followed. Not the platform's `fetch`: that would repeat a
 * POST by itself when a pooled connection dies, and takes proxies from the environment even for this machine.
 *
 * @throws What the connection failed with, or the signal's reason.
 */
export async function exchange(request: ExchangeRequest): Promise<ExchangeReply> {
  const { url, method, proxy, address, timeoutMs, signal } = request;
  signal.throwIfAborted();
  const connect = makeConnector({ timeoutMs, proxy, ca: request.ca });
  const pool = new PoolConstructor(url.origin, {
    connect: address === undefined
      ? connect
      : (options, connected) => connect({ ...options, hostname: address }, connected),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  const forwarded = forwarding(proxy, url);
  try {
    const reply = await until(
      replyOf(pool, {
        method,
        path: `${forwarded?.prefix ?? ""}${url.pathname}${url.search}`,
        headers: { "accept-encoding": "identity", ...request.headers, ...forwarded?.headers },
        body: request.body ?? null,
      }, request.maxBytes),
      signal,
    );
    if (reply.status === 407 && forwarded !== undefined) throw authenticationFault(proxy!);
    return reply;
  } finally {
    pool.destroy().catch(() => {});
  }
}

function replyOf(
  pool: Pool,
  request: Dispatcher.DispatchOptions,
  maxBytes: number,
): Promise<ExchangeReply> {
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    let left = maxBytes;
    let head: Pick<ExchangeReply, "status" | "headers"> | undefined;
    const end = () => {
      if (head === undefined) return reject(new Error("no reply"));
      resolve({ ...head, text: Buffer.concat(pieces).toString("utf8") });
    };
    pool.dispatch(request, {
      onRequestStart() {}, // by which undici knows what kind of handler it is
      onResponseStart(_controller, status, headers) {
        if (status < FIRST_FINAL_STATUS) return;
        head = { status, headers };
        if (left === 0) end();
      },
      onResponseData(_controller, piece) {
        if (left === 0) return;
        pieces.push(piece.subarray(0, left));
        left -= Math.min(left, piece.byteLength);
        if (left === 0) end();
      },
      onResponseEnd: end,
      onResponseError: (_controller, error) => reject(error),
    });
  });
}
