import { decodeUtf8, joinBytes } from "../../ground/platform/mod.ts";
import { isObject } from "../../wire/dialects/mod.ts";
import { parseJson } from "../../wire/json/mod.ts";
import type { UpstreamReply } from "../upstreams/mod.ts";
import { checkReplyJson, excessive, type ReplyLimits, usable, Yielder } from "./reply_limits.ts";

/** JSON without the end mark of a stream, which some servers send after it. */
function withoutEndMark(text: string): string {
  const said = text.trimEnd();
  return /\ndata: ?\[DONE\]$/.test(said.slice(-13)) ? said.slice(0, said.lastIndexOf("\n")) : text;
}

/**
 * Reads a whole reply as JSON.
 *
 * @throws {Refusal} `upstream_unavailable` when it is not JSON, or beyond its bounds.
 */
export async function readWhole(
  { body }: Pick<UpstreamReply, "body">,
  { bytes: maxBytes, values }: Pick<ReplyLimits, "bytes" | "values">,
): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  const turns = new Yielder();
  let size = 0;
  for (let bytes = await body.read(); bytes !== undefined; bytes = await body.read()) {
    pieces.push(bytes);
    size += bytes.byteLength;
    if (size > maxBytes) throw excessive(`it has more than ${maxBytes} bytes`);
    await turns.taken(bytes.byteLength);
  }
  const text = usable("it is not UTF-8", () => decodeUtf8(joinBytes(pieces, size)));
  checkReplyJson(text, values);
  const parsed = usable("it is not JSON", () => parseJson(withoutEndMark(text)));
  // Gemini's errors are in a list
  return Array.isArray(parsed) && parsed.length === 1 && isObject(parsed[0]) ? parsed[0] : parsed;
}
