import { SlotMap } from "../../ground/platform/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import { ReadingPace } from "../../ground/web/mod.ts";

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/**
 * Max bytes, pieces and time to read of a body that nobody wants: a client may read its response only once all was sent. Fewer bytes than
 * a connection may have without a boundary (`arrivals.ts`), or it would be cut before its response.
 */
const SKIPPED_BYTES = 3 * 262_144;
const SKIPPED_PIECES = 256;
const SKIP_MS = 5_000;
/** Time for a client to read its response, if the rest of its body is not read. */
const LINGER_MS = 500;

/**
 * Takes care of request bodies of which something was left unread. The platform would read on by itself until a body ends: Deno 2.9
 * without letting anything else run, and for chunks of a few bytes in a time that grows with the square of what has come. While a reader
 * holds the body the platform leaves the connection alone, and closes it when the reader is cancelled.
 */
export class UnreadBodies {
  readonly #held = new SlotMap<Reader>();
  readonly #closing = new AbortController();

  /**
   * Looks whether a request's body was read to its end, and if not, reads a little more of it: before the response if nothing of it was
   * read, since Deno 2.4 closes the connection after a response whose request it has not read, or else beside it.
   *
   * @param request The request. Who has stopped reading its body has released the lock, and has not cancelled it.
   */
  after(request: Request, response: Response): Response | Promise<Response> {
    const isWhole = response.ok && request.bodyUsed;
    const { body } = isWhole || response.status === 101 ? { body: null } : request;
    // a locked one is being read at once
    if (body === null || body.locked || this.#closing.signal.aborted) return response;
    // chunks are not waited for: of those that never end Deno 2.4 reads on and on without letting anything else run
    const isAwaited = !request.bodyUsed && !request.headers.has("transfer-encoding");
    const reader = body.getReader();
    const place = this.#held.add(reader);
    if (!isAwaited) {
      void this.#skip(reader).then((isEnd) => this.#letGo(reader, place, isEnd));
      return response;
    }
    return this.#skip(reader).then((isEnd) => {
      void this.#letGo(reader, place, isEnd);
      return response;
    });
  }

  /** Lets go of all bodies, as the server closes. */
  close(): void {
    this.#closing.abort();
    for (const reader of this.#held.clear()) cancel(reader);
  }

  /** Resolves with whether a body ended within bounds. */
  async #skip(reader: Reader): Promise<boolean> {
    const late = setTimeout(() => cancel(reader), SKIP_MS);
    try {
      return await readSome(reader);
    } catch {
      return false; // the connection has ended
    } finally {
      clearTimeout(late);
    }
  }

  /** Cancels a reader once the response was sent, and the client has had time to read it. */
  async #letGo(reader: Reader, place: number, isEnd: boolean): Promise<void> {
    const { signal } = this.#closing;
    await delay(isEnd ? 0 : LINGER_MS, { signal }).catch(() => {});
    this.#held.take(place, reader);
    cancel(reader);
  }
}

/** Resolves with whether the end came within bounds. */
async function readSome(reader: Reader): Promise<boolean> {
  const pace = new ReadingPace();
  let bytes = 0;
  for (let pieces = 0; pieces < SKIPPED_PIECES && bytes < SKIPPED_BYTES; pieces++) {
    const { done, value } = await reader.read();
    if (done) return true;
    bytes += value.byteLength;
    await pace.next(value.byteLength);
  }
  return false;
}

function cancel(reader: Reader): void {
  reader.cancel().catch(() => {});
}
