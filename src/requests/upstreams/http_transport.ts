import type { Socket } from "node:net";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { pipeline, Readable, type Transform } from "node:stream";
import type { Dispatcher, Pool } from "undici";
import PoolWithoutTypes from "undici/lib/dispatcher/pool.js";
import type { UpstreamSettings } from "../../settings/config/mod.ts";
import type { CoarseTimers } from "../../ground/platform/mod.ts";
import { entryOf } from "../../wire/dialects/mod.ts";
import {
  authenticationFault,
  type Forwarding,
  forwarding,
  makeConnector,
  type OutgoingProxy,
} from "../../ground/ways_out/mod.ts";
import { faultOf, IncomingReply } from "./incoming_reply.ts";
import { skipContinue } from "./interim_responses.ts";
import { ReadableSource } from "./readable_source.ts";
import {
  type ByteSource,
  type Transport,
  TransportFault,
  type UpstreamReply,
  type UpstreamRequest,
} from "./transport.ts";

/** The pool alone: the whole library takes 50 ms and 10 MB more of every start. */
const PoolConstructor: typeof Pool = PoolWithoutTypes;

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
 * Requests over HTTP/1.1 by undici.
 *
 * Not the platform's `fetch`: that has no connect timeout, does not say whether a failed request
 * was sent, repeats a POST by itself when a pooled connection dies (Deno 2.9), and takes a reply
 * whose chunks break off for a complete one. Redirects are not followed, since they would carry
 * the upstream's key to another host.
 */
export class HttpTransport {
  /** By account, those used last at the end. */
  readonly #pools = new Map<string, Pool>();
  readonly #makePool: () => Pool;
  readonly #isPerAccount: boolean;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #query: string;
  readonly #timers: CoarseTimers;
  readonly #totalMs: number;
  readonly #proxy: OutgoingProxy | undefined;
  /** How requests go in absolute form, if they do. */
  readonly #forwarding: Forwarding | undefined;

  constructor({ url, timeouts, caCert, proxy, pool, timers }: HttpTransportOptions) {
    const base = new URL(url);
    this.#origin = base.origin;
    this.#basePath = base.pathname.replace(/\/+$/, "");
    this.#query = base.search;
    this.#timers = timers;
    this.#totalMs = timeouts.totalMs;
    this.#isPerAccount = pool === "account";
    this.#proxy = proxy;
    this.#forwarding = forwarding(proxy, base);
    const connect = makeConnector({ timeoutMs: timeouts.connectMs, ca: caCert, proxy });
    this.#makePool = () =>
      new PoolConstructor(base.origin, {
        connect: (options, connected) =>
          connect(options, (...[error, socket]) => {
            if (error !== null) return connected(error, null);
            skipContinue(socket);
            tellErrorFirst(socket);
            connected(null, socket);
          }),
        headersTimeout: timeouts.readMs,
        bodyTimeout: timeouts.streamMs,
        pipelining: pool === "none" ? 0 : 1, // 0: each request has a connection of its own
      });
  }

  #poolOf(account: string): Pool {
    let pool = this.#pools.get(account);
    if (pool !== undefined && !this.#isPerAccount) return pool;
    pool ??= this.#makePool();
    this.#pools.delete(account);
    this.#pools.set(account, pool);
    if (this.#pools.size > MAX_POOLS) {
      const [[idlest, its]] = this.#pools as Iterable<[string, Pool]> as [[string, Pool]];
      this.#pools.delete(idlest);
      void its.close().catch(() => {}); // once its requests have ended
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
    const incoming = new IncomingReply(signal, this.#timers, this.#totalMs);
    const { content, size } = contentOf(body);
    this.#poolOf(this.#isPerAccount ? account ?? SHARED : SHARED).dispatch({
      path: `${this.#forwarding?.prefix ?? ""}${this.#pathOf(path)}`,
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...headers,
        "accept-encoding": "identity",
        ...this.#forwarding?.headers,
        ...(size !== undefined && { "content-length": String(size) }),
      },
      body: content,
    }, incoming);
    const { status, headers: replyHeaders } = await incoming.began;
    if (status === 407 && this.#forwarding !== undefined) {
      incoming.discard();
      throw faultOf(authenticationFault(this.#proxy!)); // the proxy's own
    }
    // codings are compared without regard to case (RFC 9110, 8.4.1)
    const encoding = String(replyHeaders["content-encoding"] ?? "").toLowerCase().split(",")
      .map((one) => one.trim()).filter((one) => !["", "identity"].includes(one)).join(", ");
    return {
      status,
      headers: replyHeaders,
      body: encoding === "" ? incoming : decoded(incoming, encoding),
      discard: () => incoming.discard(),
      drain: () => incoming.drain(),
    } satisfies UpstreamReply;
  };

  /** Closes idle connections, and running ones with them. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }
}

/**
 * Has a socket tell what broke it before it tells that it is closed, which Deno 2.4 does the other way round. undici would take the close
 * for the end of a reply without a length, and its pool could not be closed any more.
 */
function tellErrorFirst(socket: Socket): void {
  let isTold = false;
  socket.once("error", () => isTold = true);
  socket.once("close", () => {
    if (!isTold && socket.errored) socket.emit("error", socket.errored);
  });
}

/** Longer bodies are let go of once they are written: undici keeps what it was given until the reply ends. */
const KEPT_CHARS = 4_096;

const encoder = new TextEncoder();

/** A request's body as undici takes it, and its bytes where undici cannot know them. */
function contentOf(
  body: UpstreamRequest["body"],
): {
  readonly content: NonNullable<Dispatcher.DispatchOptions["body"]> | null;
  readonly size?: number;
} {
  if (typeof body === "object") return { content: Readable.from(body), size: body.size };
  if (body === undefined || body.length <= KEPT_CHARS) return { content: body ?? null };
  const bytes = encoder.encode(body);
  // undici takes any iterable, which its types do not tell
  const content = new ReleasedOnceRead(bytes) as Iterable<Uint8Array> as never;
  return { content, size: bytes.byteLength };
}

/** Yields bytes once and keeps nothing; a generator that has ended still holds its arguments. */
class ReleasedOnceRead implements IterableIterator<Uint8Array> {
  #bytes: Uint8Array | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<Uint8Array, undefined> {
    const value = this.#bytes;
    this.#bytes = undefined;
    return value === undefined ? { done: true, value } : { done: false, value };
  }
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Some upstreams compress although they are asked not to. */
function decoded(incoming: IncomingReply, encoding: string): ByteSource {
  const decoder = entryOf(DECODERS, encoding)?.();
  if (decoder === undefined) {
    incoming.discard();
    throw new TransportFault("broken", `the reply is encoded as ${encoding}`);
  }
  // a failure of either end reaches the reader through the decoder
  return new ReadableSource(
    pipeline(Readable.from(pieces(incoming)), decoder, () => {}),
  );
}

/** Compressed bytes that are decoded at once: a thousand times as many may come of them. */
const DECODED_BYTES = 512;

async function* pieces(source: ByteSource): AsyncGenerator<Uint8Array> {
  for (let bytes = await source.read(); bytes !== undefined; bytes = await source.read()) {
    for (let at = 0; at < bytes.byteLength; at += DECODED_BYTES) {
      yield bytes.subarray(at, at + DECODED_BYTES);
    }
  }
}
