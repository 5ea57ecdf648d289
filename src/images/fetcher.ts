import type { buildConnector, Dispatcher } from "undici";
import { following, until } from "../abort.ts";
import { humanBytes, joinBytes } from "../bytes.ts";
import { isPublicAddress } from "./address.ts";
import { ImageFault, unreachable } from "./fault.ts";
import type { Resolve } from "./resolve.ts";
import { hasOddCharacters, judgeTarget, type Target, type TargetRules } from "./target.ts";

/** Dependencies and limits of {@linkcode ImageFetcher}. */
export interface ImageFetcherOptions extends TargetRules {
  readonly resolve: Resolve;
  /** Max bytes of one image, decoded. */
  readonly maxBytes: number;
  /** Max time to connect, in milliseconds. */
  readonly connectMs: number;
  /** Max total time, including DNS, redirects and transfer, in milliseconds. */
  readonly totalMs: number;
  /** Connects to a checked address. Tests replace it. */
  readonly connect?: buildConnector.connector;
}

const MAX_REDIRECTS = 3;
const FOLLOWED = new Set([301, 302, 303, 307, 308]);
const RESOLVE_MS = 5_000;

/** A downloaded file. */
export interface Fetched {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Declared media type without parameters; empty if there is none. */
  readonly declared: string;
}

/**
 * Fetches remote images with undici's `fetch`.
 *
 * Each host name is resolved once per hop and all its addresses are checked. The dispatcher gets one of these addresses
 * and never resolves a name itself.
 */
export class ImageFetcher {
  readonly #options: ImageFetcherOptions;
  constructor(options: ImageFetcherOptions) {
    this.#options = options;
  }

  /**
   * Fetches an image.
   *
   * @param address URL of the image, as the caller sent it.
   * @param signal Aborted when the caller disconnects.
   * @returns The bytes and the declared media type; both are still to be checked.
   * @throws {ImageFault} `address`, `unreachable`, `late` or `large`.
   */
  async fetch(address: string, signal: AbortSignal): Promise<Fetched> {
    const late = AbortSignal.timeout(this.#options.totalMs);
    using either = following(signal, late);
    try {
      return await this.#follow(address, either.signal);
    } catch (error) {
      if (late.aborted && !signal.aborted) {
        throw new ImageFault(
          "late",
          `could not be downloaded within ${this.#options.totalMs / 1_000} s`,
          {
            cause: error,
          },
        );
      }
      throw error instanceof ImageFault ? error : unreachable(error);
    }
  }

  async #follow(address: string, signal: AbortSignal): Promise<Fetched> {
    let target = judgeTarget(address, this.#options);
    for (let hop = 0;; hop++) {
      const result = await this.#hop(target, signal);
      if ("bytes" in result) return result;
      if (hop === MAX_REDIRECTS) {
        throw new ImageFault("unreachable", `has more than ${MAX_REDIRECTS} redirects`);
      }
      target = this.#next(target, result.location);
    }
  }

  /** Checks the target of a redirect like the first URL. */
  #next(from: Target, location: string): Target {
    if (hasOddCharacters(location)) throw unreachable("a redirect to an invalid URL");
    let url: URL;
    try {
      url = new URL(location, from.url);
    } catch (cause) {
      throw unreachable(cause);
    }
    if (from.url.protocol === "https:" && url.protocol === "http:") {
      throw unreachable("a redirect from https to http");
    }
    try {
      return judgeTarget(url.href, this.#options);
    } catch (cause) {
      throw unreachable(cause); // the caller must not learn where the redirect leads
    }
  }

  async #hop(
    target: Target,
    signal: AbortSignal,
  ): Promise<Fetched | { readonly location: string }> {
    const address = await this.#addressOf(target, signal);
    // loaded with the first remote image, since few gateways need the whole package
    const { Agent, buildConnector, DecoratorHandler, fetch } = await import("undici");
    const { connectMs, connect = buildConnector({ timeout: connectMs }) } = this.#options;
    const agent = new Agent({
      connect: (options, callback) =>
        connect({
          ...options,
          hostname: address,
          ...(target.url.protocol === "https:" ? { servername: target.url.hostname } : {}),
        }, callback),
      pipelining: 0,
      headersTimeout: this.#options.totalMs,
      bodyTimeout: this.#options.totalMs,
    });
    // On Deno, the body of an interrupted transfer never ends, so the dispatcher reports it.
    using broken = following(signal);
    const noticing = agent.compose((dispatch) => (options, handler) =>
      dispatch(
        options,
        new class extends DecoratorHandler {
          onResponseError(controller: Dispatcher.DispatchController, error: Error) {
            broken.abort(error);
            handler.onResponseError?.(controller, error);
          }
        }(handler),
      )
    );
    try {
      const asked = fetch(target.url, {
        dispatcher: noticing,
        redirect: "manual",
        referrerPolicy: "no-referrer",
        credentials: "omit",
        headers: {
          accept: "image/png, image/jpeg, image/webp, image/gif",
          "accept-encoding": "identity",
          "user-agent": "sluice-image-fetcher",
        },
        signal,
      });
      const reply = await until(asked, signal);
      const location = reply.headers.get("location");
      if (FOLLOWED.has(reply.status) && location !== null) return { location };
      if (reply.status !== 200) throw unreachable(`status ${reply.status}`);
      const declared = (reply.headers.get("content-type") ?? "").split(";")[0]!.trim()
        .toLowerCase();
      const length = reply.headers.get("content-length");
      // undici has its own type of the web-standard stream
      const body = reply.body as ReadableStream<Uint8Array<ArrayBuffer>> | null;
      return { bytes: await this.#read(body, length, broken.signal), declared };
    } finally {
      // closes the connection, and drops the rest of the reply
      agent.destroy().catch(() => {});
    }
  }

  /**
   * Counts decoded bytes, whatever the headers say, and stops the transfer at the limit. Each read checks the signal,
   * since on Deno an aborted body never ends.
   */
  async #read(
    body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
    declaredLength: string | null,
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { maxBytes } = this.#options;
    const tooLarge = () => new ImageFault("large", `is larger than ${humanBytes(maxBytes)}`);
    if (declaredLength !== null && Number(declaredLength) > maxBytes) throw tooLarge();
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    const reader = body?.getReader();
    while (reader !== undefined) {
      const { done, value } = await until(reader.read(), signal);
      if (done) break;
      size += value.byteLength;
      if (size > maxBytes) throw tooLarge();
      pieces.push(value);
    }
    return joinBytes(pieces, size);
  }

  /** Returns the one address to connect to. One address that is not public rejects the host. */
  async #addressOf({ url, trusted, address }: Target, signal: AbortSignal): Promise<string> {
    if (address !== undefined) return address;
    const late = AbortSignal.timeout(Math.min(RESOLVE_MS, this.#options.totalMs));
    using either = following(signal, late);
    const addresses = await until(
      this.#options.resolve(url.hostname.replace(/\.$/, ""), either.signal),
      either.signal,
    );
    const [first] = addresses;
    if (first === undefined) throw unreachable("a host name without addresses");
    if (!trusted && !addresses.every(isPublicAddress)) {
      throw unreachable("a host name that is not public");
    }
    return first;
  }
}
