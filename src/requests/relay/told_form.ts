import { joinBytes } from "../../ground/platform/mod.ts";
import type { UpstreamReply } from "../upstreams/mod.ts";

const decoder = new TextDecoder();

/** Characters that tell a line of an event stream from JSON. */
const TELLING_CHARS = 6;
const EVENTS = /^(?:data|event|id|retry|error)?:/;
const JSON_START = /^[{[]/;
const OPEN_ARRAY = 91;
const OPEN_OBJECT = 123;
const MAX_BLANK_BYTES = 4_096;
/** The first characters of a text after them. */
const MAX_LOOKED_BYTES = MAX_BLANK_BYTES + 4 * TELLING_CHARS;

/** Whether a reply says that it is an event stream; one that is JSON is an event of it. */
function isStream({ headers }: UpstreamReply): boolean {
  return /event-stream/i.test(String(headers["content-type"] ?? ""));
}

/** The beginning of a text: of JSON, which is the usual case, no more than its first character. */
function startOf(bytes: Uint8Array): string {
  const [first] = bytes;
  if (first === OPEN_OBJECT) return "{";
  if (first === OPEN_ARRAY) return "[";
  return decoder.decode(bytes.subarray(0, MAX_LOOKED_BYTES)).trimStart();
}

/**
 * A reply whose content type is what it holds, as its beginning tells it: some servers and proxies send event streams, or JSON, as
 * `text/plain`, as bytes or without a type (Wei-Shaw/sub2api#2826), and streams as JSON. One that begins with neither stays as it is.
 */
export async function withToldForm(reply: UpstreamReply): Promise<UpstreamReply> {
  if (isStream(reply)) return reply;
  const pieces: Uint8Array[] = [];
  let size = 0;
  let begun: Uint8Array | undefined;
  let start = "";
  let hasEnded = false;
  const tells = () => EVENTS.test(start) || JSON_START.test(start) || start.length > TELLING_CHARS;
  while (!tells() && size < MAX_BLANK_BYTES) {
    const bytes = await reply.body.read();
    hasEnded = bytes === undefined;
    if (bytes === undefined) break;
    pieces.push(bytes);
    size += bytes.byteLength;
    begun = pieces.length === 1 ? bytes : joinBytes(pieces, size);
    start = startOf(begun);
  }
  const type = EVENTS.test(start)
    ? "text/event-stream"
    : JSON_START.test(start)
    ? "application/json"
    : reply.headers["content-type"];
  const read = async () => {
    const first = begun;
    begun = undefined;
    if (first !== undefined) return first;
    return hasEnded ? undefined : await reply.body.read();
  };
  const { headers } = reply;
  const isTold = type === headers["content-type"];
  return {
    ...reply,
    headers: isTold ? headers : { ...headers, "content-type": type },
    body: { read },
  };
}
