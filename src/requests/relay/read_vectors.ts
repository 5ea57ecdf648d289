import { NumberArrays, type Vector } from "../../wire/embeddings/mod.ts";
import { parseJson } from "../../wire/json/mod.ts";
import type { UpstreamReply } from "../upstreams/mod.ts";
import { checkReplyJson, excessive, type ReplyLimits, usable, Yielder } from "./reply_limits.ts";

/** Bytes of a number as JSON: `-0.012345678901234567,` on a line of its own. */
const BYTES_PER_NUMBER = 36;

/** Bytes of a number in base64. */
const BYTES_IN_BASE64 = 6;

/** JSON values beside a vector: its object, index and the like. */
const VALUES_PER_ITEM = 8;

/** How many vectors of which length a reply may have beside what any reply may. */
interface ExpectedVectors {
  readonly vectors: number;
  readonly dimensions: number;
}

/** A reply as JSON, and what was taken out of it. */
interface ReadVectors {
  readonly json: unknown;
  readonly taken: readonly Vector[];
}

/**
 * Reads a whole reply that holds vectors. Its arrays of numbers are read as they come and kept as numbers.
 *
 * @throws {Refusal} `upstream_unavailable` when it is not JSON, or beyond its bounds.
 */
export async function readVectors(
  { body }: Pick<UpstreamReply, "body">,
  { bytes, values }: Pick<ReplyLimits, "bytes" | "values">,
  { vectors, dimensions }: ExpectedVectors,
): Promise<ReadVectors> {
  const maxNumbers = values + vectors * dimensions;
  const maxBytes = bytes + vectors * dimensions * BYTES_PER_NUMBER;
  const maxKept = bytes + vectors * dimensions * BYTES_IN_BASE64;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const arrays = new NumberArrays();
  const turns = new Yielder();
  let size = 0;
  for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
    size += piece.byteLength;
    if (size > maxBytes) throw excessive(`it has more than ${maxBytes} bytes`);
    for (let at = 0; at < piece.byteLength; at += PIECE_BYTES) {
      add(arrays, () => decoder.decode(piece.subarray(at, at + PIECE_BYTES), { stream: true }));
      if (arrays.count > maxNumbers) throw excessive(`it has more than ${maxNumbers} numbers`);
      if (arrays.keptChars > maxKept) throw excessive(`it has more than ${maxKept} bytes`);
      await turns.taken(PIECE_BYTES);
    }
  }
  add(arrays, () => decoder.decode());
  const text = usable("it is not JSON", () => arrays.text);
  checkReplyJson(text, values + vectors * VALUES_PER_ITEM);
  return usable("it is not JSON", () => ({ json: parseJson(text), taken: arrays.taken }));
}

/** Bytes that are read at a time: a transport may hand over megabytes. */
const PIECE_BYTES = 65_536;

function add(arrays: NumberArrays, decode: () => string): void {
  const text = usable("it is not UTF-8", decode);
  usable("it is not JSON that holds vectors", () => arrays.push(text));
}
