import { HttpFault } from "./http_fault.ts";

/** A body whose size is known before it is read, piece after piece. */
export interface SizedBody extends AsyncIterable<Uint8Array> {
  /** Bytes in all. */
  readonly size: number;
}

/** What is sent with a request. */
export type RequestBody = string | Uint8Array | SizedBody | undefined;

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const TARGET = /^[\x21-\x7e\x80-\xff]+$/;
/** Say where a request ends, or what becomes of its connection: nobody but the sender may. */
const RESERVED =
  /^(?:connection|content-length|expect|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i;

/** Writes header fields. */
export function fieldLines(
  headers: Readonly<Record<string, string>>,
  isTaken: (name: string) => boolean,
): string {
  let lines = "";
  for (const name in headers) {
    if (isTaken(name)) continue;
    const value = headers[name]!;
    if (!TOKEN.test(name) || RESERVED.test(name) || !VALUE.test(value)) {
      throw new HttpFault("ERR_REQUEST_INVALID", "a header field of the request cannot be sent");
    }
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** Checks what a request is sent to: a path with its query, or an address. */
export function checkTarget(target: string): string {
  if (TARGET.test(target)) return target;
  throw new HttpFault("ERR_REQUEST_INVALID", "the path of the request cannot be sent");
}

/** Bytes of heads and short bodies, so that both are written at once. */
const SCRATCH_BYTES = 16_384;
const HEAD_BYTES = 4_096;
/** Max bytes of a body that is copied to be written with its head. */
const JOINED_BYTES = 65_536;
/** A character takes up to three bytes. */
const SHORT_CHARS = (SCRATCH_BYTES - HEAD_BYTES) / 3;

const encoder = new TextEncoder();

/** Writes requests. */
export class RequestWriter {
  /** One that is not in use: nearly always a request is written at once. */
  #spare: Uint8Array | undefined;

  /**
   * Writes a whole request.
   *
   * @param head All but the length and the line that ends it.
   * @param write Takes all bytes, which may be changed after it.
   */
  async write(
    head: string,
    body: RequestBody,
    write: (bytes: Uint8Array) => Promise<void>,
  ): Promise<void> {
    if (typeof body === "string" && body.length <= SHORT_CHARS) {
      const scratch = this.#spare ?? new Uint8Array(SCRATCH_BYTES);
      this.#spare = undefined;
      const size = encoder.encodeInto(body, scratch.subarray(HEAD_BYTES)).written;
      const whole = withLength(head, size);
      if (whole.length <= HEAD_BYTES) {
        const start = HEAD_BYTES - whole.length;
        putLatin1(whole, scratch, start);
        await write(scratch.subarray(start, HEAD_BYTES + size));
      } else {
        await write(latin1(whole));
        await write(scratch.subarray(HEAD_BYTES, HEAD_BYTES + size));
      }
      this.#spare = scratch;
      return;
    }
    if (body === undefined) return await write(latin1(`${head}\r\n`));
    if (typeof body === "string") return await writeBoth(head, encoder.encode(body), write);
    if (body instanceof Uint8Array) return await writeBoth(head, body, write);
    await write(latin1(withLength(head, body.size)));
    let left = body.size;
    for await (const piece of body) {
      left -= piece.byteLength;
      if (left < 0) break;
      await write(piece);
    }
    if (left !== 0) {
      throw new HttpFault("ERR_REQUEST_INVALID", "the request is not as long as told");
    }
  }
}

async function writeBoth(
  head: string,
  bytes: Uint8Array,
  write: (bytes: Uint8Array) => Promise<void>,
): Promise<void> {
  const whole = withLength(head, bytes.byteLength);
  if (bytes.byteLength <= JOINED_BYTES) {
    const both = new Uint8Array(whole.length + bytes.byteLength);
    putLatin1(whole, both, 0);
    both.set(bytes, whole.length);
    return await write(both);
  }
  await write(latin1(whole));
  await write(bytes);
}

function withLength(head: string, size: number): string {
  return `${head}content-length: ${size}\r\n\r\n`;
}

function latin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  putLatin1(text, bytes, 0);
  return bytes;
}

function putLatin1(text: string, bytes: Uint8Array, start: number): void {
  for (let at = 0; at < text.length; at++) bytes[start + at] = text.charCodeAt(at);
}
