import ipaddr from "ipaddr.js";

/** The other end of a connection, as comparable text: port and address. */
export type Peer = string;

/** Returns the port of a peer. */
export function portOf(peer: Peer): number {
  return parseInt(peer);
}

/** Formats a peer. IPv4-mapped IPv6 addresses count as IPv4. */
export function peerOf(port: number, address: Uint8Array): Peer {
  const mapped = address.length === 16 &&
    address.subarray(0, 12).every((byte, at) => byte === (at < 10 ? 0 : 0xff));
  return `${port} ${(mapped ? address.subarray(12) : address).join(".")}`;
}

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/** Converts an address of the platform to a peer; `undefined` if it has no IP address. */
export function peerFrom(address: Deno.Addr | undefined): Peer | undefined {
  if (address === undefined || !("hostname" in address)) return undefined;
  const { hostname, port } = address;
  if (IPV4.test(hostname)) return `${port} ${hostname}`; // the usual case, of thousands at once
  if (!ipaddr.isValid(hostname)) return undefined;
  return peerOf(port, Uint8Array.from(ipaddr.parse(hostname).toByteArray()));
}
