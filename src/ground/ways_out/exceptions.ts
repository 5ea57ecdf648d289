import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** Whether an entry of the list names a host. */
type Rule = (host: string, port: number, address: Address | undefined) => boolean;

/**
 * Reads which hosts are reached without a proxy (`NO_PROXY`), by the rules of Go's `golang.org/x/net/http/httpproxy`: entries
 * separated by commas or spaces, without regard to case.
 *
 * - `example.com` is that host and all below it; `.example.com` and `*.example.com` only those below it; `*` is every host.
 * - `10.1.2.3`, `::1` and `10.0.0.0/8` are addresses, and hosts only where they are written as addresses: no name is resolved.
 * - `example.com:8443` and `[::1]:8443` are one port of it.
 *
 * @returns Whether a host (a name, or an IP address without brackets) is on the list.
 */
export function readExceptions(list: string): (hostname: string, port: number) => boolean {
  const rules = list.toLowerCase().split(/[,\s]+/).filter((entry) => entry !== "").map(ruleOf);
  return (hostname, port) => {
    const host = plain(hostname);
    const address = addressOf(host);
    return rules.some((rule) => rule(host, port, address));
  };
}

function ruleOf(entry: string): Rule {
  if (entry === "*") return () => true;
  if (ipaddr.isValidCIDR(entry)) {
    const [network, bits] = ipaddr.parseCIDR(entry);
    return (_host, _port, address) =>
      address?.kind() === network.kind() && address.match(network, bits);
  }
  const [, host = entry, portText] = addressOf(entry) !== undefined
    ? []
    : /^\[(.*)\](?::(\d+))?$/.exec(entry) ?? /^([^:]+):(\d+)$/.exec(entry) ?? [];
  const wanted = plain(host);
  const isPort = (port: number) => portText === undefined || port === Number(portText);
  const address = addressOf(wanted);
  if (address !== undefined) {
    const text = address.toString();
    return (_host, port, other) => other?.toString() === text && isPort(port);
  }
  const isBelowOnly = /^\*?\./.test(wanted);
  const domain = wanted.replace(/^\*?\./, "");
  return (host, port) =>
    (!isBelowOnly && host === domain || host.endsWith(`.${domain}`)) && isPort(port);
}

/**
 * Whether a host is this machine, or one that only this machine reaches, such as a cloud's metadata server: loopback, link-local.
 *
 * @param hostname A name, or an IP address with or without brackets.
 */
export function isNear(hostname: string): boolean {
  const host = plain(hostname);
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  const range = addressOf(host)?.range();
  return range === "loopback" || range === "linkLocal";
}

/**
 * Returns what to add to an environment so that programs that know no exception for this machine connect to it directly: the
 * platform's own client, curl, and tools that `sluice run` starts.
 */
export function exceptingThisMachine(
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (
    !Object.entries(env).some(([name, value]) => /^(http|https|all)_proxy$/i.test(name) && value)
  ) {
    return {};
  }
  const list = [env.no_proxy || env.NO_PROXY, "localhost,127.0.0.1,127.0.0.0/8,::1"]
    .filter(Boolean).join(",");
  return { no_proxy: list, NO_PROXY: list };
}

function plain(hostname: string): string {
  return hostname.toLowerCase().replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

/** An address, IPv4 in IPv6 as IPv4; undefined for a name. */
function addressOf(text: string): Address | undefined {
  const isAddress = ipaddr.IPv6.isValid(text) || ipaddr.IPv4.isValidFourPartDecimal(text);
  return isAddress ? ipaddr.process(text) : undefined;
}
