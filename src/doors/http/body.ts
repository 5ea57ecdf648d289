import {
  CHUNK_BYTES,
  DetachedBase64,
  type JsonBody,
  type LargeBodies,
  MIN_CHARS,
} from "../../wire/large_bodies/mod.ts";
import { type CoarseTimers, decodeUtf8, humanBytes } from "../../ground/platform/mod.ts";
import type { Settings } from "../../settings/config/mod.ts";
import { type JsonBounds, type JsonExcess, jsonExcess, parseJson } from "../../wire/json/mod.ts";
import type { Share } from "../../ground/fair_share/mod.ts";
import { invalid, Refusal } from "../../ground/refusal.ts";
import type { BodyWatch } from "./partial_input.ts";
import { packingOf, unpack } from "./packed_body.ts";
import { ChunksTooSmall, ReadingPace } from "../../ground/web/mod.ts";

/** Bounds of a request body, by the names of their settings, and what large bodies take. */
export interface BodyLimits extends
  Pick<
    Settings["limits"],
    | "bodyBytes"
    | "bodyDepth"
    | "bodyValues"
    | "bodyKeys"
    | "bodyIdleMs"
    | "bodyMs"
    | "bodyMinBytesPerSecond"
  > {
  readonly timers: CoarseTimers;
  readonly large: LargeBodies;
}

/** The account that a body belongs to. */
export interface BodyOwner {
  readonly account: string;
  /** Called with the number of bytes of each chunk as it arrives. */
  readonly received: (bytes: number) => void;
  /** Watches the connection while the body comes. Calls `refused` when more is coming than may be. */
  readonly watch: (maxBytes: number, refused: (error: Refusal) => void) => BodyWatch;
}

/**
 * Reads a request body as JSON. All limits are checked on the bytes that arrive, not on what headers declare, and on what they are when
 * they are unpacked.
 *
 * @throws {Refusal} `request_invalid` if the body is invalid or exceeds a limit; `gateway_unavailable` if a large
 *   body gets no memory or worker time before its deadline.
 */
export async function readJson(
  request: Request,
  limits: BodyLimits,
  owner: BodyOwner,
): Promise<JsonBody> {
  const packing = packingOf(request.headers);
  const detached = new DetachedBase64(limits.large.turn, owner.account);
  const memory = new BodyMemory(limits, owner, detached);
  try {
    const sent = await readBytes(request, limits, owner, memory);
    const bytes = packing === undefined
      ? sent
      : await unpack(sent, packing, unpackedWithin(sent.byteLength, limits, owner, memory));
    const size = bytes.byteLength; // whose buffer is given away
    memory.shrink(size);
    const { text, longDigits } = size < MIN_CHARS
      ? smallText(bytes, limits)
      : await largeText(bytes, limits, detached);
    return { json: parse(text, longDigits), bytes: size, detached };
  } catch (error) {
    detached.release();
    throw error;
  }
}

/** The memory that one body takes of what there is for large ones: one share, since two of one account could wait for each other. */
class BodyMemory {
  readonly #large: LargeBodies;
  readonly #account: string;
  readonly #detached: DetachedBase64;
  #share: Share | undefined;

  constructor({ large }: BodyLimits, { account }: BodyOwner, detached: DetachedBase64) {
    this.#large = large;
    this.#account = account;
    this.#detached = detached;
  }

  /**
   * Takes memory as it is used, doubling the amount.
   *
   * @param size Bytes that are used.
   * @param maxBytes Bytes that will be used at most.
   */
  async use(size: number, maxBytes: number): Promise<void> {
    if (size <= FREE_BYTES || size <= (this.#share?.units ?? 0)) return;
    const units = Math.min(2 * size, maxBytes);
    if (this.#share !== undefined) return await this.#share.grow(units);
    this.#share = await this.#large.memory.take(this.#account, units);
    this.#detached.hold(this.#share);
  }

  /** Returns all but what is used. */
  shrink(size: number): void {
    this.#share?.shrink(size);
  }
}

/**
 * Checks the size of a body that is unpacked. Its bytes count as if they had arrived, and it takes its turns as they would.
 *
 * @param sent Bytes that did arrive, which stay in memory until it is unpacked.
 */
function unpackedWithin(
  sent: number,
  limits: BodyLimits,
  { account, received }: BodyOwner,
  memory: BodyMemory,
): (size: number) => Promise<void> {
  const { bodyBytes, large } = limits;
  let turnAt = CHUNK_BYTES;
  let counted = sent;
  return async (size) => {
    if (size > counted) received(size - counted);
    counted = Math.max(counted, size);
    if (size > bodyBytes) throw tooLarge(limits);
    await memory.use(sent + size, sent + bodyBytes);
    if (size < turnAt) return;
    turnAt = size + CHUNK_BYTES;
    await large.turn(account);
  };
}

/** A text within its limits. */
interface CheckedText {
  readonly text: string;
  readonly longDigits?: boolean;
}

function smallText(bytes: Uint8Array, limits: BodyLimits): CheckedText {
  const bounds = boundsIn(limits);
  const text = textFrom(bytes);
  const excess = jsonExcess(text, bounds);
  if (excess !== undefined) throw beyond(excess, bounds);
  return { text };
}

/** Its bytes are checked on another thread. */
async function largeText(
  bytes: Uint8Array<ArrayBuffer>,
  limits: BodyLimits,
  detached: DetachedBase64,
): Promise<CheckedText> {
  const bounds = boundsIn(limits);
  const found = await limits.large.detach(bytes, detached, bounds);
  if ("excess" in found) throw beyond(found.excess, bounds);
  return { text: textFrom(found.text), longDigits: found.longDigits };
}

function boundsIn({ bodyDepth, bodyValues, bodyKeys }: BodyLimits): JsonBounds {
  return { depth: bodyDepth, values: bodyValues, members: bodyKeys };
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

function parse(text: string, longDigits: boolean | undefined): unknown {
  if (text.trim() === "") {
    throw invalid(undefined, "Request body is empty: send a JSON object.");
  }
  try {
    return parseJson(text, longDigits);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw invalid(undefined, `Request body is not valid JSON: ${why.slice(0, 200)}.`);
  }
}

/** Max bytes of a body that takes no share of the memory for large bodies. */
export const FREE_BYTES = 65_536;
/** Max bytes of a body that is not paced, and whose memory is not reused. */
const SMALL_BYTES = 1_048_576;
/** Max bytes of a body that the platform reads at once, which on Deno 2.4 is twice as fast as a stream. */
const SINGLE_READ_BYTES = 16_384;

async function readBytes(
  request: Request,
  limits: BodyLimits,
  owner: BodyOwner,
  memory: BodyMemory,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = declaredLength(request.headers);
  if (declared !== undefined && declared > limits.bodyBytes) throw tooLarge(limits);
  try {
    // Not touching `request.body` keeps the platform's fast path for small bodies open.
    if (declared !== undefined && declared <= SINGLE_READ_BYTES) {
      const bytes = await readAtOnce(request, limits);
      owner.received(bytes.byteLength);
      return bytes;
    }
    if (request.body === null) return new Uint8Array();
    const isChunked = request.headers.has("transfer-encoding");
    // the types of Deno 2.4 leave the kind of buffer open
    const body = request.body as ReadableStream<Uint8Array<ArrayBuffer>>;
    return await new IncomingBody(body, limits, owner, memory).readAll(declared, isChunked);
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    if (cause instanceof ChunksTooSmall) throw invalid(undefined, `${cause.message}.`);
    // The connection ended, or its framing is invalid.
    const message = "Request body incomplete: the connection ended early.";
    throw new Refusal("request_invalid", message, { cause });
  }
}

/** Returns `Content-Length` if it is a number. The platform enforces it. */
function declaredLength(headers: Headers): number | undefined {
  const value = headers.get("content-length") ?? "";
  return /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

function readAtOnce(request: Request, limits: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const arrived = limits.timers.after(limits.bodyIdleMs, () => reject(stalled(limits)));
    request.arrayBuffer()
      // the platform keeps the buffer for as long as it responds: a transfer leaves it an empty one
      .then((buffer) => resolve(new Uint8Array(buffer.transfer())), reject)
      .then(arrived);
  });
}

/** Reads a body with backpressure: unread bytes stay with the sender. */
class IncomingBody {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  readonly #limits: BodyLimits;
  readonly #owner: BodyOwner;
  readonly #memory: BodyMemory;
  readonly #pace = new ReadingPace();
  /** Why more of it is not taken. */
  #refusal: Refusal | undefined;
  /** Bytes since the account had its turn. */
  #sinceTurn = 0;
  /** Time spent waiting for the sender. */
  #sendingMs = 0;

  constructor(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    limits: BodyLimits,
    owner: BodyOwner,
    memory: BodyMemory,
  ) {
    // not into a buffer of its own ("byob"): on Deno 2.9 that takes five times as long, ten times as much memory,
    // and throws for a body that arrived together with its headers
    this.#reader = body.getReader();
    this.#limits = limits;
    this.#owner = owner;
    this.#memory = memory;
  }

  /**
   * @param declared Size of the body in bytes, if known.
   * @param isChunked Whether the body has an end mark of its own.
   */
  async readAll(
    declared: number | undefined,
    isChunked: boolean,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const watch = this.#owner.watch(this.#limits.bodyBytes, (error) => {
      this.#refusal = error;
      this.#leave();
    });
    try {
      return await this.#readAll(declared, isChunked, watch);
    } finally {
      this.#leave();
      watch.end();
    }
  }

  async #readAll(
    declared: number | undefined,
    isChunked: boolean,
    watch: BodyWatch,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const maxBytes = Math.min(declared ?? Infinity, this.#limits.bodyBytes);
    let buffer = new ArrayBuffer(Math.min(declared ?? CHUNK_BYTES, SMALL_BYTES));
    let size = 0;
    while (true) {
      const piece = await this.#next(size);
      if (piece === undefined) break;
      const end = size + piece.byteLength;
      if (end > maxBytes) throw tooLarge(this.#limits);
      await this.#memory.use(end, maxBytes);
      if (end > buffer.byteLength) buffer = this.#larger(buffer, size, end, declared);
      new Uint8Array(buffer, size).set(piece);
      size = end;
      this.#owner.received(piece.byteLength);
      watch.delivered(piece.byteLength);
      await this.#pace.next(piece.byteLength);
      if (size === declared && !isChunked) {
        // the read that finds the end leaves its buffer of 64 KB with the platform, which keeps it while it responds
        this.#reader.cancel().catch(() => {});
        break;
      }
    }
    if (declared !== undefined && size < declared) {
      throw invalid(undefined, "Request body incomplete: it is shorter than its Content-Length.");
    }
    return new Uint8Array(buffer, 0, size);
  }

  /** Allocates memory for the declared size, which uses only address space until bytes arrive. */
  #larger(
    buffer: ArrayBuffer,
    size: number,
    needed: number,
    declared: number | undefined,
  ): ArrayBuffer {
    const { bodyBytes: maxBytes, large } = this.#limits;
    const wanted = Math.max(needed, Math.min(2 * size, maxBytes));
    const larger = needed > SMALL_BYTES
      ? large.room(declared ?? wanted)
      : new ArrayBuffer(Math.min(declared ?? wanted, SMALL_BYTES));
    new Uint8Array(larger).set(new Uint8Array(buffer, 0, size));
    return larger;
  }

  /** Stops reading. What is left of the body is not read by the platform either (see `UnreadBodies`). */
  #leave(): void {
    this.#reader.releaseLock();
  }

  /** Returns the next bytes, or `undefined` at the end. */
  async #next(received: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { timers, bodyIdleMs, bodyMs, bodyMinBytesPerSecond, large } = this.#limits;
    if (received >= SMALL_BYTES && this.#sinceTurn >= CHUNK_BYTES) {
      this.#sinceTurn = 0;
      await large.turn(this.#owner.account);
    }
    let late = false;
    const startedTick = performance.now();
    const arrived = timers.after(bodyIdleMs, () => {
      late = true;
      this.#leave();
    });
    const { value } = await this.#reader.read()
      .catch((error) => {
        if (late) throw stalled(this.#limits);
        throw this.#refusal ?? error;
      })
      .finally(arrived);
    this.#sinceTurn += value?.byteLength ?? 0;
    this.#sendingMs += performance.now() - startedTick;
    const dueBytes = bodyMinBytesPerSecond * this.#sendingMs / 1_000;
    if (value !== undefined && this.#sendingMs > bodyIdleMs && received < dueBytes) {
      throw tooSlow(`the minimum speed is ${bodyMinBytesPerSecond} bytes per second`);
    }
    if (this.#sendingMs > bodyMs) {
      throw tooSlow(`the limit for the whole body is ${seconds(bodyMs)}`);
    }
    return value;
  }
}

function seconds(ms: number): string {
  return `${ms / 1_000} s`;
}

function stalled({ bodyIdleMs: ms }: BodyLimits): Refusal {
  return invalid(undefined, `Timed out reading the request body: no data for ${seconds(ms)}.`);
}

function tooSlow(why: string): Refusal {
  return invalid(undefined, `Timed out reading the request body: ${why}.`);
}

function tooLarge({ bodyBytes }: BodyLimits): Refusal {
  const message = `Request body too large: the limit is ${humanBytes(bodyBytes)}.`;
  return Object.assign(invalid(undefined, message), { isTooLarge: true });
}

/** Decodes strictly: the platform's reader would insert replacement characters into a prompt. */
function textFrom(bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes);
  } catch (cause) {
    throw Object.assign(invalid(undefined, "Request body is not valid UTF-8."), { cause });
  }
}
