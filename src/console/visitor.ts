import ipaddr from "ipaddr.js";

/** Where a request came from, as far as the console cares. */
export interface Visitor {
  /** The caller's IPv4 address or IPv6 network, for bounding its tries. */
  readonly address: string;
  /** Whether the caller's browser speaks TLS, to us or to a proxy in front. */
  readonly secure: boolean;
  /** `https://host` as the caller knows it. */
  readonly origin: string;
}

/**
 * Where a request came from. `X-Forwarded-*` is believed of trusted proxies only; the caller is the last
 * address that is not a trusted proxy's.
 *
 * @param peer The address at the other end of the connection.
 */
export function visitorOf(request: Request, peer: string, trusted: TrustedProxies): Visitor {
  const url = new URL(request.url);
  const isProxied = trusted.includes(peer);
  const forwarded = isProxied ? request.headers.get("x-forwarded-for")?.split(",") ?? [] : [];
  const caller = [peer, ...forwarded.reverse().map((one) => one.trim())]
    .find((one) => !trusted.includes(one));
  const proto = isProxied ? request.headers.get("x-forwarded-proto") : null;
  const secure = (proto ?? url.protocol.slice(0, -1)) === "https";
  return {
    address: network(caller !== undefined && ipaddr.isValid(caller) ? caller : peer),
    secure,
    origin: `${secure ? "https" : "http"}://${url.host}`,
  };
}

/** Proxies whose word is believed, by address and range. */
export class TrustedProxies {
  readonly #ranges: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];

  /** @param ranges Addresses and CIDR ranges, checked with the settings. */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map((range) => {
      if (range.includes("/")) return ipaddr.parseCIDR(range);
      const address = ipaddr.parse(range);
      return [address, address.kind() === "ipv4" ? 32 : 128];
    });
  }

  /** Whether an address is one of theirs; IPv4 in IPv6 is IPv4. */
  includes(text: string): boolean {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    return this.#ranges.some(([range, bits]) =>
      range.kind() === address.kind() && address.match(range, bits)
    );
  }
}

/** An IPv4 address, or the /64 that an IPv6 address is in: the rest of it is its owner's to choose. */
function network(text: string): string {
  if (!ipaddr.isValid(text)) return text;
  const address = ipaddr.process(text);
  if (address.kind() === "ipv4") return address.toString();
  return ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString();
}

/**
 * Whether a write comes from a page of ours: browsers say so in `Sec-Fetch-Site`, older ones in
 * `Origin` (OWASP, Cross-Site Request Forgery Prevention). A request that says neither is not from a
 * browser's form; it needs the session's token all the same.
 */
export function isSameOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin" || site === "none";
  const origin = request.headers.get("origin");
  return origin === null ||
    URL.canParse(origin) && new URL(origin).host === new URL(request.url).host;
}
