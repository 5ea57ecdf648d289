import { Refusal } from "../refusal.ts";
import type { UpstreamReply } from "../upstreams/mod.ts";

/** Bytes of a whole reply at the most. */
const MAX_REPLY_BYTES = 64 * 1_048_576;

/** Reads a whole reply as JSON. */
export async function readWhole(reply: UpstreamReply): Promise<unknown> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let size = 0;
  try {
    for await (const bytes of reply.body) {
      size += bytes.byteLength;
      if (size > MAX_REPLY_BYTES) throw unusable(`it has more than ${MAX_REPLY_BYTES} bytes`);
      text += decoder.decode(bytes, { stream: true });
    }
    return JSON.parse(text + decoder.decode());
  } catch (error) {
    if (error instanceof TypeError) throw unusable("it is not UTF-8", error);
    if (error instanceof SyntaxError) throw unusable("it is not JSON", error);
    throw error;
  }
}

function unusable(why: string, cause?: unknown): Refusal {
  return new Refusal("upstream_unavailable", `The upstream's answer cannot be used: ${why}.`, {
    cause,
  });
}
