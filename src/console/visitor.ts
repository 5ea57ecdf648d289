import ipaddr from "ipaddr.js";

/** Where a request came from, as far as the console cares. */
export interface Visitor {
  /** The caller's address, for bounding its tries. */
  readonly address: string;
  /** Whether the caller's browser speaks TLS, to us or to a proxy in front. */
  readonly secure: boolean;
  /** `https://host` as the caller knows it. */
  readonly origin: string;
}

/**
 * Where a request came from. What a proxy adds is believed only when it is on this machine or in a
 * private network; then the last address that it names is the one that it saw itself.
 */
export function visitorOf(request: Request, peer: string): Visitor {
  const url = new URL(request.url);
  const proxied = isPrivate(peer);
  const forwarded = proxied ? request.headers.get("x-forwarded-for") : null;
  const last = forwarded?.split(",").at(-1)?.trim();
  const proto = proxied ? request.headers.get("x-forwarded-proto") : null;
  const secure = (proto ?? url.protocol.slice(0, -1)) === "https";
  return {
    address: last !== undefined && ipaddr.isValid(last) ? last : peer,
    secure,
    origin: `${secure ? "https" : "http"}://${url.host}`,
  };
}

function isPrivate(peer: string): boolean {
  if (!ipaddr.isValid(peer)) return false;
  const range = ipaddr.process(peer).range();
  return range === "loopback" || range === "private" || range === "uniqueLocal";
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
