import { Buffer } from "node:buffer";
import { DEADLINE_MS, inTime } from "./temp.ts";

/** How a handshake went. */
export interface Handshake {
  readonly status: number;
  readonly headers: Headers;
  /** The body of a response that is no upgrade. */
  readonly body: string;
}

/** Kinds of frames (RFC 6455, section 5.2). */
export const TEXT = 1;
export const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

const encoder = new TextEncoder();

/**
 * A WebSocket client made of bytes, for what the platform's own cannot send: headers on Deno 2.4, frames that are cut or of
 * another kind. Answers pings and closes, unless told not to.
 */
export class RawWebSocket implements AsyncDisposable {
  readonly #connection: Deno.TcpConn;
  readonly handshake: Handshake;
  #bytes: Uint8Array;
  /** Code of the frame that closed it; 0 if it ended without. */
  closeCode: number | undefined;

  private constructor(connection: Deno.TcpConn, handshake: Handshake, rest: Uint8Array) {
    this.#connection = connection;
    this.handshake = handshake;
    this.#bytes = rest;
  }

  /** Connects, and sends a handshake with these headers besides its own; null leaves one out. */
  static async connect(
    url: string,
    headers: Readonly<Record<string, string | null>> = {},
  ): Promise<RawWebSocket> {
    const { hostname, port, pathname, search, host } = new URL(url);
    const connection = await Deno.connect({ hostname, port: Number(port) });
    const all = Object.entries({
      host,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      ...headers,
    }).filter(([, value]) => value !== null);
    const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    await writeAll(
      connection,
      encoder.encode(`GET ${pathname}${search} HTTP/1.1\r\n${lines}\r\n`),
    );
    let bytes: Uint8Array = new Uint8Array();
    const head = () => Buffer.from(bytes).indexOf("\r\n\r\n");
    while (head() < 0) {
      const more = await read(connection);
      if (more === undefined) throw new Error("the connection ended before the response");
      bytes = Buffer.concat([bytes, more]);
    }
    const text = new TextDecoder().decode(bytes.subarray(0, head()));
    let rest = bytes.slice(head() + 4);
    const [first, ...fields] = text.split("\r\n");
    const received = new Headers(fields.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }));
    const status = Number(first!.split(" ")[1]);
    const length = status === 101 ? 0 : Number(received.get("content-length") ?? 0);
    while (rest.length < length) {
      rest = Buffer.concat([rest, await read(connection) ?? new Uint8Array()]);
    }
    const body = new TextDecoder().decode(rest.subarray(0, length));
    const handshake = { status, headers: received, body };
    return new RawWebSocket(connection, handshake, rest.subarray(length));
  }

  /** Sends a text, or an object as JSON. */
  send(data: unknown): Promise<void> {
    const text = typeof data === "string" ? data : JSON.stringify(data);
    return this.sendFrame(TEXT, encoder.encode(text));
  }

  /** Sends one frame. */
  async sendFrame(
    kind: number,
    payload: Uint8Array,
    { isLast = true } = {},
  ): Promise<void> {
    const { length } = payload;
    const head = [kind | (isLast ? 0x80 : 0)];
    if (length < 126) head.push(0x80 | length);
    else if (length < 65_536) head.push(0x80 | 126, length >> 8, length & 255);
    else {
      const size = new DataView(new ArrayBuffer(8));
      size.setBigUint64(0, BigInt(length));
      head.push(0x80 | 127, ...new Uint8Array(size.buffer));
    }
    // a mask of zeros is one
    await writeAll(
      this.#connection,
      Buffer.concat([Uint8Array.from([...head, 0, 0, 0, 0]), payload]),
    );
  }

  /** Sends bytes as they are. */
  async sendBytes(bytes: Uint8Array): Promise<void> {
    await writeAll(this.#connection, bytes);
  }

  /** The next text frame as JSON; undefined once the connection is closed. */
  async next(withinMs = DEADLINE_MS): Promise<Record<string, unknown> | undefined> {
    while (true) {
      const frame = await inTime(this.#frame(), withinMs, "late" as const);
      if (frame === "late") throw new Error("no frame came in time");
      if (frame === undefined) return undefined;
      if (frame.kind === TEXT) return JSON.parse(new TextDecoder().decode(frame.payload));
      if (frame.kind === PING) await this.sendFrame(PONG, frame.payload);
      if (frame.kind === CLOSE) {
        const { payload } = frame;
        this.closeCode = payload.length < 2 ? 1005 : payload[0]! << 8 | payload[1]!;
        await this.sendFrame(CLOSE, payload.subarray(0, 2)).catch(() => {});
        return undefined;
      }
    }
  }

  /** The frames of a turn: up to its end, or its error. */
  async turn(request: Record<string, unknown>): Promise<Record<string, unknown>[]> {
    await this.send({ type: "response.create", ...request });
    return await this.rest();
  }

  /** The frames up to the end of the turn in progress. */
  async rest(): Promise<Record<string, unknown>[]> {
    const frames: Record<string, unknown>[] = [];
    while (true) {
      const frame = await this.next();
      if (frame === undefined) return frames;
      frames.push(frame);
      if (/^(error|response\.(completed|incomplete|failed))$/.test(String(frame.type))) {
        return frames;
      }
    }
  }

  /** Asks to close the connection; what comes before the answer can be read. */
  async close(): Promise<void> {
    await this.sendFrame(CLOSE, Uint8Array.from([3, 232]));
  }

  /** Ends its half of the connection without a word. */
  async closeWrite(): Promise<void> {
    await this.#connection.closeWrite();
  }

  /** Ends the connection without a word. */
  drop(): void {
    try {
      this.#connection.close();
    } catch {
      // it is closed
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.closeCode === undefined && this.handshake.status === 101) {
      await this.close().catch(() => {});
    }
    this.drop();
  }

  async #frame(): Promise<{ kind: number; payload: Uint8Array } | undefined> {
    const [head, short] = await this.#take(2) ?? [];
    if (head === undefined) return undefined;
    let length = short! & 127;
    if (length >= 126) {
      const size = await this.#take(length === 126 ? 2 : 8) ?? new Uint8Array();
      length = size.reduce((sum, byte) => sum * 256 + byte, 0);
    }
    const payload = await this.#take(length);
    return payload && { kind: head & 15, payload };
  }

  async #take(count: number): Promise<Uint8Array | undefined> {
    while (this.#bytes.length < count) {
      const more = await read(this.#connection).catch(() => undefined);
      if (more === undefined) return undefined;
      this.#bytes = Buffer.concat([this.#bytes, more]);
    }
    const taken = this.#bytes.slice(0, count);
    this.#bytes = this.#bytes.slice(count);
    return taken;
  }
}

async function read(connection: Deno.TcpConn): Promise<Uint8Array | undefined> {
  const buffer = new Uint8Array(65_536);
  const count = await connection.read(buffer);
  return count === null ? undefined : buffer.subarray(0, count);
}

async function writeAll(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}
