import { isPublicAddress, literalAddress } from "./address.ts";
import { ImageFault } from "./fault.ts";

/** Which addresses are fetched. */
export interface TargetRules {
  /** Hosts that may be private and on any port, as `host` or `host:port`. */
  readonly allowPrivateHosts: readonly string[];
  /** Ports of public hosts besides 80 for http and 443 for https. */
  readonly ports: readonly number[];
}

/** An address that may be asked for, as far as it tells by itself. */
export interface Target {
  readonly url: URL;
  /** The operator trusts the host: its addresses are not judged. */
  readonly trusted: boolean;
  /** The host as an IP address; undefined for a name, which has to be resolved and judged. */
  readonly address: string | undefined;
}

const MAX_URL = 2_048;
const MAX_NAME = 253;
/** Names that mean something inside only (RFC 6761, RFC 8375, clusters and clouds). */
const LOCAL_SUFFIXES = [
  "localhost",
  "localdomain",
  "local",
  "internal",
  "intranet",
  "lan",
  "home",
  "home.arpa",
  "corp",
  "private",
  "svc",
  "onion",
  "invalid",
  "test",
  "consul",
];
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * Judges an address by what it says.
 *
 * @throws {ImageFault} `address`.
 */
export function checkAddress(text: string, rules: TargetRules): Target {
  const refuse = (why: string) =>
    new ImageFault("address", `has a URL that is not allowed: ${why}`);
  if (text.length > MAX_URL) throw refuse(`it is longer than ${MAX_URL} characters`);
  if (hasOddCharacters(text)) {
    throw refuse("it contains spaces, control characters or backslashes");
  }
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refuse("it is not a valid URL");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw refuse("its scheme must be http or https");
  }
  // The raw text as well: an empty user before an @ is gone after parsing.
  const authority = /^[a-z]+:\/*([^/?#]*)/i.exec(text)?.[1] ?? "";
  if (url.username !== "" || url.password !== "" || authority.includes("@")) {
    throw refuse("it contains a user name or password");
  }
  const host = url.hostname.replace(/\.$/, "");
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  const address = literalAddress(url.hostname);
  if (isTrusted(address ?? host, port, rules)) return { url, trusted: true, address };

  const own = url.protocol === "https:" ? 443 : 80;
  const other = url.protocol === "https:" ? 80 : 443;
  if (port === other || port !== own && !rules.ports.includes(port)) {
    throw refuse(`its port must be ${[own, ...rules.ports].join(" or ")}`);
  }
  if (address !== undefined) {
    if (!isPublicAddress(address)) throw refuse("its host is not public");
    return { url, trusted: false, address };
  }
  if (!isPublicName(host)) throw refuse("its host is not a public name");
  return { url, trusted: false, address: undefined };
}

function isTrusted(host: string, port: number, { allowPrivateHosts }: TargetRules): boolean {
  return allowPrivateHosts.some((one) => {
    const wanted = one.toLowerCase().replace(/^\[(.*)\]$/, "$1");
    return wanted === host || wanted === `${host}:${port}` || wanted === `[${host}]:${port}`;
  });
}

function isPublicName(host: string): boolean {
  const labels = host.split(".");
  return host.length <= MAX_NAME && labels.length > 1 &&
    labels.every((label) => LABEL.test(label) && label !== "xn--") &&
    !/^\d+$|^0x/i.test(labels.at(-1)!) &&
    !LOCAL_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}

/**
 * Whether a text holds spaces, control characters or backslashes. Others read these as something else than
 * the URL standard does, so nobody means well by them.
 */
export function hasOddCharacters(text: string): boolean {
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  return /[\x00-\x20\x7f\\]/.test(text);
}
