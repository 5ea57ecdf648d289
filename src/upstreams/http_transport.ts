import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { pipeline, Readable } from "node:stream";
import { Pool } from "undici";
import {
  type ByteSource,
  type Transport,
  TransportFault,
  type UpstreamReply,
} from "./transport.ts";

/** How an HTTP upstream is reached. */
export interface HttpTransportOptions {
  /** Base that a request's path is appended to: `https://host/v1`. */
  readonly url: string;
  readonly timeouts: {
    readonly connectMs: number;
    readonly readMs: number;
    readonly streamMs: number;
  };
  /** PEM text of a certificate authority to trust besides the usual ones. */
  readonly caCert?: string | undefined;
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
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #query: string;

  constructor({ url, timeouts, caCert }: HttpTransportOptions) {
    const base = new URL(url);
    this.#basePath = base.pathname.replace(/\/+$/, "");
    this.#query = base.search;
    this.#pool = new Pool(base.origin, {
      connect: { timeout: timeouts.connectMs, ...(caCert === undefined ? {} : { ca: caCert }) },
      headersTimeout: timeouts.readMs,
      bodyTimeout: timeouts.streamMs,
      pipelining: 1,
    });
  }

  readonly send: Transport = async ({ path, headers, body, signal }) => {
    let reply: Awaited<ReturnType<Pool["request"]>>;
    try {
      reply = await this.#pool.request({
        path: `${this.#basePath}${path}${this.#query}`,
        method: "POST",
        headers: { ...headers, "accept-encoding": "identity" },
        body,
        signal,
      });
    } catch (error) {
      throw faultOf(error, signal);
    }
    const decoded = decode(reply.body, reply.headers["content-encoding"]);
    return {
      status: reply.statusCode,
      headers: reply.headers,
      body: new ReadableSource(decoded, signal),
      discard: () => void reply.body.destroy(),
    } satisfies UpstreamReply;
  };

  /** Closes idle connections, and running ones with them. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/**
 * A Node stream, read on demand. Its events are followed directly: an async iterator costs several
 * promises for each piece, and hands out pieces one by one that have long arrived together.
 */
class ReadableSource implements ByteSource {
  readonly #stream: Readable;
  readonly #signal: AbortSignal;
  #ended = false;
  #failure: { error: unknown } | undefined;
  #waiting: (() => void) | undefined;

  constructor(stream: Readable, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    stream.on("readable", this.#wake);
    stream.once("end", () => {
      this.#ended = true;
      this.#wake();
    });
    stream.on("error", (error: unknown) => {
      this.#failure ??= { error };
      this.#wake();
    });
    stream.once("close", () => {
      if (!this.#ended) this.#failure ??= { error: new Error("the connection was closed") };
      this.#wake();
    });
  }

  async read(): Promise<Uint8Array | undefined> {
    while (true) {
      const bytes: Uint8Array | null = this.#stream.read();
      if (bytes !== null) return bytes;
      if (this.#ended) return undefined;
      if (this.#failure !== undefined) throw this.#fault(this.#failure.error);
      await new Promise<void>((resolve) => this.#waiting = resolve);
    }
  }

  readonly #wake = () => {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  };

  /** The request was sent, whatever the error's name. */
  #fault(error: unknown): TransportFault {
    const fault = faultOf(error, this.#signal);
    return fault.kind === "not_sent"
      ? new TransportFault("broken", fault.message, { cause: error })
      : fault;
  }
}

/** Some upstreams compress although they are asked not to. */
function decode(body: Readable, encoding: string | string[] | undefined): Readable {
  const decoder = encoding === undefined || encoding === "identity"
    ? undefined
    : encoding === "gzip" || encoding === "x-gzip"
    ? createGunzip()
    : encoding === "deflate"
    ? createInflate()
    : encoding === "br"
    ? createBrotliDecompress()
    : null;
  if (decoder === undefined) return body;
  if (decoder === null) throw new TransportFault("broken", `the reply is encoded as ${encoding}`);
  // a failure of either end reaches the reader through the decoder
  return pipeline(body, decoder, () => {});
}

const NOT_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EAI_FAIL",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_HAS_EXPIRED",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

function faultOf(error: unknown, signal: AbortSignal): TransportFault {
  if (error instanceof TransportFault) return error;
  if (signal.aborted) return new TransportFault("left", "the caller left", { cause: error });
  const { code, message } = error as { code?: unknown; message?: unknown };
  const name = typeof code === "string" ? code : "";
  const text = `${name} ${typeof message === "string" ? message : String(error)}`.trim();
  const notSent = NOT_SENT.has(name) || /invalid peer certificate|certificate/i.test(text);
  return new TransportFault(notSent ? "not_sent" : "broken", text, { cause: error });
}
