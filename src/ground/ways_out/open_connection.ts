import { networkErrorWords, until } from "../platform/mod.ts";
import type { HttpSocket } from "../http1/mod.ts";
import { connectTcp, type Lookup } from "./connect_tcp.ts";
import type { OutgoingProxy } from "./outgoing_proxy.ts";
import { connectByOwn, isAuthoritysOwn } from "./own_certificate.ts";
import { authenticationFault, ProxyFault } from "./proxy_fault.ts";

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
  /** IP address to connect to instead of the URL's host, which then nobody resolves. */
  readonly address?: string | undefined;
  /** Looks names up. Tests replace it. */
  readonly lookup?: Lookup | undefined;
  /** Ends the attempt. */
  readonly signal?: AbortSignal | undefined;
}

/** Max bytes of the head of a proxy's reply. */
const MAX_HEAD_BYTES = 16_384;
const HEAD_END = "\r\n\r\n";
/** What `networkErrorWords` calls a connection that took too long, too. */
const WORDS_LATE = "no connection in time";

/**
 * Connects to the server of a URL, with TLS where that is https. Through a proxy, https goes by its method CONNECT (RFC 9110, section
 * 9.3.6); to http the connection is one to the proxy.
 *
 * @throws {ProxyFault} If the proxy is what fails.
 * @throws What the platform failed with: `ETIMEDOUT` after the time, and what TLS says of the target, such as an expired certificate.
 */
export async function openConnection(
  url: Pick<URL, "protocol" | "hostname" | "port">,
  { timeoutMs, ca, proxy, tunnelsHttp = false, address, lookup, signal }: ConnectOptions,
): Promise<HttpSocket> {
  const isTls = url.protocol === "https:";
  const servername = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const hostname = address ?? servername;
  const port = Number(url.port) || (isTls ? 443 : 80);
  const ending = new AbortController();
  let words = "no connection to the proxy in time";
  let current: HttpSocket | undefined;
  const keep = <C extends HttpSocket>(connection: C): C => {
    current = connection;
    if (ending.signal.aborted) closeQuietly(connection); // it came too late
    return connection;
  };
  const open = async () => {
    const connection = keep(
      await connectTcp(proxy?.hostname ?? hostname, {
        port: proxy?.port ?? port,
        signal: ending.signal,
        // a checked address is not looked up
        lookup: proxy === undefined && address !== undefined
          ? () => Promise.resolve([address])
          : lookup,
      }).catch((error) => {
        throw proxy === undefined ? error : unreachable(error);
      }),
    );
    connection.setNoDelay(true);
    connection.setKeepAlive(true);
    if (proxy !== undefined && (isTls || tunnelsHttp)) {
      words = "the proxy did not connect to the target in time";
      await askForTunnel(
        connection,
        proxy,
        `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`,
      );
    }
    if (!isTls) return connection;
    const { remoteAddr } = connection;
    words = "no TLS with the target in time, through the proxy";
    const tls = await Deno.startTls(connection, {
      hostname: servername,
      alpnProtocols: ["http/1.1"],
      ...(ca === undefined ? {} : { caCerts: [ca] }),
    }).then(keep);
    try {
      await tls.handshake();
      return tls;
    } catch (error) {
      if (ca === undefined || proxy !== undefined || !isAuthoritysOwn(error)) {
        return handshakeFailed(error, proxy);
      }
      closeQuietly(tls);
      const reached = remoteAddr.hostname;
      return keep(
        await connectByOwn({ hostname: reached, port, servername, ca, signal: ending.signal }),
      );
    }
  };
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(proxy === undefined ? tooLate() : new ProxyFault("ERR_PROXY_TIMEOUT", words)),
    timeoutMs,
  );
  try {
    const opened = Promise.race([open(), late.promise]);
    return await (signal === undefined ? opened : until(opened, signal));
  } catch (error) {
    ending.abort();
    if (current !== undefined) closeQuietly(current);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Has a proxy connect to a target, which says nothing before it is spoken to. */
async function askForTunnel(
  connection: HttpSocket,
  proxy: OutgoingProxy,
  authority: string,
): Promise<void> {
  const { authorization } = proxy;
  const head = `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${
    authorization === undefined ? "" : `proxy-authorization: ${authorization}\r\n`
  }\r\n`;
  try {
    await writeAll(connection, new TextEncoder().encode(head));
    const buffer = new Uint8Array(MAX_HEAD_BYTES);
    for (let size = 0; size < MAX_HEAD_BYTES;) {
      const more = await connection.read(buffer.subarray(size));
      if (more === null) throw closed(undefined);
      size += more;
      const reply = new TextDecoder("latin1").decode(buffer.subarray(0, size));
      const end = reply.indexOf(HEAD_END);
      if (end < 0) continue;
      checkReply(reply, proxy);
      if (size > end + HEAD_END.length) throw notHttp();
      return;
    }
  } catch (error) {
    throw error instanceof ProxyFault ? error : closed(error);
  }
  throw notHttp();
}

/** Throws what the head of a reply to CONNECT says against it. */
function checkReply(head: string, proxy: OutgoingProxy): void {
  const [, text] = /^HTTP\/1\.[01] (\d{3})(?: |\r)/.exec(head) ?? [];
  if (text === undefined) throw notHttp();
  const status = Number(text);
  if (status >= 200 && status <= 299) return;
  if (status === 407) throw authenticationFault(proxy);
  const what = status >= 500 ? "could not connect" : "refuses to connect";
  throw new ProxyFault("ERR_PROXY_REFUSED", `the proxy ${what} to the target (${status})`);
}

function notHttp(): ProxyFault {
  return new ProxyFault("ERR_PROXY_RESPONSE", "the proxy's response is not valid HTTP");
}

function closed(cause: unknown): ProxyFault {
  return new ProxyFault("ERR_PROXY_RESPONSE", "the proxy closed the connection", { cause });
}

/** Why there is no connection to a proxy. */
function unreachable(cause: unknown): ProxyFault {
  const why = networkErrorWords(cause) ?? "no connection";
  return why === WORDS_LATE
    ? new ProxyFault("ERR_PROXY_TIMEOUT", "no connection to the proxy in time", { cause })
    : new ProxyFault("ERR_PROXY_CONNECTION", `the proxy cannot be reached: ${why}`, { cause });
}

function tooLate(): Error {
  return Object.assign(new Error(WORDS_LATE), { code: "ETIMEDOUT" });
}

function handshakeFailed(cause: unknown, proxy: OutgoingProxy | undefined): never {
  if (/peer certificate/i.test(String(cause))) throw cause;
  const isClosed = cause instanceof Deno.errors.UnexpectedEof ||
    cause instanceof Deno.errors.ConnectionReset || cause instanceof Deno.errors.BrokenPipe;
  if (isClosed && proxy !== undefined) {
    const words = "the proxy closed the connection before TLS was established";
    throw new ProxyFault("ERR_PROXY_RESPONSE", words, { cause });
  }
  const code = isClosed ? "ECONNRESET" : "ERR_TLS_HANDSHAKE";
  throw Object.assign(new Error(String(cause), { cause }), { code });
}

async function writeAll(connection: HttpSocket, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** Closes a connection that may be closed. */
function closeQuietly(connection: HttpSocket): void {
  try {
    connection.close();
  } catch {
    // closed already
  }
}
