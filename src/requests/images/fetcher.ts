import { CoarseTimers, following, humanBytes, joinBytes } from "../../ground/platform/mod.ts";
import { decodedBody } from "../../ground/http1/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { proxyOf, type WayOut } from "../../settings/config/mod.ts";
import { serverAt, type ServerOptions } from "../../ground/ways_out/mod.ts";
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
  readonly connect?: ServerOptions["connect"];
}

const MAX_REDIRECTS = 3;
const FOLLOWED = new Set([301, 302, 303, 307, 308]);

/** What came from an address. */
export interface Fetched {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Declared media type without parameters; empty if there is none. */
  readonly declared: string;
}

/**
 * Fetches remote images, each over a connection of its own.
 *
 * Each host name is resolved once per hop and all its addresses are checked. The connection is made to one of these
 * addresses, and nobody resolves the name again.
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
    const { connectMs, totalMs, proxy: named, connect } = this.#options;
    const timers = new CoarseTimers();
    const makeFault = (cause: unknown) => cause instanceof Error ? cause : unreachable(cause);
    const { url } = target;
    const pool = serverAt(url, {
      timeoutMs: connectMs,
      proxy: proxyOf(url, { proxy: named }),
      // tunnels lead to the address that was checked: the proxy resolves nothing
      tunnelsHttp: true,
      address,
      connect,
      headMs: totalMs,
      bodyMs: totalMs,
      totalMs,
      keepsConnections: false,
      makeFault,
      timers,
    }).pool();
    try {
      const reply = pool.send({
        method: "GET",
        target: `${url.pathname}${url.search}`,
        headers: {
          accept: "image/png, image/jpeg, image/webp, image/gif",
          "user-agent": "sluice-image-fetcher",
        },
        body: undefined,
        signal,
      });
      const { status, headers } = await reply.began;
      const { location } = headers;
      if (FOLLOWED.has(status) && location !== undefined) return { location: String(location) };
      if (status !== STATUS_CODE.OK) throw unreachable(`status ${status}`);
      const declared = String(headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
      if (Number(headers["content-length"]) > this.#options.maxBytes) throw this.#tooLarge();
      return { bytes: await this.#read(decodedBody(reply, headers, makeFault)), declared };
    } finally {
      // closes the connection, and drops the rest of the reply
      await pool.close();
      timers.close();
    }
  }

  #tooLarge(): ImageFault {
    return new ImageFault("large", `is larger than ${humanBytes(this.#options.maxBytes)}`);
  }

  /** Counts decoded bytes, whatever the headers say, and stops the transfer at the limit. */
  async #read(
    body: { read(): Promise<Uint8Array | undefined> },
  ): Promise<Uint8Array<ArrayBuffer>> {
    const pieces: Uint8Array[] = [];
    let left = this.#options.maxBytes;
    for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
      left -= piece.byteLength;
      if (left < 0) throw this.#tooLarge();
      pieces.push(piece);
    }
    return new Uint8Array(joinBytes(pieces));
  }
}
