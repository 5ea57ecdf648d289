import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";

/** Bytes that are read at a time. */
const READ_BYTES = 65_536;

/**
 * A connection of the platform's as a stream that undici takes for a socket. Before Deno 2.9, `node:tls` cannot begin TLS on
 * a connection that exists, as a tunnel does; `Deno.startTls` can.
 */
export class TunnelSocket extends Duplex {
  readonly #connection: Deno.Conn;
  readonly #buffer = new Uint8Array(READ_BYTES);

  /** @param first Bytes that have been read already. */
  constructor(connection: Deno.Conn, first: Uint8Array) {
    super();
    this.#connection = connection;
    if (first.length > 0) this.push(Buffer.from(first));
  }

  override _read(): void {
    this.#connection.read(this.#buffer).then(
      (size) => this.push(size === null ? null : Buffer.from(this.#buffer.subarray(0, size))),
      (error) => this.destroy(error),
    );
  }

  override _write(bytes: Uint8Array, _encoding: string, done: (error?: Error) => void): void {
    writeAll(this.#connection, bytes).then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    closeQuietly(this.#connection);
    done(error);
  }

  // what undici calls of a socket besides
  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** Writes all bytes. */
export async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** Closes a connection that may be closed. */
export function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // closed already
  }
}
