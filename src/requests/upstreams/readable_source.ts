import type { Readable } from "node:stream";
import { type ByteSource, TransportFault } from "./transport.ts";

/** A Node stream, read on demand. */
export class ReadableSource implements ByteSource {
  readonly #pieces: AsyncIterator<Uint8Array>;

  constructor(stream: Readable) {
    this.#pieces = stream[Symbol.asyncIterator]();
  }

  async read(): Promise<Uint8Array | undefined> {
    try {
      const { done, value } = await this.#pieces.next();
      return done ? undefined : value;
    } catch (error) {
      if (error instanceof TransportFault) throw error;
      throw new TransportFault("broken", error instanceof Error ? error.message : String(error), {
        cause: error,
      });
    }
  }
}
