import {
  Blobs,
  type JsonBody,
  type LargeBodies,
  LEAST_CHARS,
  PORTION,
  type Share,
} from "../blobs/mod.ts";
import type { CoarseTimers } from "../coarse_timers.ts";
import { parseJson } from "../exact_json.ts";
import { invalid } from "../refusal.ts";

/** Bounds of a request body. */
export interface BodyLimits {
  readonly bytes: number;
  /** Between two chunks. */
  readonly idleMs: number;
  readonly timers: CoarseTimers;
  readonly large: LargeBodies;
}

/** Arrays and objects within each other at the most. */
const MAX_DEPTH = 100;

/**
 * Reads a request's body as JSON, within bounds that do not trust its headers.
 *
 * @throws {Refusal} `request_invalid` saying what is wrong with it; `gateway_unavailable` when a large one
 *   had no turn in time.
 */
export async function readJson(request: Request, limits: BodyLimits): Promise<JsonBody> {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw invalid(
      undefined,
      `The body must not be compressed: its content-encoding is '${encoding.slice(0, 40)}'.`,
    );
  }
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > limits.bytes) throw tooLarge(limits);
  const blobs = new Blobs(limits.large.turn);
  try {
    const bytes = await readBytes(request, declared, limits, blobs);
    // each byte of a large body is looked at elsewhere, while others are served here
    const text = bytes.byteLength < LEAST_CHARS ? bytes : await limits.large.setAside(bytes, blobs);
    return { json: parse(decodeUtf8(text)), blobs };
  } catch (error) {
    blobs.release();
    throw error;
  }
}

function parse(text: string): unknown {
  if (text.trim() === "") throw invalid(undefined, "The body is empty: it must be a JSON object.");
  if (deeperThan(text, MAX_DEPTH)) {
    throw invalid(undefined, `The body must not be nested deeper than ${MAX_DEPTH} levels.`);
  }
  try {
    return parseJson(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw invalid(undefined, `The body is not valid JSON: ${why.slice(0, 200)}.`);
  }
}

/** Bodies up to this are read in one go, which is much faster, and count in no budget. */
const SMALL_BYTES = 1_048_576;

async function readBytes(
  request: Request,
  declared: string | null,
  limits: BodyLimits,
  blobs: Blobs,
): Promise<Uint8Array<ArrayBuffer>> {
  // Not looking at `request.body` keeps the platform's short way of reading a small body open.
  if (declared !== null && Number(declared) <= SMALL_BYTES) return await readSmall(request, limits);
  if (request.body === null) return new Uint8Array();
  const incoming = new IncomingBody(request.body, limits, blobs);
  return declared === null ? await incoming.readAll() : await incoming.fill(Number(declared));
}

/** The platform holds the body to its declared length. */
function readSmall(request: Request, limits: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const arrived = limits.timers.after(limits.idleMs, () => reject(tooLate(limits)));
    request.arrayBuffer().then((buffer) => resolve(new Uint8Array(buffer)), reject).finally(
      arrived,
    );
  });
}

/** A large body, or one of unknown length: what is not read yet stays with its sender. */
class IncomingBody {
  readonly #reader: ReadableStreamBYOBReader;
  readonly #limits: BodyLimits;
  readonly #blobs: Blobs;

  constructor(body: ReadableStream<Uint8Array>, limits: BodyLimits, blobs: Blobs) {
    this.#reader = body.getReader({ mode: "byob" });
    this.#limits = limits;
    this.#blobs = blobs;
  }

  /** Reads so many bytes, to which the platform holds the body. */
  async fill(size: number): Promise<Uint8Array<ArrayBuffer>> {
    await this.#take(size);
    let buffer = this.#limits.large.room(size);
    let at = 0;
    while (at < size) {
      const value = await this.#next(new Uint8Array(buffer, at, Math.min(PORTION, size - at)));
      if (value === undefined) {
        throw invalid(undefined, "The body is shorter than it was declared.");
      }
      buffer = value.buffer;
      at += value.byteLength;
    }
    return new Uint8Array(buffer, 0, size);
  }

  /** Reads whatever comes, however small its chunks are. */
  async readAll(): Promise<Uint8Array<ArrayBuffer>> {
    let whole = new Uint8Array(PORTION);
    let size = 0;
    let share: Share | undefined;
    let lent = new Uint8Array(PORTION);
    while (true) {
      const value = await this.#next(lent);
      if (value === undefined) break;
      const from = size;
      size += value.byteLength;
      if (size > this.#limits.bytes) {
        this.#reader.cancel().catch(() => {});
        throw tooLarge(this.#limits);
      }
      if (size > SMALL_BYTES) share ??= await this.#take(this.#limits.bytes);
      if (size > whole.byteLength) {
        const larger = new Uint8Array(2 * whole.byteLength);
        larger.set(whole);
        whole = larger;
      }
      whole.set(value, from);
      lent = new Uint8Array(value.buffer); // the same memory, come back
    }
    share?.shrink(size);
    return whole.subarray(0, size);
  }

  async #take(bytes: number): Promise<Share> {
    const share = await this.#limits.large.budget.take(bytes);
    this.#blobs.hold(share);
    return share;
  }

  /** The next bytes, in the buffer that was given away for them; undefined at the end. */
  async #next(into: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer> | undefined> {
    await this.#limits.large.turn();
    let late = false;
    const arrived = this.#limits.timers.after(this.#limits.idleMs, () => {
      late = true;
      this.#reader.cancel().catch(() => {});
    });
    const { done, value } = await this.#reader.read(into).finally(arrived);
    if (late) throw tooLate(this.#limits);
    return done ? undefined : value;
  }
}

function tooLate({ idleMs }: BodyLimits) {
  return invalid(undefined, `The body did not arrive: nothing came for ${idleMs} ms.`);
}

function tooLarge({ bytes }: BodyLimits) {
  return invalid(undefined, `The body is too large: at most ${bytes} bytes are taken.`);
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/** Strict: the platform's own reader would put replacement characters into a prompt. */
function decodeUtf8(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw Object.assign(invalid(undefined, "The body is not valid UTF-8."), { cause });
  }
}

/** Whether JSON text nests deeper than is safe to walk; told before anything walks it. */
function deeperThan(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 92) index++; // a backslash and what it escapes
      else if (code === 34) inString = false;
    } else if (code === 34) {
      inString = true;
    } else if (code === 123 || code === 91) {
      if (++depth > limit) return true;
    } else if (code === 125 || code === 93) {
      depth--;
    }
  }
  return false;
}
