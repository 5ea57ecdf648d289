import type * as OAuth from "oauth4webapi";
import { exchange, type OutgoingProxy } from "../../ground/ways_out/mod.ts";
import type { OidcSettings } from "../../settings/config/mod.ts";

/** How long a request to a provider may take, in all. */
const TIMEOUT_MS = 10_000;
/** Bytes of a reply that are read: a document of keys has some thousand. */
const MAX_BYTES = 512 * 1024;

/** How an address is reached: as it is, at an IP address that was checked, or through a proxy. */
export interface Way {
  readonly proxy?: OutgoingProxy | undefined;
  readonly address?: string | undefined;
}

/** How a provider's addresses are reached. */
export interface WaysOptions {
  /** Proxy for the issuer's own host, which the settings trust. */
  readonly proxyFor?: ((url: URL) => OutgoingProxy | undefined) | undefined;
  /**
   * Checks an address on another host, which a provider's document names: only what is public may be reached. Without, none is.
   *
   * @param options.allowPrivateHosts Hosts that may be private: those of the provider's settings.
   * @throws If the address is not allowed.
   */
  readonly wayTo?:
    | ((url: URL, options: {
      readonly allowPrivateHosts: readonly string[];
      readonly signal: AbortSignal;
    }) => Promise<Way>)
    | undefined;
  /** Whether the issuer is not in the settings, and its host no more trusted than others. */
  readonly isTyped?: boolean | undefined;
}

/** Thrown if a provider names an address that is not asked. The message continues the sentence "The provider … ". */
export class WayError extends Error {
  override readonly name = "WayError";
}

/** Asks addresses of one provider. */
export class Ways {
  readonly #issuer: URL;
  readonly #allowPrivateHosts: readonly string[];
  readonly #options: WaysOptions;

  constructor(
    { issuer, allowPrivateHosts }: Pick<OidcSettings, "issuer" | "allowPrivateHosts">,
    options: WaysOptions,
  ) {
    this.#issuer = new URL(issuer);
    this.#allowPrivateHosts = allowPrivateHosts;
    this.#options = options;
  }

  /** Whether the issuer is on this machine and not encrypted: the settings refuse http for any other. */
  get isNear(): boolean {
    return this.#issuer.protocol === "http:";
  }

  /**
   * Reads an address of the provider's document, which may say what it wants: it must be encrypted, or the issuer's on this machine.
   *
   * @throws {WayError} If it is neither.
   */
  read(address: string): URL {
    if (!URL.canParse(address)) throw new WayError("names an address that is none");
    const url = new URL(address);
    const isOwn = url.hostname === this.#issuer.hostname;
    if (url.protocol === "https:" || url.protocol === "http:" && isOwn && this.isNear) return url;
    throw new WayError(
      `names an address that is not encrypted: ${
        url.origin === "null" ? url.protocol : url.origin
      }`,
    );
  }

  /** @throws {WayError} If the address may not be asked. */
  async fetch(
    address: string,
    { method, headers, body }: Partial<OAuth.CustomFetchOptions<string, unknown>> = {},
  ): Promise<Response> {
    const url = this.read(address);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const reply = await exchange({
      url,
      method: method === "POST" ? "POST" : "GET",
      headers: headers ?? {},
      body: body === undefined || body === null ? undefined : String(body),
      ...await this.#way(url, signal),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      signal,
    });
    const kept = ["content-type", "www-authenticate", "date"].flatMap((name) => {
      const value = reply.headers[name];
      return typeof value === "string" ? [[name, value] as [string, string]] : [];
    });
    return new Response(reply.text, { status: reply.status, headers: kept });
  }

  async #way(url: URL, signal: AbortSignal) {
    const { proxyFor, wayTo, isTyped = false } = this.#options;
    const isOwn = url.hostname === this.#issuer.hostname;
    if (isOwn && !isTyped) return { proxy: proxyFor?.(url), address: undefined };
    if (wayTo === undefined) throw new WayError(`names another host: ${url.origin}`);
    const { proxy, address } = await wayTo(url, {
      allowPrivateHosts: this.#allowPrivateHosts,
      signal,
    });
    return { proxy, address };
  }
}
