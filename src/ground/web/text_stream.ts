import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Makes a body of pieces of text that are made as they are read: a client that reads slowly holds up nobody.
 *
 * @param pieces What is read later is read as now, such as for the same account.
 * @param first What comes before all of them.
 */
export function textStream(
  pieces: AsyncGenerator<string>,
  first = "",
): ReadableStream<Uint8Array> {
  const asNow = AsyncLocalStorage.snapshot();
  const read = async function* () {
    try {
      if (first !== "") yield first;
      for (;;) {
        const { done, value } = await asNow(() => pieces.next());
        if (done) return;
        yield value;
      }
    } finally {
      await pieces.return(undefined);
    }
  };
  return ReadableStream.from(read()).pipeThrough(new TextEncoderStream());
}
