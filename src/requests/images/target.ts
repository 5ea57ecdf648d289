import { isPublicAddress, literalAddress } from "./address.ts";
import { ImageFault } from "./fault.ts";

/** Which URLs may be fetched. */
export interface TargetRules {
  /** Hosts that may be private and on any port, as `host` or `host:port`. */
  readonly allowPrivateHosts: readonly string[];
  /** Ports of public hosts besides 80 for http and 443 for https. */
  readonly ports: readonly number[];
}

/** A URL that may be fetched, as far as the URL itself shows. */
export interface Target {
  readonly url: URL;
  /** Whether the operator trusts the host: its addresses are not checked. */
  readonly trusted: boolean;
  /** The host if it is an IP address; `undefined` for a name, which must be resolved and checked. */
  readonly address: string | undefined;
}

const MAX_URL = 2_048;
const MAX_NAME = 253;
/** Suffixes of names that are local (RFC 6761, RFC 8375, clusters and clouds). */
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
 * Checks a URL before anything is resolved or contacted (P10).
 *
 * @param text The URL.
 * @param rules Trusted hosts and allowed ports.
 * @returns The parsed URL, and what remains to be checked.
 * @throws {ImageFault} `address` if the URL is not allowed.
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
  // Check the raw text as well: parsing removes an empty user name before an @.
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
 * Returns whether a text contains spaces, control characters or backslashes. Programs disagree on how to read these in
 * URLs, which only attackers use.
 */
export function hasOddCharacters(text: string): boolean {
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  return /[\x00-\x20\x7f\\]/.test(text);
}
