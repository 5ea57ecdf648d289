import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { pipeline, Readable } from "node:stream";
import { Agent } from "undici";
import { type Transport, TransportFault, type UpstreamReply } from "./transport.ts";

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
  readonly #agent: Agent;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #query: string;

  constructor({ url, timeouts, caCert }: HttpTransportOptions) {
    const base = new URL(url);
    this.#origin = base.origin;
    this.#basePath = base.pathname.replace(/\/+$/, "");
    this.#query = base.search;
    this.#agent = new Agent({
      connect: { timeout: timeouts.connectMs, ...(caCert === undefined ? {} : { ca: caCert }) },
      headersTimeout: timeouts.readMs,
      bodyTimeout: timeouts.streamMs,
      pipelining: 1,
    });
  }

  readonly send: Transport = async ({ path, headers, body, signal }) => {
    let reply: Awaited<ReturnType<Agent["request"]>>;
    try {
      reply = await this.#agent.request({
        origin: this.#origin,
        path: `${this.#basePath}${path}${this.#query}`,
        method: "POST",
        headers: { ...headers, "accept-encoding": "identity" },
        body,
        signal,
      });
    } catch (error) {
      throw faultOf(error, signal);
    }
    const replyHeaders = flatten(reply.headers);
    const decoded = decode(reply.body, replyHeaders["content-encoding"]);
    return {
      status: reply.statusCode,
      headers: replyHeaders,
      body: guarded(decoded, signal),
      discard() {
        reply.body.on("error", () => {}); // destroying an unread body reports an abort
        reply.body.destroy();
      },
    } satisfies UpstreamReply;
  };

  /** Closes idle connections, and running ones with them. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

async function* guarded(body: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    const fault = faultOf(error, signal);
    throw fault.kind === "not_sent"
      ? new TransportFault("broken", fault.message, { cause: error })
      : fault;
  }
}

/** Some upstreams compress although they are asked not to. */
function decode(body: Readable, encoding: string | undefined): Readable {
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

function flatten(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(", ") : value,
    ]),
  );
}
