import { HttpPool, type HttpPoolOptions } from "../http1/mod.ts";
import { type ConnectOptions, openConnection } from "./open_connection.ts";
import type { OutgoingProxy } from "./outgoing_proxy.ts";
import { authenticationFault } from "./proxy_fault.ts";

/** What requests in absolute form have besides: they are sent on a connection to the proxy. */
interface Forwarding {
  /** Comes before the path of each request. */
  readonly prefix: string;
  /** Added to the headers of each request: a secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** How requests to a server are sent, and over which connections. */
export interface ServerOptions
  extends Omit<HttpPoolOptions, "host" | "headers" | "connect">, Omit<ConnectOptions, "signal"> {
  /** Connects. Tests replace it. */
  readonly connect?: typeof openConnection | undefined;
}

/** A server that requests are sent to, directly or through a proxy. */
export interface Server {
  /** Makes another set of connections. */
  pool(): HttpPool;
  /** What a request for a path is sent to. */
  targetOf(path: string): string;
  /**
   * Checks who has replied.
   *
   * @throws {ProxyFault} If it is the proxy that wants other credentials.
   */
  checkStatus(status: number): void;
}

/** Makes what sends requests to the server of a URL. They ask for replies without a content coding. */
export function serverAt(url: URL, options: ServerOptions): Server {
  const { proxy, connect = openConnection } = options;
  const forwarded = options.tunnelsHttp ? undefined : forwarding(proxy, url);
  const poolOptions: HttpPoolOptions = {
    ...options,
    host: url.host,
    headers: { "accept-encoding": "identity", ...forwarded?.headers },
    connect: (signal) => connect(url, { ...options, signal }),
  };
  return {
    pool: () => new HttpPool(poolOptions),
    targetOf: (path) => forwarded === undefined ? path : forwarded.prefix + path,
    checkStatus(status) {
      if (status === 407 && forwarded !== undefined) throw authenticationFault(proxy!);
    },
  };
}

/**
 * Connects to a target and ends the connection: without a byte to the target where it is http.
 *
 * @throws What the connection failed with.
 */
export async function checkConnection(
  { url, ...options }: ConnectOptions & { readonly url: URL },
): Promise<void> {
  (await openConnection(url, options)).close();
}

/** How requests to an http target are sent through a proxy; undefined where they go as they are. */
function forwarding(
  proxy: OutgoingProxy | undefined,
  { protocol, origin }: Pick<URL, "protocol" | "origin">,
): Forwarding | undefined {
  if (proxy === undefined || protocol !== "http:") return undefined;
  const { authorization } = proxy;
  return {
    prefix: origin,
    headers: authorization === undefined ? {} : { "proxy-authorization": authorization },
  };
}
