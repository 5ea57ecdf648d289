import type { Socket } from "node:net";
import type { buildConnector } from "undici";
import connectorWithoutTypes from "undici/lib/core/connect.js";
import { openTunnel, unreachable } from "./open_tunnel.ts";
import type { OutgoingProxy } from "./outgoing_proxy.ts";

/** The connector alone: the whole library takes 50 ms and 10 MB more of every start. */
const build: typeof buildConnector = connectorWithoutTypes;

/** How undici's pools and agents get a connection. */
export type Connector = buildConnector.connector;

/** How connections are made. */
export interface ConnectOptions {
  /** Max time for a connection, with proxy and TLS, in milliseconds. */
  readonly timeoutMs: number;
  /** PEM text of a certificate authority to trust besides the usual ones. */
  readonly ca?: string | undefined;
  /** Undefined for a direct connection. */
  readonly proxy?: OutgoingProxy | undefined;
  /** Whether http goes through a tunnel, too, instead of in absolute form. */
  readonly tunnelsHttp?: boolean;
}

/** What requests in absolute form have besides: they are sent on a connection to the proxy. */
export interface Forwarding {
  /** Comes before the path of each request. */
  readonly prefix: string;
  /** Added to the headers of each request: a secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Makes what connects to a target, for undici.
 *
 * @returns A connector. It fails with a `ProxyFault` where the proxy is what fails.
 */
export function makeConnector(
  { timeoutMs, ca, proxy, tunnelsHttp = false }: ConnectOptions,
): Connector {
  const connect = build({ timeout: timeoutMs, ...(ca === undefined ? {} : { ca }) });
  if (proxy === undefined) return connect;
  return (options, connected) => {
    const isTls = options.protocol === "https:";
    if (!isTls && !tunnelsHttp) {
      const { hostname, port } = proxy;
      return connect(
        { ...options, hostname, port: String(port) },
        (...[error, socket]) =>
          error === null ? connected(null, socket) : connected(unreachable(error), null),
      );
    }
    const hostname = options.hostname.replace(/^\[(.*)\]$/, "$1");
    openTunnel(proxy, {
      hostname,
      port: Number(options.port) || (isTls ? 443 : 80),
      servername: isTls ? options.servername || hostname : undefined,
      ca,
      timeoutMs,
    }).then(
      // a TLS socket is one; the two types only differ in how events are overloaded
      (socket) => connected(null, socket as unknown as Socket),
      (error) => connected(error, null),
    );
  };
}

/**
 * Connects to a target and ends the connection: without a byte to the target where it is http.
 *
 * @throws What the connection failed with.
 */
export function checkConnection({ url, address, ...options }: ConnectOptions & {
  readonly url: URL;
  /** IP address to connect to instead of the URL's host. */
  readonly address?: string | undefined;
}): Promise<void> {
  const { protocol, port, host, hostname } = url;
  const target = { protocol, port, host, hostname: address ?? hostname };
  return new Promise((resolve, reject) =>
    makeConnector(options)(target, (...[error, socket]) => {
      if (error !== null) return reject(error);
      socket.destroy();
      resolve();
    })
  );
}

/** How requests to an http target are sent through a proxy; undefined where they go as they are. */
export function forwarding(
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
