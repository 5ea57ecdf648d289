import { proxyOf, type WayOut } from "../../settings/config/mod.ts";

/** Says how an address is reached: its host, and the proxy without user name and password. */
export function hostAndWay(address: string, way: WayOut): string {
  const url = new URL(address);
  const proxy = proxyOf(url, way);
  return proxy === undefined ? url.host : `${url.host} (through the proxy ${proxy.title})`;
}

/** What to do about a proxy that fails, by the code in a message; undefined if it is not the proxy that fails. */
export function proxyAdvice(message: string): string | undefined {
  if (message.includes("ERR_PROXY_AUTHENTICATION")) {
    return "set the proxy's address with a user name and password that it takes: http://USER:PASSWORD@HOST:PORT";
  }
  if (message.includes("ERR_PROXY_REFUSED")) {
    return "have the proxy allow this host and port, or reach the host without it (NO_PROXY, or upstreams.NAME.proxy)";
  }
  if (message.includes("ERR_PROXY_")) {
    return "check the proxy and its address (HTTPS_PROXY, HTTP_PROXY, proxies, or upstreams.NAME.proxy)";
  }
  return undefined;
}
