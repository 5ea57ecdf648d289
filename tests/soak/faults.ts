import type { Random } from "../fake/random.ts";
import { sleep } from "../fake/temp.ts";
import { rawServer, readRequest, sse } from "../fake/upstream.ts";
import { answerText, readDirective } from "./directive.ts";
import { asksForStream, type Dialect, streamPieces, whole } from "./upstreams.ts";

/** One connection, on which one request was read. */
interface Conversation {
  readonly dialect: Dialect;
  /** A well-formed reply to the request, head and all, in pieces. */
  readonly pieces: readonly string[];
  say(text: string | Uint8Array): Promise<void>;
  /** Says nothing until the gateway gives up. */
  silence(): Promise<void>;
}

const encoder = new TextEncoder();
const head = (status: string, ...lines: string[]) =>
  [`HTTP/1.1 ${status}`, ...lines, "connection: close", "", ""].join("\r\n");
const SSE_HEAD = head("200 OK", "content-type: text/event-stream");
const JSON_TYPE = "content-type: application/json";

/** What the upstream that misbehaves can do, by the names that directives use. */
const FAULTS: Readonly<Record<string, (one: Conversation) => Promise<void>>> = {
  "closed-at-once": () => Promise.resolve(),
  "hang": ({ silence }) => silence(),
  "half-a-head": async ({ say, silence }) => {
    await say("HTTP/1.1 200 O");
    await silence();
  },
  "killed-midway": async ({ say, pieces }) => {
    for (const piece of pieces.slice(0, Math.ceil(pieces.length / 2))) await say(piece);
  },
  "stalled-midway": async ({ say, silence, pieces }) => {
    for (const piece of pieces.slice(0, Math.ceil(pieces.length / 2))) await say(piece);
    await silence();
  },
  "no-ending": async ({ say, pieces }) => {
    for (const piece of pieces.slice(0, -1)) await say(piece);
  },
  "drip": async ({ say, pieces }) => {
    const bytes = encoder.encode(pieces.slice(0, 8).join(""));
    for (let at = 0; at < bytes.length; at += 5) {
      await say(bytes.subarray(at, at + 5));
      await sleep(5);
    }
    for (const piece of pieces.slice(8)) await say(piece);
  },
  "429": ({ say }) => say(head("429 Too Many", JSON_TYPE, "content-length: 2") + "{}"),
  "500": ({ say }) => say(head("500 Oh", JSON_TYPE, "content-length: 2") + "{}"),
  "400": ({ say }) =>
    say(head("400 Bad", JSON_TYPE, "content-length: 32") + '{"error":{"message":"not this"}}'),
  "429-stalls": async ({ say, silence }) => {
    await say(head("429 Too Many", JSON_TYPE, "content-length: 500") + '{"error":');
    await silence();
  },
  "503-stalls": async ({ say, silence }) => {
    await say(head("503 Away", JSON_TYPE, "content-length: 500") + '{"error":');
    await silence();
  },
  "500-drips": async ({ say }) => {
    // for longer than any caller is to wait
    await say(head("500 Oh", JSON_TYPE, "content-length: 700"));
    for (let times = 0; times < 700; times++) {
      await say(" ");
      await sleep(100);
    }
  },
  "not-json": ({ say, pieces }) => say(pieces.slice(0, 3).join("") + sse("<html>oops</html>")),
  "not-its-dialect": ({ say }) =>
    say(SSE_HEAD + sse("{}", "[]", "null", '{"choices":7}', '{"type":"content_block_delta"}')),
  "not-utf-8": async ({ say, pieces }) => {
    await say(pieces.slice(0, 2).join(""));
    await say(new Uint8Array([0x64, 0x61, 0x74, 0x61, 0x3a, 0x20, 0xff, 0xfe, 0x0a, 0x0a]));
  },
  "twice-the-end": ({ say, pieces }) => say(pieces.join("") + pieces.at(-1)),
  "html": ({ say }) => say(head("200 OK", "content-type: text/html") + "<html>welcome</html>"),
  "empty": ({ say }) => say(head("200 OK", JSON_TYPE, "content-length: 0")),
  "shorter-than-said": ({ say }) =>
    say(head("200 OK", JSON_TYPE, "content-length: 5000") + '{"id":"half'),
  "nested": ({ say }) =>
    say(head("200 OK", JSON_TYPE) + `{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`),
  "comments": async ({ say }) => {
    await say(SSE_HEAD);
    for (let times = 0; times < 32; times++) await say(":\n".repeat(16_384));
  },
  "many-1xx": async ({ say, pieces }) => {
    await say("HTTP/1.1 102 Processing\r\n\r\n".repeat(500));
    await say(pieces.join(""));
  },
};

/** An upstream of both dialects that misbehaves as each request's directive says. */
export function badUpstream() {
  return rawServer(async (connection) => {
    const request = await readRequest(connection);
    if (request === undefined) return;
    const directive = readDirective(request);
    await sleep(directive.delayMs);
    const dialect = request.startsWith("POST /v1/messages") ? "messages" : "chat";
    const text = answerText(directive);
    const say = async (piece: string | Uint8Array) => {
      const bytes = typeof piece === "string" ? encoder.encode(piece) : piece;
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    };
    const stream = asksForStream(request);
    const conversation: Conversation = {
      dialect,
      pieces: stream
        ? [SSE_HEAD, ...streamPieces(dialect, text)]
        : [head("200 OK", JSON_TYPE), JSON.stringify(whole(dialect, text, directive.words))],
      say,
      silence: async () => {
        const rest = new Uint8Array(1_024);
        while (await connection.read(rest) !== null);
      },
    };
    const misbehave = FAULTS[directive.fault];
    if (misbehave !== undefined) return await misbehave(conversation);
    for (const piece of conversation.pieces) await say(piece);
  });
}

/** The name of a fault. */
export function anyFault(random: Random): string {
  return random.pick(Object.keys(FAULTS));
}
