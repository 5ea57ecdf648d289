import { setImmediate } from "node:timers";
import { until } from "../platform/mod.ts";

/** Bounds of a request body. */
export interface BodyBounds {
  readonly maxBytes: number;
  /** Max time for all of it, in milliseconds. */
  readonly maxMs: number;
}

/** Thrown when a body is longer than its bound. */
export class BodyTooLong extends Error {
  override readonly name = "BodyTooLong";
}

/** Thrown when a body comes in many chunks of a few bytes each. */
export class ChunksTooSmall extends Error {
  override readonly name = "ChunksTooSmall";

  constructor() {
    super(
      `Request body in chunks that are too small: send at least ${MIN_MEAN_BYTES} bytes a chunk on average, or Content-Length`,
    );
  }
}

/** A request whose body is read. */
type Incoming = Pick<Request, "headers" | "body">;

/**
 * Reads the body of a request within bounds; what is beyond them stays unread.
 *
 * @returns Its bytes; none if there is no body.
 * @throws {BodyTooLong} if it is longer; {ChunksTooSmall}; another error if it did not come whole, or not in time.
 */
export async function readBounded(request: Incoming, bounds: BodyBounds): Promise<Uint8Array> {
  const whole = new CopiedBytes();
  await read(request, bounds, (piece) => whole.add(piece));
  return whole.bytes;
}

/**
 * Reads the body of a request as text.
 *
 * @param refused Makes what is thrown if it is too long; else it was not received in full.
 */
export async function readText(
  request: Incoming,
  bounds: BodyBounds,
  refused: (isTooLong: boolean) => Error,
): Promise<string> {
  const bytes = await readBounded(request, bounds).catch((error) => {
    throw refused(error instanceof BodyTooLong);
  });
  return new TextDecoder().decode(bytes);
}

/**
 * Reads the body of a request as far as it comes within bounds, and a little more if it goes on, so that who gets it sees that it is
 * too long.
 */
export async function readStart(request: Incoming, bounds: BodyBounds): Promise<Uint8Array> {
  const start = new CopiedBytes();
  await read(request, bounds, (piece) => start.add(piece)).catch(() => {});
  return start.bytes;
}

const FIRST_BYTES = 4_096;

/** Copies of pieces, one after the other: the platform has 64 KB of memory for each piece, however small it is. */
class CopiedBytes {
  #buffer = new Uint8Array(FIRST_BYTES);
  #size = 0;

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size);
  }

  add(piece: Uint8Array): void {
    const end = this.#size + piece.byteLength;
    if (end > this.#buffer.byteLength) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#buffer.byteLength));
      larger.set(this.bytes);
      this.#buffer = larger;
    }
    this.#buffer.set(piece, this.#size);
    this.#size = end;
  }
}

async function read(
  { headers, body }: Incoming,
  { maxBytes, maxMs }: BodyBounds,
  take: (piece: Uint8Array) => void,
): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  const pace = new ReadingPace();
  const signal = AbortSignal.timeout(maxMs);
  try {
    if (Number(headers.get("content-length") ?? 0) > maxBytes) throw new BodyTooLong();
    for (let bytes = 0;;) {
      const { done, value } = await until(reader.read(), signal);
      if (done) return;
      bytes += value.byteLength;
      take(value);
      if (bytes > maxBytes) throw new BodyTooLong();
      await pace.next(value.byteLength);
    }
  } finally {
    reader.releaseLock(); // the server decides what becomes of the rest
  }
}

/** Time for which one body is read without a break, and bytes on the wire: those that the platform reads ahead in a turn. */
const BURST_MS = 1;
const BURST_BYTES = 131_072;
/** What a chunk has on the wire beside its bytes, at least: its size and two line ends. */
const CHUNK_FRAME_BYTES = 5;
/** Pieces that any body may have, and the mean size of more. */
const FREE_PIECES = 2_000;
const MIN_MEAN_BYTES = 256;

/**
 * Paces the reading of a body that comes in small pieces. Deno 2.9 hands over each chunk by itself, and those that have come
 * already without letting anything else run: a megabyte of chunks of one byte would hold up every other request for seconds.
 *
 * For each chunk it moves all that it has read ahead, up to 128 KB in each turn (see `Arrivals.narrow`). So as much is taken before
 * others have their turn: else what is read ahead grows, and each chunk takes longer.
 */
export class ReadingPace {
  #pieces = 0;
  #bytes = 0;
  #sinceTick = performance.now();
  #sinceBytes = 0;

  /**
   * Counts a piece, and waits if other work is to have its turn.
   *
   * @throws {ChunksTooSmall}
   */
  next(bytes: number): Promise<void> | undefined {
    this.#bytes += bytes;
    if (++this.#pieces > FREE_PIECES + this.#bytes / MIN_MEAN_BYTES) {
      throw new ChunksTooSmall();
    }
    this.#sinceBytes += bytes + CHUNK_FRAME_BYTES;
    if (this.#sinceBytes < BURST_BYTES) return undefined;
    if (performance.now() - this.#sinceTick < BURST_MS) return undefined;
    return new Promise((resolve) =>
      setImmediate(() => {
        this.#sinceTick = performance.now();
        this.#sinceBytes = 0;
        resolve();
      })
    );
  }
}
