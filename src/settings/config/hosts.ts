import * as z from "zod";

const RULE = "must be an address or a host name to listen on, without a port";

/**
 * Normalises a host to listen on, as URLs have it (https://url.spec.whatwg.org/#host-parsing), but without brackets: lower case, no dot
 * at the end, `127.1` written out, IPv6 at its shortest, and IPv4 in IPv6 as IPv4.
 *
 * @param text Such as `127.0.0.1`, `[::1]` or `localhost`.
 * @throws {RangeError} If it is none. One with a zone is refused, as no URL can name it.
 */
export function hostIn(text: string): string {
  const fault = (why: string) =>
    new RangeError(`${RULE}: got ${JSON.stringify(text.slice(0, 60))}${why}`);
  const inner = /^\[(.*)\]$/.exec(text)?.[1] ?? text;
  if (inner.includes("%")) {
    throw fault(", whose zone (%) cannot be in a URL: use :: to listen on all addresses");
  }
  const isIpv6 = inner.includes(":");
  const { hostname } = URL.parse(`http://${isIpv6 ? `[${inner}]` : inner}/`) ?? {};
  const host = hostname?.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "") ?? "";
  const isPlain = /^[^\s/?#@\\]+$/.test(inner);
  if (!isPlain || !(isIpv6 ? /^[0-9a-f:.]+$/ : /^[0-9a-z_-]+(\.[0-9a-z_-]+)*$/).test(host)) {
    throw fault("");
  }
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host) ?? [];
  if (high === undefined) return host;
  const bytes = [high, low!].flatMap((hex) => [parseInt(hex, 16) >> 8, parseInt(hex, 16) & 0xff]);
  return bytes.join(".");
}

/** Schema of a host to listen on. */
export const listenHost = z.string().transform((text, { addIssue }) => {
  try {
    return hostIn(text);
  } catch (error) {
    addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
    return z.NEVER;
  }
});

/** Schema of an entry of a list of hosts that may be private: `host` or `host:port`, as URLs have them. */
export const trustedHost = z.string().refine(
  (text) => {
    const isAddress = /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text); // IPv6 without brackets
    const url = URL.parse(`http://${isAddress ? `[${text}]` : text}/`);
    return url !== null && /^[^\s/?#@\\*]+$/.test(text);
  },
  "must be a host or host:port, without scheme and path, such as pager.internal, 10.0.0.7:9000 or [fd00::7]:9000",
);

/** Schema of an origin as browsers send it, which is compared as it is; extensions and apps have schemes of their own. */
export const browserOrigin = z.string().refine(
  (text) => {
    const { protocol, origin } = URL.parse(text) ?? {};
    if (protocol === "http:" || protocol === "https:") return origin === text;
    return /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/[^/?#*\s]+)$/.test(text);
  },
  "must be * or an origin as browsers send it, in small letters and without a path or default port, such as https://app.example.com",
);

/** Where all addresses are listened on, and the one of them that this machine reaches. */
const LOOPBACK: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/**
 * Returns the URL at which this machine reaches what listens on a host.
 *
 * @param host As {@linkcode hostIn} returns it.
 * @param bound The address that it was bound to. It is named instead of a name, which may lead elsewhere by now; not of
 *   `localhost`, which leads to this machine always.
 * @returns `http://host:port`.
 */
export function listenUrl(host: string, port: number, bound?: string): string {
  const isName = /[a-z]/.test(host) && !host.includes(":") && host !== "localhost";
  const named = isName && bound !== undefined ? hostIn(bound.replace(/%.*/, "")) : host;
  const reached = LOOPBACK[named] ?? named;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}
