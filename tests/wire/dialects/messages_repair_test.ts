/** What SDKs of the messages dialect fail over, in the stream of an upstream that speaks it. */

import fc from "fast-check";
import {
  bridgeBetween,
  countedUsage,
  DIALECTS,
  type JsonObject,
  ReportedError,
  SseDecoder,
  wholeOfStream,
} from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { hear } from "../../flow/heard.ts";
import { assertGrowsLinearly } from "../../growth.ts";
import {
  clientStream,
  contextOf,
  messagesToMessages,
  parseChat,
  parseMessages,
  parseResponses,
} from "./ends.ts";

const REQUEST = parseMessages({
  model: "m",
  max_tokens: 500,
  messages: [{ role: "user", content: "Hi" }],
});
const USAGE = { input_tokens: 3, output_tokens: 1 };
const START = { type: "message_start", message: { id: "m", content: [], usage: USAGE } };

const sse = (events: readonly JsonObject[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
const ending = (reason: string): JsonObject[] => [
  { type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
];

async function heardStream(text: string) {
  const stream = messagesToMessages.stream(contextOf(REQUEST));
  const sent = clientStream(
    stream,
    text,
    ({ message }) => `data: ${JSON.stringify({ type: "error", message })}\n\n`,
  );
  assert(sent === "" || sent.startsWith("event: message_start\n"), sent);
  const headers = { "content-type": "text/event-stream" };
  return (await hear("messages", new Response(sent, { headers })))[0];
}

/** The same for a client of another dialect. */
async function heardTranslated(front: "chat" | "responses", text: string) {
  const request = front === "chat"
    ? parseChat({ model: "m", stream: true, messages: [{ role: "user", content: "Hi" }] })
    : parseResponses({ model: "m", stream: true, input: "Hi", reasoning: { summary: "auto" } });
  const sent = clientStream(bridgeBetween(front, "messages").stream(contextOf(request)), text);
  const headers = { "content-type": "text/event-stream" };
  return (await hear(front, new Response(sent, { headers })))[0];
}

/** The same as one message. */
function wholeBody(text: string): JsonObject {
  const whole = wholeOfStream("messages", "messages", contextOf(REQUEST));
  const decoder = new SseDecoder();
  const events = [...decoder.push(new TextEncoder().encode(text)), ...decoder.end()];
  for (const event of events) if (!whole.done) whole.push(event);
  return whole.reply().body;
}

/** A block, and whether its start and its end are sent. */
const BLOCK = fc.record({
  type: fc.constantFrom("text" as const, "thinking" as const, "tool_use" as const),
  pieces: fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 3 }),
  starts: fc.boolean(),
  stops: fc.boolean(),
  /** Of a call: how its input comes, and whether it has an id and a name. */
  inputAt: fc.constantFrom("start", "delta"),
  hasId: fc.boolean(),
  hasName: fc.boolean(),
});
const PLACES: readonly ((at: number) => number | undefined)[] = [
  (at) => at,
  (at) => at + 1,
  (at) => 3 * at,
  (at) => at % 2,
  () => 0,
  () => undefined,
];

Deno.test("blocks are numbered, begun and ended, whatever a messages upstream leaves out", async () => {
  await fc.assert(fc.asyncProperty(
    fc.array(BLOCK, { minLength: 1, maxLength: 6 }),
    fc.constantFrom(...PLACES),
    fc.boolean(),
    async (blocks, place, begins) => {
      const events = blocks.flatMap((block, at): JsonObject[] => {
        const { type, pieces, starts, stops } = block;
        const index = place(at);
        const isCall = type === "tool_use";
        // other calls stay open
        const isEnded = at === blocks.length - 1 || place(at + 1) === index;
        const input = { q: pieces.join("") };
        const isEarly = isCall && block.inputAt === "start";
        const deltas = isEarly
          ? []
          : isCall
          ? [{ type: "input_json_delta", partial_json: JSON.stringify(input) }]
          : pieces.map((piece) => ({ type: `${type}_delta`, [type]: piece }));
        const call = {
          ...(block.hasId && { id: `c${at}` }),
          ...(block.hasName && { name: "f" }),
          input: isEarly ? input : {},
        };
        const named = isCall ? call : { [type]: "" };
        return [
          ...(starts || isCall
            ? [{ type: "content_block_start", index, content_block: { type, ...named } }]
            : []),
          ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
          ...(stops || isCall && !isEnded ? [{ type: "content_block_stop", index }] : []),
        ];
      });
      const of = (kind: string) =>
        blocks.filter(({ type, hasName }) => type === kind && (kind !== "tool_use" || hasName));
      const said = (kind: string) => of(kind).map(({ pieces }) => pieces.join(""));
      const text = sse([...(begins ? [START] : []), ...events, ...ending("end_turn")]);
      const expected = {
        text: said("text").join(""),
        reasoning: said("thinking").join(""),
        calls: said("tool_use").map((q) => `f${JSON.stringify({ q })}`),
        finish: of("tool_use").length > 0 ? "tool_use" : "end_turn",
      };
      const whole = (await hear("messages", Response.json(wholeBody(text))))[0];
      for (const one of [await heardStream(text), whole]) {
        const { text, reasoning, calls, finish } = one;
        assertEquals({ text, reasoning, calls, finish }, expected);
      }
      for (const front of ["chat", "responses"] as const) {
        const { text: said, calls } = await heardTranslated(front, text);
        // messages of responses are paragraphs
        const plain = said.replaceAll("\n", "");
        assertEquals([plain, calls], [expected.text.replaceAll("\n", ""), expected.calls], front);
      }
    },
  ));
});

Deno.test("calls of a messages upstream may be interleaved", () => {
  const events = [
    START,
    ...[1, 2].map((index) => ({
      type: "content_block_start",
      index,
      content_block: { type: "tool_use", id: `c${index}`, name: "f", input: {} },
    })),
    ...["{", "}"].flatMap((piece) =>
      [2, 1].map((index) => ({
        type: "content_block_delta",
        index,
        delta: { type: "input_json_delta", partial_json: piece },
      }))
    ),
    ...ending("tool_use"),
  ];
  const stream = messagesToMessages.stream(contextOf(REQUEST));
  const sent = clientStream(stream, sse(events));
  const read = [...sent.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!));
  const places = read.filter(({ index }) => index !== undefined)
    .map(({ type, index }) => `${type.slice(14)} ${index}`);
  assertEquals(places, [
    ...["start 0", "start 1", "delta 1", "delta 0", "delta 1", "delta 0", "stop 0", "stop 1"],
  ]);
});

const REASONS: Readonly<Record<string, string | undefined>> = {
  end_turn: "end_turn",
  pause_turn: "pause_turn",
  model_context_window_exceeded: "model_context_window_exceeded",
  stop: "end_turn",
  eos: "end_turn",
  length: "max_tokens",
  MAX_TOKENS: "max_tokens",
  content_filter: "refusal",
  sensitive: "refusal",
  tool_calls: "end_turn", // it calls none
  network_error: undefined,
  insufficient_system_resource: undefined,
  // Gemini
  MAX_TOKENS_REACHED: "max_tokens",
  IMAGE_SAFETY: "refusal",
  MALFORMED_FUNCTION_CALL: undefined,
  "function_call_filter: MALFORMED_FUNCTION_CALL": undefined,
  UNEXPECTED_TOOL_CALL: undefined,
  TOO_MANY_TOOL_CALLS: undefined,
  // Bedrock
  guardrail_intervened: "refusal",
  content_filtered: "refusal",
  malformed_model_output: undefined,
  // watsonx
  not_finished: undefined,
  cancelled: undefined,
  time_limit: "max_tokens",
  token_limit: "max_tokens",
  // LM Studio
  maxPredictedTokensReached: "max_tokens",
  userStopped: "end_turn",
  modelUnloaded: undefined,
  // relays
  rate_limit: undefined,
  rate_limit_exceeded: undefined,
  quota_exceeded: undefined,
};

Deno.test("a messages upstream's reason to stop becomes a documented one, and a failure is one", async () => {
  const delta = { type: "text_delta", text: "Hi" };
  const content = [{ type: "text", text: "Hi" }];
  for (const [reason, expected] of Object.entries(REASONS)) {
    const text = sse([
      START,
      { type: "content_block_delta", index: 0, delta },
      ...ending(reason),
    ]);
    const message = { content, stop_reason: reason, usage: USAGE };
    const whole = () => messagesToMessages.reply(message, contextOf(REQUEST)).body.stop_reason;
    const ofStream = () => wholeBody(text).stop_reason;
    const translated = () => DIALECTS.messages.back.readReply(message, {}).events.at(-1);
    const { finish, error } = await heardStream(text);
    assertEquals(finish, expected, reason);
    if (expected === undefined) {
      assert(error !== undefined, reason);
      for (const read of [whole, ofStream, translated]) assertThrows(read, ReportedError);
    } else {
      assertEquals([whole(), ofStream(), translated()?.type], [expected, expected, "finish"]);
    }
  }
});

Deno.test("a whole message is the only event of a stream, under data: or as JSON, in all ways to read it", async () => {
  const content = [
    { type: "thinking", thinking: "Hm", signature: "s" },
    { type: "text", text: "Hi" },
    { type: "tool_use", id: "c", name: "f", input: { q: 1 } },
  ];
  const message = { id: "m", role: "assistant", content, stop_reason: "tool_use", usage: USAGE };
  const pretty = JSON.stringify(message, null, 1);
  for (const text of [`data: ${JSON.stringify(message)}\n\n`, `${pretty}\ndata: [DONE]\n\n`]) {
    const { text: said, reasoning, calls, finish, usage } = await heardStream(text);
    assertEquals([said, reasoning, calls, finish, usage], [
      "Hi",
      "Hm",
      ['f{"q":1}'],
      "tool_use",
      [3, 0, 1],
    ]);
    assertEquals(wholeBody(text).content, content);
    const reader = DIALECTS.messages.back.reader({});
    const [{ data } = { data: "" }] = new SseDecoder().push(new TextEncoder().encode(text));
    const types = reader.read(data).map(({ type }) => type);
    assertEquals([types, reader.done], [
      ["reasoning", "seal", "text", "call", "call", "finish"],
      true,
    ]);
  }
});

Deno.test("the content of a message that has only begun is none, and a second beginning changes nothing", async () => {
  const early = { ...START, message: { id: "m", content: [{ type: "text", text: "x" }] } };
  const text = sse([
    early,
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: USAGE },
    { ...START, message: { content: [] } },
    { type: "message_stop" },
  ]);
  const whole = (await hear("messages", Response.json(wholeBody(text))))[0];
  for (const { text: said, finish } of [await heardStream(text), whole]) {
    assertEquals([said, finish], ["Hi", "end_turn"]);
  }
});

Deno.test("what SDKs add texts to is a text, and only a text is added", async () => {
  const delta = (type: string, more: JsonObject) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type, ...more },
  });
  const text = sse([
    START,
    { type: "content_block_start", index: 0, content_block: { type: "text" } },
    delta("text_delta", { text: "Hi" }),
    delta("text_delta", { text: null }),
    ...ending("end_turn"),
  ]);
  const whole = (await hear("messages", Response.json(wholeBody(text))))[0];
  for (const { text: said } of [await heardStream(text), whole]) assertEquals(said, "Hi");
  const message = { content: [null, { type: "text" }], stop_reason: "end_turn", usage: USAGE };
  const { content } = messagesToMessages.reply(message, contextOf(REQUEST)).body;
  assertEquals(content, [{ type: "text", text: "" }]);
});

const block = (index: number, type: string, more: JsonObject = {}): JsonObject => ({
  type: "content_block_start",
  index,
  content_block: { type, ...more },
});
const delta = (index: number, more: JsonObject): JsonObject => ({
  type: "content_block_delta",
  index,
  delta: more,
});
const stop = (index: number): JsonObject => ({ type: "content_block_stop", index });
/** A stream's events as a client of the dialect gets them. */
function sentEvents(events: readonly JsonObject[]): JsonObject[] {
  const stream = messagesToMessages.stream(contextOf(REQUEST));
  return [...clientStream(stream, sse(events)).matchAll(/^data: (.*)$/gm)]
    .map(([, data]) => JSON.parse(data!));
}

Deno.test("reasoning has a signature, in a delta: the upstream's wherever it was, else the gateway's", () => {
  for (
    const [start, deltas, signature] of [
      [{}, [], "sluice.1"],
      [{ signature: "" }, [{ type: "signature_delta", signature: "" }], "sluice.1"],
      [{ signature: "c2ln" }, [], "c2ln"],
      [{}, [{ type: "signature_delta", signature: "c2ln" }], "c2ln"],
    ] as const
  ) {
    const events = [
      START,
      block(0, "thinking", { thinking: "", ...start }),
      delta(0, { type: "thinking_delta", thinking: "Hm" }),
      ...deltas.map((one) => delta(0, one)),
      stop(0),
      block(1, "text", { text: "" }),
      delta(1, { type: "text_delta", text: "Hi" }),
      stop(1),
      ...ending("end_turn"),
    ];
    const signed = sentEvents(events)
      .flatMap(({ delta }) => (delta as JsonObject | undefined)?.signature || []);
    assertEquals(signed, [signature]);
    const [thought] = wholeBody(sse(events)).content as JsonObject[];
    assertEquals(thought, { type: "thinking", thinking: "Hm", signature });
    const said = { type: "thinking", thinking: "Hm", ...start, ...deltas[0] && { signature } };
    const message = { content: [said], stop_reason: "end_turn", usage: USAGE };
    const { content } = messagesToMessages.reply(message, contextOf(REQUEST)).body;
    assertEquals(content, [{ type: "thinking", thinking: "Hm", signature }]);
    // what only the gateway has signed seals nothing for the upstream
    const reader = DIALECTS.messages.back.reader({});
    const seals = events.flatMap((event) => reader.read(JSON.stringify(event)))
      .filter(({ type }) => type === "seal");
    assertEquals(seals.length, signature === "sluice.1" ? 0 : 1);
  }
});

Deno.test("a signature that the gateway adds is no output", () => {
  const counted = (more: readonly JsonObject[]) => {
    const stream = messagesToMessages.stream(contextOf(REQUEST));
    clientStream(
      stream,
      sse([
        START,
        block(0, "thinking", { thinking: "" }),
        delta(0, { type: "thinking_delta", thinking: "Hm" }),
        ...more,
        stop(0),
        ...ending("end_turn"),
      ]),
    );
    return stream.countedOutput;
  };
  const signature = "c2lnbmF0dXJl".repeat(8);
  assertEquals(counted([]), counted([delta(0, { type: "signature_delta", signature })]));
});

Deno.test("reasoning that is cut has no signature of the whole", () => {
  const thinking = "Hm, let me see. ".repeat(40);
  const content = [{ type: "thinking", thinking, signature: "c2ln" }];
  const message = { content, stop_reason: "end_turn", usage: USAGE };
  const reply = messagesToMessages.reply(message, contextOf(REQUEST)).truncated(20);
  const [cut] = reply.withUsage({ ...countedUsage(3, 20) }).content as JsonObject[];
  assert(String(cut!.thinking).length < thinking.length);
  assertEquals(cut!.signature, "sluice.1");
});

Deno.test("events and deltas that the dialect does not have are left out", () => {
  const events = [
    START,
    { type: "vendor_progress", text: "50 %" },
    { type: "ping" },
    block(0, "text", { text: "" }),
    delta(0, { type: "text_delta", text: "Hi" }),
    delta(0, { type: "vendor_delta", text: "Hi" }),
    stop(0),
    ...ending("end_turn"),
  ];
  assertEquals(sentEvents(events).map(({ type }) => type), [
    "message_start",
    "ping",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

Deno.test("the end of a message stays what it was when usage follows in an event of its own", () => {
  for (const late of [undefined, {}, { stop_reason: null, stop_sequence: null }]) {
    const events = [
      START,
      delta(0, { type: "text_delta", text: "Hi" }),
      {
        type: "message_delta",
        delta: { stop_reason: "stop_sequence", stop_sequence: "X" },
        usage: { output_tokens: 1 },
      },
      { type: "message_delta", ...(late && { delta: late }), usage: { output_tokens: 7 } },
      { type: "message_stop" },
    ];
    const ends = sentEvents(events).filter(({ type }) => type === "message_delta");
    const expected = { stop_reason: "stop_sequence", stop_sequence: "X" };
    assertEquals(ends.map(({ delta }) => delta), [expected, expected]);
    const { stop_reason, stop_sequence, usage } = wholeBody(sse(events));
    assertEquals({ stop_reason, stop_sequence }, expected);
    assertEquals((usage as JsonObject).output_tokens, 7);
    const reader = DIALECTS.messages.back.reader({});
    const finishes = events.flatMap((event) => reader.read(JSON.stringify(event)))
      .filter(({ type }) => type === "finish");
    assertEquals(finishes.length, 1);
  }
});

Deno.test("output that was there at the beginning is no report of a stream for a client that asked for none", () => {
  const text = sse([
    START,
    delta(0, { type: "text_delta", text: "Hi" }),
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  ]);
  const whole = wholeOfStream("messages", "messages", contextOf(REQUEST));
  for (const event of new SseDecoder().push(new TextEncoder().encode(text))) whole.push(event);
  const reply = whole.reply();
  assertEquals(reply.usage, undefined);
  assertEquals(reply.partialUsage?.input?.inputTokens, 3);
  const { usage } = reply.withUsage(countedUsage(3, reply.countOutput()));
  assert(Number((usage as JsonObject).output_tokens) > 0);
});

Deno.test("a message begins with its input, also where its upstream tells it at the end only", () => {
  for (const usage of [undefined, { input_tokens: 0, output_tokens: 0 }]) {
    const start = { type: "message_start", message: { id: "m", ...(usage && { usage }) } };
    const [{ message } = {}] = sentEvents([start, ...ending("end_turn")]);
    assertEquals((message as JsonObject).usage, { input_tokens: 3, output_tokens: 0 });
  }
  const read = { input_tokens: 0, cache_read_input_tokens: 9, output_tokens: 1 };
  const cached = { type: "message_start", message: { id: "m", usage: read } };
  const [{ message } = {}] = sentEvents([cached, ...ending("end_turn")]);
  assertEquals((message as JsonObject).usage, read);
});

Deno.test("[DONE] ends a message whose reason to stop came, and no other", async () => {
  const said = [START, delta(0, { type: "text_delta", text: "Hi" })];
  const [reason] = ending("end_turn");
  const done = "data: [DONE]\n\n";
  const { text, finish, error } = await heardStream(sse([...said, reason!]) + done);
  assertEquals([text, finish, error], ["Hi", "end_turn", undefined]);
  assertEquals(wholeBody(sse([...said, reason!]) + done).stop_reason, "end_turn");
  assertEquals((await heardTranslated("chat", sse([...said, reason!]) + done)).finish, "stop");
  assert((await heardStream(sse(said) + done)).error !== undefined);
});

Deno.test("a whole message has a type, a role and what else SDKs read of it", () => {
  const content = [{ type: "text", text: "Hi" }];
  for (const more of [{}, { type: null, role: null }]) {
    const message = { content, stop_reason: "end_turn", usage: USAGE, ...more };
    const { body } = messagesToMessages.reply(message, contextOf(REQUEST));
    const { type, role, stop_sequence } = body;
    assertEquals([type, role, stop_sequence], ["message", "assistant", null]);
  }
});

Deno.test("calls without ids get different ones", () => {
  const call = { type: "tool_use", name: "f", input: {} };
  const message = { content: [call, call], stop_reason: "tool_use", usage: USAGE };
  const { content } = messagesToMessages.reply(message, contextOf(REQUEST)).body;
  const ids = (content as JsonObject[]).map(({ id }) => id);
  assert(new Set(ids).size === 2 && ids.every((id) => /^toolu_/.test(String(id))), `${ids}`);
});

Deno.test("repairing a stream of many open calls, and of many citations, is linear work", () => {
  const event = (event: JsonObject) => ({ event: "x", data: JSON.stringify(event) });
  const block = (index: number) => ({ type: "tool_use", id: `c${index}`, name: "f", input: {} });
  assertGrowsLinearly(24_000, (size) => {
    const stream = messagesToMessages.stream(contextOf(REQUEST));
    const events = Array.from(
      { length: size },
      (_, index) => event({ type: "content_block_start", index, content_block: block(index) }),
    );
    return () => events.forEach((one) => stream.push(one));
  });
  const cited = { type: "citations_delta", citation: { cited_text: "x" } };
  assertGrowsLinearly(100_000, (size) => {
    const whole = wholeOfStream("messages", "messages", contextOf(REQUEST));
    whole.push(event({ type: "content_block_start", index: 0, content_block: { type: "text" } }));
    const one = event({ type: "content_block_delta", index: 0, delta: cited });
    return () => {
      for (let count = 0; count < size; count++) whole.push(one);
    };
  });
});
