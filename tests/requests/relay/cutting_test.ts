/** A reply is the same however its bytes were cut: whatever the dialects, and wherever it fails. */

import {
  bridgeBetween,
  type DialectName,
  SseDecoder,
  type SseEvent,
} from "../../../src/wire/dialects/mod.ts";
import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { asRefusal } from "../../../src/ground/refusal.ts";
import { EventSource } from "../../../src/requests/relay/event_source.ts";
import { ReplyReader } from "../../../src/requests/relay/reply_reader.ts";
import type { UpstreamReply } from "../../../src/requests/upstreams/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { linesOf } from "../../ends/lines.ts";
import type { Back } from "../../ends/plan.ts";
import type { Beat } from "../../ends/script.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";
import { contextOf, parseChat, parseMessages, parseResponses } from "../../wire/dialects/ends.ts";

const FRONTS = ["chat", "messages", "responses"] as const satisfies readonly DialectName[];
const BACKS = [...FRONTS, "generate"] as const satisfies readonly Back[];
const LIMITS = {
  bytes: 1e6,
  values: 1e5,
  streamBytes: 1e6,
  events: 1e4,
  eventValues: 1e5,
  silentBytes: 1e5,
};
const messages = [{ role: "user", content: "Hi" }];
const REQUESTS = {
  chat: parseChat({ model: "m", stream: true, messages }),
  messages: parseMessages({ model: "m", stream: true, max_tokens: 100, messages }),
  responses: parseResponses({ model: "m", stream: true, input: "Hi" }),
};

/** What an upstream reports in the middle of a stream, in its dialect, or in a field of SSE as llama.cpp does. */
const ERRORS: readonly ((back: Back) => string)[] = [
  (back) => {
    const error = { message: "overloaded", type: "server_error", code: "server_error" };
    const data = back === "responses"
      ? { ...error, type: "error" }
      : { ...(back === "messages" && { type: "error" }), error };
    return `${back === "chat" ? "" : "event: error\n"}data: ${JSON.stringify(data)}\n\n`;
  },
  () => 'error: {"code":400,"message":"no","type":"invalid_request_error"}\n\n',
  () => "data: nonsense\n\n",
  // an end that is a failure
  (back) => {
    const data = {
      chat: { choices: [{ index: 0, delta: {}, finish_reason: "network_error" }] },
      messages: { type: "message_delta", delta: { stop_reason: "network_error" } },
      responses: { type: "response.failed", response: { status: "failed" } },
      generate: { candidates: [{ finishReason: "network_error" }] },
    }[back];
    return `data: ${JSON.stringify(data)}\n\n`;
  },
];

/** What comes of a stream: its text, and whether and how it failed, before or after there was any output. */
interface Outcome {
  readonly text: string;
  readonly end: string;
}

/** A reply whose bytes arrive in these pieces. */
function replyOf(pieces: readonly Uint8Array[]): UpstreamReply {
  const left = [...pieces];
  return {
    status: 200,
    headers: {},
    body: { read: () => Promise.resolve(left.shift()) },
    discard() {},
    drain() {},
  };
}

async function outcomeOf(
  front: DialectName,
  back: Back,
  pieces: readonly Uint8Array[],
  timers: CoarseTimers,
): Promise<Outcome> {
  const context = contextOf(REQUESTS[front], { createdAtS: 1 });
  const stream = bridgeBetween(front, back).stream(context);
  const reader = new ReplyReader(
    new EventSource(replyOf(pieces), timers, LIMITS),
    stream,
    1e9,
  );
  let text = "";
  try {
    await reader.begin(true);
  } catch (error) {
    return { text: "", end: `another target is asked: ${asRefusal(error)!.message}` };
  }
  try {
    while (!reader.finished) text += await reader.next();
  } catch (error) {
    return { text: said(text), end: `fails: ${asRefusal(error)!.message}` };
  } finally {
    reader.close();
  }
  assert(stream.finished);
  return { text: said(text), end: "complete" };
}

/** Events without what tells how long the gateway took. */
function said(text: string): string {
  return text.replaceAll(/"(completed_at|created_at|created)":\d+/g, '"$1":0');
}

/** A stream of a random shape that may fail anywhere. */
function streamOf(random: Random, back: Back): string {
  const beats: Beat[] = [{ does: "begin", report: undefined }];
  for (let count = random.integer(0, 4); count > 0; count--) {
    const does = random.pick(["say", "say", "reason"] as const);
    beats.push({ does, text: random.pick(["Wörter ", "語", "🙂", "a\nb "]), words: 1 });
  }
  const report = { input: 3, cached: 0, output: 5 };
  beats.push({ does: "finish", report }, { does: "end" });
  const lines = linesOf(back, beats, { choices: 1, logprobs: false, reportPlace: "own chunk" })
    .map(({ text }) => text);
  if (isOneIn(random, 2)) {
    lines.splice(random.integer(0, lines.length), 0, random.pick(ERRORS)(back));
  }
  if (isOneIn(random, 5)) lines.splice(random.integer(0, lines.length)); // breaks off
  let text = lines.join("");
  if (isOneIn(random, 3)) text = text.replace(/\n\n$/, random.pick(["\n", ""]));
  return isOneIn(random, 5) ? text.replaceAll("\n", "\r\n") : text;
}

function isOneIn(random: Random, count: number): boolean {
  return random.integer(1, count) === 1;
}

function cutEvery(bytes: Uint8Array, size: () => number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + size());
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}

Deno.test("a stream is the same in one piece, byte by byte, event by event and cut anywhere, in every pairing and wherever it fails", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  const timers = new CoarseTimers();
  for (let run = 0; run < sized(400, 10_000); run++) {
    const [front, back] = [random.pick(FRONTS), random.pick(BACKS)];
    const text = streamOf(random, back);
    const bytes = new TextEncoder().encode(text);
    const whole = await outcomeOf(front, back, [bytes], timers);
    const cuts = {
      "byte by byte": cutEvery(bytes, () => 1),
      "event by event": text.split(/(?<=\r?\n\r?\n)/).map((one) => new TextEncoder().encode(one)),
      "anywhere": cutEvery(bytes, () => random.integer(1, 80)),
    };
    for (const [how, pieces] of Object.entries(cuts)) {
      const cut = await outcomeOf(front, back, pieces.filter(({ length }) => length > 0), timers);
      assertEquals(cut, whole, `seed ${seed}, run ${run}, ${back} to ${front}, ${how}:\n${text}`);
    }
  }
});

Deno.test("usage in a piece of its own after the end mark is awaited, for each front", async () => {
  const timers = new CoarseTimers();
  const datas = [
    { choices: [{ index: 0, delta: { content: "Hi" } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    "[DONE]",
    { choices: [], usage: { prompt_tokens: 40, completion_tokens: 60 } },
  ];
  const pieces = datas.map((data) =>
    new TextEncoder().encode(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`)
  );
  for (const front of FRONTS) {
    const stream = bridgeBetween(front, "chat").stream(contextOf(REQUESTS[front]));
    const reader = new ReplyReader(new EventSource(replyOf(pieces), timers, LIMITS), stream, 1e9);
    await reader.begin(true);
    while (!reader.finished) await reader.next();
    reader.close();
    const { inputTokens, outputTokens } = stream.usage ?? {};
    assertEquals([inputTokens, outputTokens], [40, 60], front);
  }
});

Deno.test("the last event needs no blank line, and no line break, if it is whole", () => {
  const events = (text: string): SseEvent[] => {
    const decoder = new SseDecoder();
    return [...decoder.push(new TextEncoder().encode(text)), ...decoder.end()];
  };
  for (
    const last of ['data: {"a":1}', 'data: {"a":1}\n', 'data: {"a":1}\n\n', 'data: {"a":1}\r\n']
  ) {
    assertEquals(events(`data: x\n\n${last}`).at(-1), { event: "message", data: '{"a":1}' });
  }
  assertEquals(events("data: [DONE]"), [{ event: "message", data: "[DONE]" }]);
  assertEquals(events('data: {"a":'), []);
  assertEquals(events('event: x\ndata: {"a":1,\ndata: "b":2}'), [
    { event: "x", data: '{"a":1,\n"b":2}' },
  ]);
});

Deno.test("a field of SSE named error is an error event, if it is JSON", () => {
  for (const back of BACKS) {
    const stream = bridgeBetween("chat", back).stream(contextOf(REQUESTS.chat));
    const decoder = new SseDecoder();
    const text = 'error: {"code":400,"message":"too long","type":"exceed_context_size_error"}\n\n';
    const [event] = decoder.push(new TextEncoder().encode(text));
    try {
      stream.push(event!);
    } catch (error) {
      assertEquals(asRefusal(error)!.reason, "context_exceeded", back);
      continue;
    }
    throw new Error(`${back}: nothing was thrown`);
  }
  assertEquals(new SseDecoder().push(new TextEncoder().encode("error: none\n\n")), []);
});
