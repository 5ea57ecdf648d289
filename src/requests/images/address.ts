import ipaddr from "ipaddr.js";

/** IPv4 ranges that are not public unicast (IANA special-purpose registry), and clouds' metadata services. */
const DENIED_V4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "168.63.129.16/32", // Azure's metadata and DNS, although in a public range
].map((range) => ipaddr.IPv4.parseCIDR(range));

/** Only IPv6 global unicast is public, without ranges for documentation and for embedding other addresses. */
const ALLOWED_V6 = ipaddr.IPv6.parseCIDR("2000::/3");
const DENIED_V6 = [
  "2001::/23", // protocol assignments, Teredo and ORCHID among them
  "2001:db8::/32",
  "2002::/16", // 6to4 embeds an IPv4 address
  "2620:4f:8000::/48", // AS112
  "3fff::/20",
].map((range) => ipaddr.IPv6.parseCIDR(range));

/**
 * Returns whether an IP address is global unicast.
 *
 * The address is compared as a number, never as text: `::ffff:127.0.0.1` is also `::ffff:7f00:1`.
 *
 * @param address An IPv4 or IPv6 address without brackets or zone.
 * @returns `false` also for text that is not an IP address.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { isPublicAddress } from "./mod.ts";
 *
 * assertEquals(isPublicAddress("93.184.215.14"), true);
 * assertEquals(isPublicAddress("::ffff:10.0.0.1"), false);
 * ```
 */
export function isPublicAddress(address: string): boolean {
  if (address.includes("%")) return false;
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    const own = ipaddr.IPv4.parse(address);
    return !DENIED_V4.some((range) => own.match(range));
  }
  if (!ipaddr.IPv6.isValid(address)) return false;
  const own = ipaddr.IPv6.parse(address);
  return own.match(ALLOWED_V6) && !DENIED_V6.some((range) => own.match(range));
}

/**
 * Returns the IP address that a host name of a parsed URL consists of.
 *
 * @returns The address without brackets, or `undefined` for a name.
 */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return ipaddr.IPv4.isValidFourPartDecimal(bare) || ipaddr.IPv6.isValid(bare) ? bare : undefined;
}
