import type { buildConnector, Dispatcher } from "undici";
import { following, humanBytes, until } from "../../ground/platform/mod.ts";
import { LimitedBytesTransformStream, STATUS_CODE, toArrayBuffer } from "../../ground/std/mod.ts";
import { proxyOf, type WayOut } from "../../settings/config/mod.ts";
import { makeConnector } from "../../ground/ways_out/mod.ts";
import { connectAddress } from "./connect_address.ts";
import { ImageFault, unreachable } from "./fault.ts";
import type { Resolve } from "./resolve.ts";
import { checkAddress, hasOddCharacters, type Target, type TargetRules } from "./target.ts";

/** Dependencies and limits of {@linkcode ImageFetcher}. */
export interface ImageFetcherOptions extends TargetRules {
  readonly resolve: Resolve;
  /** Max bytes of one image, decoded. */
  readonly maxBytes: number;
  /** Max time to connect, in milliseconds. */
  readonly connectMs: number;
  /** Max total time, including DNS, redirects and transfer, in milliseconds. */
  readonly totalMs: number;
  /** Proxy that images are fetched through; never one of the environment. */
  readonly proxy?: WayOut["proxy"];
  /** Connects to a checked address. Tests replace it. */
  readonly connect?: buildConnector.connector;
}

const MAX_REDIRECTS = 3;
const FOLLOWED = new Set([301, 302, 303, 307, 308]);

/** A body: undici has a type of its own for the web-standard stream. */
type Body = ReadableStream<Uint8Array<ArrayBuffer>> | null;

/** What came from an address. */
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
    let target = checkAddress(address, this.#options);
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
      return checkAddress(url.href, this.#options);
    } catch (cause) {
      throw unreachable(cause); // the caller must not learn where the redirect leads
    }
  }

  async #hop(
    target: Target,
    signal: AbortSignal,
  ): Promise<Fetched | { readonly location: string }> {
    const address = await connectAddress(target, {
      resolve: this.#options.resolve,
      timeoutMs: this.#options.totalMs,
      signal,
    });
    // loaded with the first remote image, since few gateways need the whole package
    const { Agent, DecoratorHandler, fetch } = await import("./undici.ts");
    const { connectMs: timeoutMs, proxy: named } = this.#options;
    const proxy = proxyOf(target.url, { proxy: named });
    // tunnels lead to the address that was checked: the proxy resolves nothing
    const { connect = makeConnector({ timeoutMs, proxy, tunnelsHttp: true }) } = this.#options;
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
      if (reply.status !== STATUS_CODE.OK) throw unreachable(`status ${reply.status}`);
      const declared = (reply.headers.get("content-type") ?? "").split(";")[0]!.trim()
        .toLowerCase();
      const { headers, body } = reply;
      return { bytes: await this.#read({ headers, body: body as Body }, broken.signal), declared };
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
    { headers, body }: { readonly headers: Headers; readonly body: Body },
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { maxBytes } = this.#options;
    const tooLarge = () => new ImageFault("large", `is larger than ${humanBytes(maxBytes)}`);
    if (Number(headers.get("content-length")) > maxBytes) throw tooLarge();
    if (body === null) return new Uint8Array();
    const bounded = body.pipeThrough(new LimitedBytesTransformStream(maxBytes, { error: true }));
    try {
      return new Uint8Array(await until(toArrayBuffer(bounded), signal));
    } catch (error) {
      throw error instanceof RangeError ? tooLarge() : error;
    }
  }
}
