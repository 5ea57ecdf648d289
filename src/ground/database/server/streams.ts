import type { HttpClient, Stream } from "@libsql/hrana-client";

/** Streams that are kept: a server has some hundred for all its clients. */
const MAX_FREE = 4;
/** How long one that is not used counts as open: the server ends it after ten seconds (HTTP_V2_SPEC.md of libSQL). */
const KEPT_MS = 5_000;

/**
 * Streams of a libSQL server that are used again. To open one costs the server a connection that reads the whole schema: 6 ms of the
 * processor here, where a read of few rows takes one.
 */
export class Streams {
  readonly #client: HttpClient;
  readonly #now: () => number;
  /** Those that nobody uses, the last used one last. */
  readonly #free: { readonly stream: Stream; readonly sinceTick: number }[] = [];

  /** @param monotonicNow A clock that nobody sets, in milliseconds; tests pass their own. */
  constructor(client: HttpClient, monotonicNow: () => number = () => performance.now()) {
    this.#client = client;
    this.#now = monotonicNow;
  }

  /**
   * Does work on a stream that nobody else uses meanwhile.
   *
   * @param work Asks it once. It is repeated if the server does not know the stream any more: then it did nothing.
   */
  async use<T>(work: (stream: Stream) => Promise<T>): Promise<T> {
    const kept = this.#free.at(-1);
    if (kept !== undefined && this.#now() - kept.sinceTick < KEPT_MS) {
      this.#free.pop();
      try {
        return await this.#with(kept.stream, work);
      } catch (error) {
        if (!isUnknown(error)) throw error;
      }
    }
    for (const { stream } of this.#free.splice(0)) stream.close(); // not younger; the client keeps what is not closed
    return await this.#with(this.#client.openStream(), work);
  }

  async #with<T>(stream: Stream, work: (stream: Stream) => Promise<T>): Promise<T> {
    let isFree = false;
    try {
      const result = await work(stream);
      isFree = this.#free.length < MAX_FREE;
      return result;
    } finally {
      if (isFree) this.#free.push({ stream, sinceTick: this.#now() });
      else stream.close();
    }
  }
}

/**
 * Whether the server says that it has no such stream, as it was started again, or has it no more. One that has been used further, as by
 * somebody in between who sent a request twice, is none of these: what was asked may have been done.
 */
function isUnknown(error: unknown): boolean {
  const { code, status, message } = error as {
    code?: unknown;
    status?: unknown;
    message?: unknown;
  };
  return code === "STREAM_EXPIRED" || status === 400 && /invalid baton/.test(String(message));
}
