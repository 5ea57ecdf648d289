import type { UpstreamSettings } from "../../settings/config/mod.ts";
import type { CoarseTimers } from "../../ground/platform/mod.ts";
import { decodedBody, type HttpPool, type MakeFault } from "../../ground/http1/mod.ts";
import { type OutgoingProxy, type Server, serverAt } from "../../ground/ways_out/mod.ts";
import { type Transport, TransportFault, type UpstreamReply } from "./transport.ts";

/** Max accounts whose connections are kept apart; those of the account that was idle for longest are closed. */
const MAX_POOLS = 256;
const SHARED = "";

/** How an HTTP upstream is reached. */
export interface HttpTransportOptions {
  /** Base that a request's path is appended to: `https://host/v1`. */
  readonly url: string;
  readonly timeouts: {
    readonly connectMs: number;
    readonly readMs: number;
    readonly streamMs: number;
    readonly totalMs: number;
  };
  /** PEM text of a certificate authority to trust besides the usual ones. */
  readonly caCert?: string | undefined;
  /** Undefined for direct connections. */
  readonly proxy?: OutgoingProxy | undefined;
  /** Whose requests a connection is used again for. */
  readonly pool: UpstreamSettings["pool"];
  readonly timers: CoarseTimers;
}

/**
 * Requests over HTTP/1.1 by a client of our own.
 *
 * Not the platform's `fetch`: that has no connect timeout, does not say whether a failed request
 * was sent, repeats a POST by itself when a pooled connection dies (Deno 2.9), and takes a reply
 * whose chunks break off for a complete one. Redirects are not followed, since they would carry
 * the upstream's key to another host.
 */
export class HttpTransport {
  /** By account, those used last at the end. */
  readonly #pools = new Map<string, HttpPool>();
  readonly #server: Server;
  readonly #isPerAccount: boolean;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #query: string;

  constructor({ url, timeouts, caCert, proxy, pool, timers }: HttpTransportOptions) {
    const base = new URL(url);
    this.#origin = base.origin;
    this.#basePath = base.pathname.replace(/\/+$/, "");
    this.#query = base.search;
    this.#isPerAccount = pool === "account";
    this.#server = serverAt(base, {
      timeoutMs: timeouts.connectMs,
      headMs: timeouts.readMs,
      bodyMs: timeouts.streamMs,
      totalMs: timeouts.totalMs,
      ca: caCert,
      proxy,
      keepsConnections: pool !== "none", // else each request has a connection of its own
      makeFault: faultOf,
      timers,
    });
  }

  #poolOf(account: string): HttpPool {
    const pool = this.#pools.get(account) ?? this.#server.pool();
    this.#pools.delete(account);
    this.#pools.set(account, pool);
    if (this.#pools.size > MAX_POOLS) {
      const [[idlest, its]] = this.#pools as Iterable<[string, HttpPool]> as [[string, HttpPool]];
      this.#pools.delete(idlest);
      its.retire();
    }
    return pool;
  }

  /** The whole address that a request's path is sent to. */
  urlOf(path: string): string {
    return `${this.#origin}${this.#pathOf(path)}`;
  }

  #pathOf(path: string): string {
    const [, query] = path.split("?", 2);
    return `${this.#basePath}${path}${
      query === undefined ? this.#query : this.#query.replace("?", "&")
    }`;
  }

  readonly send: Transport = async ({ path, headers, body, signal, account }) => {
    const reply = this.#poolOf(this.#isPerAccount ? account ?? SHARED : SHARED).send({
      method: body === undefined ? "GET" : "POST",
      target: this.#server.targetOf(this.#pathOf(path)),
      headers,
      body,
      signal,
    });
    const { status, headers: replyHeaders } = await reply.began;
    try {
      this.#server.checkStatus(status);
    } catch (error) {
      reply.discard();
      throw faultOf(error, "connecting");
    }
    return {
      status,
      headers: replyHeaders,
      body: decodedBody(reply, replyHeaders, faultOf),
      discard: () => reply.discard(),
      drain: () => reply.drain(),
    } satisfies UpstreamReply;
  };

  /** Closes idle connections, and running ones with them. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }
}

/** What a failure of the HTTP client, of a connection or of the platform's sockets means for a request. */
const faultOf: MakeFault = (cause, stage) => {
  if (cause instanceof TransportFault) return cause;
  if (stage === "aborted") return new TransportFault("left", "the caller left");
  const { code, message } = cause as { code?: unknown; message?: string };
  const name = typeof code === "string" ? code : "";
  if (name === "ERR_REPLY_TOTAL_TIMEOUT") {
    return new TransportFault("broken", message ?? "", { timedOut: true, isLimit: true });
  }
  const kind = stage === "connecting"
    ? "not_sent"
    : name === "ERR_REPLY_HEAD_TIMEOUT"
    ? "no_reply"
    : "broken";
  return new TransportFault(kind, `${name} ${message ?? cause}`.trim(), {
    cause,
    timedOut: /TIMEOUT$|^ETIMEDOUT$/.test(name),
  });
};
