import { networkErrorWords } from "../platform/mod.ts";
import type { OutgoingProxy } from "./outgoing_proxy.ts";
import { authenticationFault, ProxyFault } from "./proxy_fault.ts";
import { closeQuietly, TunnelSocket, writeAll } from "./tunnel_socket.ts";

/** Where a tunnel leads. */
export interface TunnelTarget {
  /** Name or IP address, without brackets: the proxy resolves a name. */
  readonly hostname: string;
  readonly port: number;
  /** Name or IP address that the target's certificate must be for; undefined for a connection without TLS. */
  readonly servername: string | undefined;
  /** PEM text of a certificate authority to trust besides the usual ones. */
  readonly ca: string | undefined;
  /** Max time until the connection can be used, in milliseconds. */
  readonly timeoutMs: number;
}

/** Max bytes of the head of a proxy's reply. */
const MAX_HEAD_BYTES = 16_384;
const HEAD_END = "\r\n\r\n";
/** What `networkErrorWords` calls a connection that took too long. */
const WORDS_LATE = "no connection in time";

/**
 * Connects to a target by a proxy's method CONNECT (RFC 9110, section 9.3.6), and begins TLS with the target.
 *
 * @throws {ProxyFault} If the proxy is what fails. What TLS says of the target, such as an expired certificate, is thrown as it is.
 */
export async function openTunnel(
  proxy: OutgoingProxy,
  { hostname, port, servername, ca, timeoutMs }: TunnelTarget,
): Promise<TunnelSocket> {
  let words = "no connection to the proxy in time";
  let current: Deno.Conn | undefined;
  let isOver = false;
  const keep = <C extends Deno.Conn>(connection: C): C => {
    current = connection;
    if (isOver) closeQuietly(connection); // it came too late
    return connection;
  };
  const open = async () => {
    const connection = keep(
      await Deno.connect({ hostname: proxy.hostname, port: proxy.port }).catch((error) => {
        throw unreachable(error);
      }),
    );
    connection.setNoDelay(true);
    connection.setKeepAlive(true);
    words = "the proxy did not connect to the target in time";
    const authority = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
    const first = await askForTunnel(connection, proxy, authority);
    if (servername === undefined) return new TunnelSocket(connection, first);
    words = "no TLS with the target in time, through the proxy";
    const tls = await Deno.startTls(connection, {
      hostname: servername,
      alpnProtocols: ["http/1.1"],
      ...(ca === undefined ? {} : { caCerts: [ca] }),
    }).then(keep);
    await tls.handshake().catch(handshakeFailed);
    return new TunnelSocket(tls, new Uint8Array());
  };
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new ProxyFault("ERR_PROXY_TIMEOUT", words)),
    timeoutMs,
  );
  try {
    return await Promise.race([open(), late.promise]);
  } catch (error) {
    isOver = true;
    if (current !== undefined) closeQuietly(current);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Has a proxy connect to a target. Resolves with what the target has sent already. */
async function askForTunnel(
  connection: Deno.Conn,
  proxy: OutgoingProxy,
  authority: string,
): Promise<Uint8Array> {
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
      return buffer.subarray(end + HEAD_END.length, size);
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
export function unreachable(cause: unknown): ProxyFault {
  const why = networkErrorWords(cause) ?? "no connection";
  return why === WORDS_LATE
    ? new ProxyFault("ERR_PROXY_TIMEOUT", "no connection to the proxy in time", { cause })
    : new ProxyFault("ERR_PROXY_CONNECTION", `the proxy cannot be reached: ${why}`, { cause });
}

function handshakeFailed(cause: unknown): never {
  if (/peer certificate/i.test(String(cause))) throw cause;
  const isClosed = cause instanceof Deno.errors.UnexpectedEof ||
    cause instanceof Deno.errors.ConnectionReset || cause instanceof Deno.errors.BrokenPipe;
  if (isClosed) {
    const words = "the proxy closed the connection before TLS was established";
    throw new ProxyFault("ERR_PROXY_RESPONSE", words, { cause });
  }
  throw Object.assign(new Error(String(cause), { cause }), { code: "ERR_TLS_HANDSHAKE" });
}
