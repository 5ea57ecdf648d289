import { pipeline, Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { HttpFault } from "./http_fault.ts";
import type { HttpReply, MakeFault } from "./reply.ts";
import type { Headers } from "./response_head.ts";

/** Bytes that are read on demand. */
interface Source {
  /** At least one byte; undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
}

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/**
 * The body of a reply without its content coding: some servers compress although they are asked not to.
 *
 * @throws What `makeFault` makes of a coding that is not known.
 */
export function decodedBody<Reply extends Pick<HttpReply, "read" | "discard">>(
  reply: Reply,
  headers: Headers,
  makeFault: MakeFault,
): Reply | Source {
  const coding = headers["content-encoding"];
  if (coding === undefined) return reply;
  // codings are compared without regard to case (RFC 9110, section 8.4.1)
  const name = String(coding).toLowerCase().split(",").map((one) => one.trim())
    .filter((one) => one !== "" && one !== "identity").join(", ");
  if (name === "") return reply;
  const makeDecoder = DECODERS.get(name);
  if (makeDecoder === undefined) {
    reply.discard();
    throw makeFault(new HttpFault("ERR_REPLY_INVALID", `the reply is encoded as ${name}`), "sent");
  }
  let iterator: AsyncIterator<Uint8Array> | undefined;
  return {
    async read() {
      if (iterator === undefined) {
        // no bytes at all are an empty body in each coding, which a decoder would take for one that is cut off
        const first = await reply.read();
        if (first === undefined) return undefined;
        // a failure of either end reaches the reader through the decoder
        const decoded = pipeline(Readable.from(pieces(first, reply)), makeDecoder(), () => {});
        iterator = decoded[Symbol.asyncIterator]();
      }
      try {
        const { done, value } = await iterator.next();
        return done ? undefined : value;
      } catch (error) {
        throw makeFault(error, "sent");
      }
    },
  };
}

/** Compressed bytes that are decoded at once: a thousand times as many may come of them. */
const DECODED_BYTES = 512;

async function* pieces(first: Uint8Array, source: Source): AsyncGenerator<Uint8Array> {
  for (
    let bytes: Uint8Array | undefined = first;
    bytes !== undefined;
    bytes = await source.read()
  ) {
    for (let at = 0; at < bytes.byteLength; at += DECODED_BYTES) {
      yield bytes.subarray(at, at + DECODED_BYTES);
    }
  }
}
