import { proxyOf, type ProxySettings } from "../../settings/config/mod.ts";
import type { OutgoingProxy } from "../../ground/ways_out/mod.ts";
import { checkName, connectAddress } from "./connect_address.ts";
import type { Resolve } from "./resolve.ts";
import { checkAddress } from "./target.ts";

/** How an address is reached. */
export interface WayTo {
  readonly url: URL;
  readonly proxy: OutgoingProxy | undefined;
  /** IP address that was checked; undefined through a proxy, which resolves the name itself. */
  readonly address: string | undefined;
}

/**
 * Finds how an address is reached that somebody else chose: on port 80 or 443 of a public host, unless the operator trusts it; through a
 * proxy, the name is checked as far as it resolves here.
 *
 * @param options Trusted hosts (`host` or `host:port`), proxies, max time in milliseconds, and a signal that ends it early.
 * @throws {ImageFault} If the address is not allowed, or resolves to one that is not.
 */
export async function wayTo(
  address: string,
  { allowPrivateHosts, proxies, ...options }: {
    readonly allowPrivateHosts: readonly string[];
    readonly proxies?: ProxySettings | undefined;
    readonly timeoutMs: number;
    readonly resolve: Resolve;
    readonly signal: AbortSignal;
  },
): Promise<WayTo> {
  const target = checkAddress(address, { allowPrivateHosts, ports: [] });
  const proxy = proxyOf(target.url, { proxies });
  if (proxy === undefined) {
    return { url: target.url, proxy, address: await connectAddress(target, options) };
  }
  await checkName(target, options);
  return { url: target.url, proxy, address: undefined };
}
