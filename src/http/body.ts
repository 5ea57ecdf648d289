import { Blobs, type JsonBody, type LargeBodies, LEAST_CHARS, PORTION } from "../blobs/mod.ts";
import { humanBytes } from "../bytes.ts";
import type { CoarseTimers } from "../coarse_timers.ts";
import { parseJson } from "../json/mod.ts";
import type { Share } from "../fair_share/mod.ts";
import { type JsonBounds, type JsonExcess, jsonExcess } from "../json/mod.ts";
import { invalid, Refusal } from "../refusal.ts";

/** Limits on a request body. */
export interface BodyLimits {
  readonly bytes: number;
  readonly json: JsonBounds;
  /** Max time between two chunks, in milliseconds. */
  readonly idleMs: number;
  /** Max time for the whole body, in milliseconds. */
  readonly totalMs: number;
  /** Min average speed once `idleMs` has passed. */
  readonly minBytesPerSecond: number;
  readonly timers: CoarseTimers;
  readonly large: LargeBodies;
}

/** The account that a body belongs to. */
export interface BodyOwner {
  readonly account: string;
  /** Called with the number of bytes of each chunk as it arrives. */
  readonly received: (bytes: number) => void;
}

/**
 * Reads a request body as JSON. All limits are checked on the bytes that arrive, not on what headers declare.
 *
 * @throws {Refusal} `request_invalid` if the body is invalid or exceeds a limit; `gateway_unavailable` if a large
 *   body gets no memory or worker time before its deadline.
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

/** Checks the limits of a text. The bytes of large bodies are checked on another thread. */
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

/** Max bytes of a body that takes no share of the memory for large bodies. */
const FREE_BYTES = 65_536;
/** Max bytes of a body that is not paced, and whose memory is not reused. */
const SMALL_BYTES = 1_048_576;
/** Max bytes of a body that the platform reads at once, which on Deno 2.4 is twice as fast as a stream. */
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
    // the types of Deno 2.4 leave the kind of buffer open
    const body = request.body as ReadableStream<Uint8Array<ArrayBuffer>>;
    return await new IncomingBody(body, limits, owner, blobs).readAll(declared);
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    // The connection ended, or its framing is invalid.
    const message = "Request body incomplete: the connection ended early.";
    throw new Refusal("request_invalid", message, { cause });
  }
}

/** Returns `Content-Length` if it is a number. The platform enforces it. */
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

/** Max bytes and time to read a rejected body. */
const SKIPPED_BYTES = 2 * 1_048_576;
const SKIP_MS = 5_000;

/**
 * Reads and drops the body of a rejected request if it is short, since closing a connection with unread bytes can lose
 * the response.
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

/** Reads a body with backpressure: unread bytes stay with the sender. */
class IncomingBody {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  readonly #limits: BodyLimits;
  readonly #owner: BodyOwner;
  readonly #blobs: Blobs;
  /** Time spent waiting for the sender. */
  #sendingMs = 0;

  constructor(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    limits: BodyLimits,
    owner: BodyOwner,
    blobs: Blobs,
  ) {
    // not into a buffer of its own ("byob"): on Deno 2.9 that takes five times as long, ten times as much memory,
    // and throws for a body that arrived together with its headers
    this.#reader = body.getReader();
    this.#limits = limits;
    this.#owner = owner;
    this.#blobs = blobs;
  }

  /** @param declared Size of the body in bytes, if known. */
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

  /** Allocates memory for the declared size, which uses only address space until bytes arrive. */
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

  /** Takes memory from the pool as it is used, doubling the amount. */
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

  /** Returns the next bytes, or `undefined` at the end. */
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

/** Decodes strictly: the platform's reader would insert replacement characters into a prompt. */
function decodeUtf8(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw Object.assign(invalid(undefined, "Request body is not valid UTF-8."), { cause });
  }
}
