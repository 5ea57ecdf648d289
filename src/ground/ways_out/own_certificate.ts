import { connect, type TLSSocket } from "node:tls";
import type { HttpSocket } from "../http1/mod.ts";

/**
 * Whether a handshake failed only because the server's own certificate, by which it is trusted, is one of an authority, as those of
 * `openssl req -x509` are. The platform's sockets refuse these; Node's TLS does not.
 */
export function isAuthoritysOwn(error: unknown): boolean {
  return String(error).includes("CaUsedAsEndEntity");
}

/** Where a server was reached, and how it proves that it is the one. */
export interface OwnCertificate {
  readonly hostname: string;
  readonly port: number;
  readonly servername: string;
  /** PEM text. */
  readonly ca: string;
  readonly signal: AbortSignal;
}

/**
 * Connects by Node's TLS: name, dates and issuer are checked as ever.
 *
 * @throws What it failed with, or the signal's reason.
 */
export function connectByOwn(
  { hostname, port, servername, ca, signal }: OwnCertificate,
): Promise<HttpSocket> {
  signal.throwIfAborted();
  const socket = connect({
    host: hostname,
    port,
    ca,
    ALPNProtocols: ["http/1.1"],
    ...(isAddress(servername) ? {} : { servername }),
  });
  const { promise, resolve, reject } = Promise.withResolvers<HttpSocket>();
  const end = () => void socket.destroy(signal.reason);
  signal.addEventListener("abort", end);
  socket.once("secureConnect", () => resolve(new NodeSocket(socket)));
  socket.on("error", reject); // stays, so that later errors, which reads report, are not uncaught
  return promise.finally(() => signal.removeEventListener("abort", end));
}

function isAddress(host: string): boolean {
  return host.includes(":") || /^[\d.]+$/.test(host);
}

/** A socket of Node's that is read on demand. */
class NodeSocket implements HttpSocket {
  readonly #socket: TLSSocket;

  constructor(socket: TLSSocket) {
    this.#socket = socket;
  }

  async read(into: Uint8Array): Promise<number | null> {
    const socket = this.#socket;
    for (;;) {
      const size = Math.min(into.byteLength, socket.readableLength);
      const bytes: Uint8Array | null = socket.read(size); // of nothing, it looks for more, or the end
      if (bytes !== null) {
        into.set(bytes);
        return bytes.byteLength;
      }
      if (socket.errored) throw socket.errored;
      if (socket.readableEnded || socket.destroyed) return null;
      await this.#change();
    }
  }

  /** Resolves once there is something to read, or the end. */
  #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const events = ["readable", "end", "close"];
    const done = () => {
      for (const event of events) this.#socket.off(event, done);
      resolve();
    };
    for (const event of events) this.#socket.on(event, done);
    return promise;
  }

  write(bytes: Uint8Array): Promise<number> {
    return new Promise((resolve, reject) =>
      this.#socket.write(bytes, (error) => error ? reject(error) : resolve(bytes.byteLength))
    );
  }

  close(): void {
    this.#socket.destroy();
  }
}
