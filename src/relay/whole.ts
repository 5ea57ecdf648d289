import { joinBytes } from "../bytes.ts";
import { parseJson } from "../json/mod.ts";
import { Refusal } from "../refusal.ts";
import type { UpstreamReply } from "../upstreams/mod.ts";

/** Bytes of a whole reply at the most. */
const MAX_REPLY_BYTES = 64 * 1_048_576;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Reads a whole reply as JSON. */
export async function readWhole({ body }: UpstreamReply): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let bytes = await body.read(); bytes !== undefined; bytes = await body.read()) {
    pieces.push(bytes);
    size += bytes.byteLength;
    if (size > MAX_REPLY_BYTES) throw unusable(`it has more than ${MAX_REPLY_BYTES} bytes`);
  }
  try {
    return parseJson(decoder.decode(joinBytes(pieces, size)));
  } catch (error) {
    throw unusable(error instanceof TypeError ? "it is not UTF-8" : "it is not JSON", error);
  }
}

function unusable(why: string, cause?: unknown): Refusal {
  return new Refusal("upstream_unavailable", `The upstream's answer cannot be used: ${why}.`, {
    cause,
  });
}
