import { joinBytes } from "../../ground/platform/mod.ts";
import { invalid } from "../../ground/refusal.ts";

const FORMATS: Readonly<Record<string, "gzip" | "deflate">> = {
  gzip: "gzip",
  "x-gzip": "gzip",
  deflate: "deflate",
};

/**
 * How a request body is compressed: undefined for one that is not.
 *
 * @throws {Refusal} `request_invalid` for anything but gzip and deflate, such as zstd, which not every supported platform unpacks.
 */
export function packingOf(headers: Headers): "gzip" | "deflate" | undefined {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() || "identity";
  if (encoding === "identity") return undefined;
  if (Object.hasOwn(FORMATS, encoding)) return FORMATS[encoding];
  throw invalid(
    undefined,
    `Request bodies compressed by '${encoding.slice(0, 40)}' are not supported: ` +
      "use Content-Encoding gzip or deflate, or none.",
  );
}

/** Bytes that are unpacked at once: what comes of them, up to 1,032 times as many (RFC 1951), is in memory before it is counted. */
const PIECE_BYTES = 1_024;

/**
 * Unpacks a body, and no more of it than may be.
 *
 * @param packed The compressed bytes.
 * @param unpacked Called with the size so far, in bytes, before more is unpacked; what it throws ends the unpacking.
 * @throws {Refusal} `request_invalid` for bytes that are not of this format. Not all versions of Deno notice the missing end of a body.
 */
export async function unpack(
  packed: Uint8Array<ArrayBuffer>,
  format: "gzip" | "deflate",
  unpacked: (size: number) => Promise<void>,
): Promise<Uint8Array<ArrayBuffer>> {
  let at = 0;
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (at >= packed.byteLength) controller.close();
      else controller.enqueue(packed.slice(at, at += PIECE_BYTES));
    },
  }, { highWaterMark: 0 });
  const reader = source.pipeThrough(new DecompressionStream(format)).getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  try {
    while (true) {
      const { value } = await reader.read().catch((cause) => {
        const message = `Request body is not valid ${format}.`;
        throw Object.assign(invalid(undefined, message), { cause });
      });
      if (value === undefined) return joinBytes(pieces, size);
      size += value.byteLength;
      await unpacked(size);
      pieces.push(value as Uint8Array<ArrayBuffer>);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
