import { Blobs, type JsonBody, type LargeBodies, LEAST_CHARS, PORTION } from "../blobs/mod.ts";
import { humanBytes } from "../bytes.ts";
import type { CoarseTimers } from "../coarse_timers.ts";
import { parseJson } from "../json/mod.ts";
import type { Share } from "../fair_share/mod.ts";
import { type JsonBounds, type JsonExcess, jsonExcess } from "../json/mod.ts";
import { invalid, Refusal } from "../refusal.ts";

/** Bounds of a request body. */
export interface BodyLimits {
  readonly bytes: number;
  readonly json: JsonBounds;
  /** Between two chunks. */
  readonly idleMs: number;
  /** For the whole body. */
  readonly totalMs: number;
  /** Slower senders are cut off once `idleMs` have passed. */
  readonly minBytesPerSecond: number;
  readonly timers: CoarseTimers;
  readonly large: LargeBodies;
}

/** Whose body is read. */
export interface BodyOwner {
  readonly account: string;
  /** Called with the number of bytes as they arrive. */
  readonly received: (bytes: number) => void;
}

/**
 * Reads a request's body as JSON. All bounds are checked on what arrives, not on what headers say.
 *
 * @throws {Refusal} `request_invalid` naming what is wrong with the body; `gateway_unavailable` when a large
 *   one finds no memory or worker time before its deadline.
 */
export async function readJson(
  request: Request,
  limits: BodyLimits,
  owner: BodyOwner,
): Promise<JsonBody> {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw invalid(
      undefined,
      `Compressed request bodies are not supported: send the body without Content-Encoding '${
        encoding.slice(0, 40)
      }'.`,
    );
  }
  const blobs = new Blobs(limits.large.turn, owner.account);
  try {
    const bytes = await readBytes(request, limits, owner, blobs);
    return { json: parse(await textOf(bytes, limits, blobs)), bytes: bytes.byteLength, blobs };
  } catch (error) {
    blobs.release();
    throw error;
  }
}

/** The text within its bounds. Each byte of a large body is looked at on another thread. */
async function textOf(
  bytes: Uint8Array<ArrayBuffer>,
  { json, large }: BodyLimits,
  blobs: Blobs,
): Promise<string> {
  if (bytes.byteLength < LEAST_CHARS) {
    const text = decodeUtf8(bytes);
    const excess = jsonExcess(text, json);
    if (excess !== undefined) throw beyond(excess, json);
    return text;
  }
  const found = await large.setAside(bytes, blobs, json);
  if ("excess" in found) throw beyond(found.excess, json);
  return decodeUtf8(found.text);
}

function beyond(excess: JsonExcess, bounds: JsonBounds): Refusal {
  const most = bounds[excess].toLocaleString("en-US");
  const messages: Record<JsonExcess, string> = {
    depth: `Request body nested too deeply: the limit is ${most} levels.`,
    values: `Request body has too many JSON values: the limit is ${most}.`,
    members: `Request body has an object with too many keys: the limit is ${most}.`,
  };
  return invalid(undefined, messages[excess]);
}

function parse(text: string): unknown {
  if (text.trim() === "") {
    throw invalid(undefined, "Request body is empty: send a JSON object.");
  }
  try {
    return parseJson(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw invalid(undefined, `Request body is not valid JSON: ${why.slice(0, 200)}.`);
  }
}

/** Bodies up to this take no share of the memory for bodies. */
const FREE_BYTES = 65_536;
/** Bodies up to this are not paced, and their memory is not used again. */
const SMALL_BYTES = 1_048_576;
/** Bodies up to this are read by the platform in one go, which Deno 2.4 does twice as fast as by stream. */
const SINGLE_READ_BYTES = 16_384;

async function readBytes(
  request: Request,
  limits: BodyLimits,
  owner: BodyOwner,
  blobs: Blobs,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = declaredLength(request.headers);
  if (declared !== undefined && declared > limits.bytes) throw tooLarge(limits);
  try {
    // Not touching `request.body` keeps the platform's fast path for small bodies open.
    if (declared !== undefined && declared <= SINGLE_READ_BYTES) {
      const bytes = await readAtOnce(request, limits);
      owner.received(bytes.byteLength);
      return bytes;
    }
    if (request.body === null) return new Uint8Array();
    // the types of Deno 2.4 do not say whose memory its pieces are in
    const body = request.body as ReadableStream<Uint8Array<ArrayBuffer>>;
    return await new IncomingBody(body, limits, owner, blobs).readAll(declared);
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    // The connection ended, or its framing is broken: not a fault of ours.
    const message = "Request body incomplete: the connection ended early.";
    throw new Refusal("request_invalid", message, { cause });
  }
}

/** `Content-Length`, if it is one number; the platform holds the body to it. */
function declaredLength(headers: Headers): number | undefined {
  const value = headers.get("content-length");
  return value !== null && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

function readAtOnce(request: Request, limits: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const arrived = limits.timers.after(limits.idleMs, () => reject(stalled(limits)));
    request.arrayBuffer().then((buffer) => resolve(new Uint8Array(buffer)), reject)
      .finally(arrived);
  });
}

/** Bytes of a body that are read although its request is rejected, and the time for that. */
const SKIPPED_BYTES = 2 * 1_048_576;
const SKIP_MS = 5_000;

/**
 * Reads past a body whose request is rejected, as far as it is short: a connection that is closed over unread
 * bytes may lose the response.
 */
export async function skipBody({ body }: Request): Promise<void> {
  const reader = body?.getReader();
  const untilTick = performance.now() + SKIP_MS;
  const timer = setTimeout(() => reader?.cancel().catch(() => {}), SKIP_MS);
  try {
    for (let size = 0; size < SKIPPED_BYTES && performance.now() < untilTick;) {
      const piece = await reader?.read();
      if (piece?.value === undefined) return;
      size += piece.value.byteLength;
    }
  } catch {
    // the client is gone
  } finally {
    clearTimeout(timer);
  }
}

/** A body that is read as it comes: what is not read yet stays with its sender. */
class IncomingBody {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  readonly #limits: BodyLimits;
  readonly #owner: BodyOwner;
  readonly #blobs: Blobs;
  /** Time that the sender took. */
  #sendingMs = 0;

  constructor(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    limits: BodyLimits,
    owner: BodyOwner,
    blobs: Blobs,
  ) {
    // not into memory of ours ("byob"): on Deno 2.9 that takes five times as long, ten times as much memory,
    // and throws for a body that came whole with its headers
    this.#reader = body.getReader();
    this.#limits = limits;
    this.#owner = owner;
    this.#blobs = blobs;
  }

  /** @param declared Bytes that the body has, if that is known. */
  async readAll(declared: number | undefined): Promise<Uint8Array<ArrayBuffer>> {
    const maxBytes = Math.min(declared ?? Infinity, this.#limits.bytes);
    let buffer = new ArrayBuffer(Math.min(declared ?? PORTION, SMALL_BYTES));
    let size = 0;
    let share: Share | undefined;
    while (true) {
      const piece = await this.#next(size);
      if (piece === undefined) break;
      const end = size + piece.byteLength;
      if (end > maxBytes) {
        this.#cancel();
        throw tooLarge(this.#limits);
      }
      if (end > FREE_BYTES && end > (share?.units ?? 0)) {
        share = await this.#hold(share, Math.min(2 * end, maxBytes));
      }
      if (end > buffer.byteLength) buffer = this.#larger(buffer, size, end, declared);
      new Uint8Array(buffer, size).set(piece);
      size = end;
      this.#owner.received(piece.byteLength);
    }
    if (declared !== undefined && size < declared) {
      throw invalid(undefined, "Request body incomplete: it is shorter than its Content-Length.");
    }
    share?.shrink(size);
    return new Uint8Array(buffer, 0, size);
  }

  /** Memory for what is declared is no more than address space until the bytes are there. */
  #larger(
    buffer: ArrayBuffer,
    size: number,
    needed: number,
    declared: number | undefined,
  ): ArrayBuffer {
    const { bytes: maxBytes, large } = this.#limits;
    const wanted = Math.max(needed, Math.min(2 * size, maxBytes));
    const larger = needed > SMALL_BYTES
      ? large.room(declared ?? wanted)
      : new ArrayBuffer(Math.min(declared ?? wanted, SMALL_BYTES));
    new Uint8Array(larger).set(new Uint8Array(buffer, 0, size));
    return larger;
  }

  /** Takes memory as it is used, in doublings. */
  async #hold(share: Share | undefined, bytes: number): Promise<Share> {
    if (share !== undefined) {
      await share.grow(bytes);
      return share;
    }
    const first = await this.#limits.large.memory.take(this.#owner.account, bytes);
    this.#blobs.hold(first);
    return first;
  }

  #cancel(): void {
    this.#reader.cancel().catch(() => {});
  }

  /** The next bytes; undefined at the end. */
  async #next(received: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { timers, idleMs, totalMs, minBytesPerSecond, large } = this.#limits;
    if (received >= SMALL_BYTES) await large.turn(this.#owner.account);
    let late = false;
    const startedTick = performance.now();
    const arrived = timers.after(idleMs, () => {
      late = true;
      this.#cancel();
    });
    const { value } = await this.#reader.read().finally(arrived);
    if (late) throw stalled(this.#limits);
    this.#sendingMs += performance.now() - startedTick;
    const dueBytes = minBytesPerSecond * this.#sendingMs / 1_000;
    if (value !== undefined && this.#sendingMs > idleMs && received < dueBytes) {
      this.#cancel();
      throw tooSlow(`the minimum speed is ${minBytesPerSecond} bytes per second`);
    }
    if (this.#sendingMs > totalMs) {
      this.#cancel();
      throw tooSlow(`the limit for the whole body is ${seconds(totalMs)}`);
    }
    return value;
  }
}

function seconds(ms: number): string {
  return `${ms / 1_000} s`;
}

function stalled({ idleMs }: BodyLimits): Refusal {
  return invalid(undefined, `Timed out reading the request body: no data for ${seconds(idleMs)}.`);
}

function tooSlow(why: string): Refusal {
  return invalid(undefined, `Timed out reading the request body: ${why}.`);
}

function tooLarge({ bytes }: BodyLimits): Refusal {
  return invalid(undefined, `Request body too large: the limit is ${humanBytes(bytes)}.`);
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/** Strict: the platform's own reader would put replacement characters into a prompt. */
function decodeUtf8(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw Object.assign(invalid(undefined, "Request body is not valid UTF-8."), { cause });
  }
}
