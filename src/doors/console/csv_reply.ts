import { AsyncLocalStorage } from "node:async_hooks";

/** Tells spreadsheets that a file is UTF-8: Excel reads names in the system's own encoding without it. */
const BYTE_ORDER_MARK = "\ufeff";

/**
 * Returns CSV as a download for people: it opens in spreadsheets with its names whole. Commands and the API, which programs
 * read, write it without the mark in front.
 *
 * @param text The text, or pieces of it that are made as they are read: a client that reads slowly holds up nobody.
 */
export function csvReply(file: string, text: string | AsyncGenerator<string>): Response {
  const body = typeof text === "string" ? `${BYTE_ORDER_MARK}${text}` : streamOf(text);
  return new Response(body, {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${file}"`,
    },
  });
}

function streamOf(pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const asNow = AsyncLocalStorage.snapshot(); // what is read later is read for the same account
  const read = async function* () {
    try {
      yield BYTE_ORDER_MARK;
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
