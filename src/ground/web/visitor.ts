import ipaddr from "ipaddr.js";

/** Origin of a request. */
export interface Visitor {
  /** The visitor's IPv4 address or IPv6 network, for limits on attempts. */
  readonly address: string;
  /** Whether the visitor's browser uses TLS, to the gateway or to a trusted proxy. */
  readonly secure: boolean;
  /** `https://host` as the visitor's browser shows it. */
  readonly origin: string;
}

/**
 * Determines where a request came from. `X-Forwarded-*` is trusted from trusted proxies only; the visitor is the last
 * address that is not a trusted proxy's.
 *
 * @param peer IP address of the other end of the connection.
 */
export function visitorOf(request: Request, peer: string, trusted: TrustedProxies): Visitor {
  const url = new URL(request.url);
  const isProxied = trusted.includes(peer);
  const forwarded = isProxied ? request.headers.get("x-forwarded-for")?.split(",") ?? [] : [];
  const caller = [peer, ...forwarded.reverse().map(addressIn)]
    .find((one) => !trusted.includes(one));
  // where several proxies add to it, the first says how the visitor's browser came
  const proto = isProxied ? request.headers.get("x-forwarded-proto")?.split(",")[0]?.trim() : null;
  const secure = (proto ?? url.protocol.slice(0, -1)).toLowerCase() === "https";
  return {
    address: network(caller !== undefined && ipaddr.isValid(caller) ? caller : peer),
    secure,
    origin: `${secure ? "https" : "http"}://${url.host}`,
  };
}

/** The address of an entry of `X-Forwarded-For`: some proxies write the port behind it, and IPv6 in brackets. */
function addressIn(entry: string): string {
  const text = entry.trim();
  const [, ipv4, ipv6] = /^(?:([0-9.]+):\d{1,5}|\[([^\]]*)\](?::\d{1,5})?)$/.exec(text) ?? [];
  return ipv4 ?? ipv6 ?? text;
}

/** Trusted proxies, by address and range. */
export class TrustedProxies {
  readonly #ranges: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];

  /** @param ranges IP addresses and CIDR ranges, validated with the settings. */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map((range) => {
      const [text, length] = range.split("/");
      const address = ipaddr.parse(text!);
      const bits = Number(length ?? address.toByteArray().length * 8);
      const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress();
      return isMapped && bits >= 96 ? [address.toIPv4Address(), bits - 96] : [address, bits];
    });
  }

  /** Returns whether an address is a trusted proxy's. IPv4-mapped IPv6 addresses count as IPv4. */
  includes(text: string): boolean {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    return this.#ranges.some(([range, bits]) =>
      range.kind() === address.kind() && address.match(range, bits)
    );
  }
}

/** Returns an IPv4 address, or the /64 of an IPv6 address, within which its owner chooses addresses freely. */
function network(text: string): string {
  if (!ipaddr.isValid(text)) return text;
  const address = ipaddr.process(text);
  if (address.kind() === "ipv4") return address.toString();
  return ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString();
}

/**
 * The network of a visitor for what an account is given once: the /24 of an IPv4 address, the /48 of an IPv6 address, which providers
 * hand out whole and in which there are 65,536 networks of {@linkcode Visitor.address}.
 *
 * @param address As {@linkcode Visitor.address} has it.
 */
export function siteOf(address: string): string {
  if (!ipaddr.isValid(address)) return address.slice(0, 64);
  const parsed = ipaddr.parse(address);
  const [kind, bits] = parsed.kind() === "ipv4" ? [ipaddr.IPv4, 24] : [ipaddr.IPv6, 48];
  return `${kind.networkAddressFromCIDR(`${address}/${bits}`)}/${bits}`;
}

/**
 * Returns whether a write comes from a page of the same origin, by `Sec-Fetch-Site`, or `Origin` in older browsers
 * (OWASP, Cross-Site Request Forgery Prevention). A request without either is not from a browser's form; it still needs
 * the session's token.
 */
export function isSameOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin" || site === "none";
  const origin = request.headers.get("origin");
  return origin === null ||
    URL.canParse(origin) && new URL(origin).host === new URL(request.url).host;
}
