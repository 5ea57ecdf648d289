import fc from "fast-check";
import {
  type Bridge,
  bridgeBetween,
  countedUsage,
  DIALECTS,
  type JsonObject,
  NO_USAGE,
  type ParsedRequest,
} from "../../../src/wire/dialects/mod.ts";
import {
  chatToChat,
  chatToMessages,
  clientStream,
  contextOf,
  messagesToChat,
  messagesToMessages,
  parseChat,
  parseMessages,
} from "./ends.ts";
import { parseJson } from "../../../src/wire/json/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assertGrowsLinearly } from "../../growth.ts";
import { PROOF, sized } from "../../tier.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";
import { checkChatStream, checkMessagesStream, eventsOf, type Rebuilt } from "./legal_streams.ts";

const SHAPING = { model: "upstream-model", upstream: "up", permittedOutput: 1_000, shaping: {} };
const chatAsked = parseChat({ model: "m", messages: [{ role: "user", content: "x" }] });

function readMessages(body: JsonObject, beta = true): ParsedRequest {
  return parseMessages({ model: "m", max_tokens: 100, ...body }, { beta });
}

/** A messages request as a chat upstream gets it. */
function asChat(body: JsonObject): JsonObject {
  return messagesToChat.request(readMessages(body), SHAPING).body;
}

/** A chat request as a messages upstream gets it. */
function asMessages(body: JsonObject): JsonObject {
  const asked = parseChat({ model: "m", ...body });
  return chatToMessages.request(asked, SHAPING).body;
}

/** A whole stream of one dialect as the client of the other sees it, errors included. */
function translate(
  bridge: Bridge,
  text: string,
  names = { id: "id", model: "m", inputTokens: 3 },
): string {
  const { front } = bridge === messagesToChat || bridge === messagesToMessages
    ? DIALECTS.messages
    : DIALECTS.chat;
  const stream = bridge.stream(contextOf(chatAsked, names));
  return clientStream(stream, text, (refusal) => front.errorEvent(refusal, "req_1"));
}

function chatStream(deltas: readonly JsonObject[], finish: string | null = "stop"): string {
  const chunks = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }));
  const last = finish === null
    ? []
    : [{ choices: [{ index: 0, delta: {}, finish_reason: finish }] }];
  return [...chunks, ...last].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("") +
    (finish === null ? "" : "data: [DONE]\n\n");
}

const call = (index: number, args: string, id?: string, name?: string): JsonObject => ({
  tool_calls: [{
    index,
    ...(id === undefined ? {} : { id, type: "function" }),
    function: { ...(name === undefined ? {} : { name }), arguments: args },
  }],
});

const piece = (call: JsonObject): JsonObject => ({ tool_calls: [call] });

const plain = ({ blocks, stopReason }: Rebuilt) => ({
  blocks: blocks.map(({ type, text, name }) => [type, name ?? "", text]),
  stopReason,
});

const STREAMS: readonly {
  why: string;
  deltas: JsonObject[];
  finish?: string;
  blocks: string[][];
  stop: string;
}[] = [
  {
    why: "reasoning, text, two interleaved calls (Kimi)",
    deltas: [
      { role: "assistant", content: "" },
      { reasoning_content: "R" },
      { content: "T" },
      call(0, "", "functions.Read:0", "Read"),
      call(1, '{"q":', "functions.Grep:1", "Grep"),
      call(0, '{"p":1}'),
      call(1, "2}"),
    ],
    finish: "tool_calls",
    blocks: [["thinking", "", "R"], ["text", "", "T"], ["tool_use", "Read", '{"p":1}'], [
      "tool_use",
      "Grep",
      '{"q":2}',
    ]],
    stop: "tool_use",
  },
  {
    why: "two calls under index 0, finish stop (Ollama)",
    deltas: [call(0, '{"a":1}', "x", "A"), call(0, '{"b":2}', "y", "B")],
    blocks: [["tool_use", "A", '{"a":1}'], ["tool_use", "B", '{"b":2}']],
    stop: "tool_use",
  },
  {
    why: "two calls in pieces without an index",
    deltas: [
      piece({ id: "x", function: { name: "A", arguments: '{"a"' } }),
      piece({ function: { arguments: ":1}" } }),
      piece({ id: "y", function: { name: "B", arguments: '{"b"' } }),
      piece({ function: { arguments: ":2}" } }),
    ],
    blocks: [["tool_use", "A", '{"a":1}'], ["tool_use", "B", '{"b":2}']],
    stop: "tool_use",
  },
  {
    why: "a call whose pieces have an id each",
    deltas: [call(0, '{"a"', "x", "A"), call(0, ":1", "y"), call(0, "}", "z")],
    blocks: [["tool_use", "A", '{"a":1}']],
    stop: "tool_use",
  },
  {
    why: "two calls under index 0 without ids",
    deltas: [call(0, '{"a":1}', undefined, "A"), call(0, '{"b":2}', undefined, "B")],
    blocks: [["tool_use", "A", '{"a":1}'], ["tool_use", "B", '{"b":2}']],
    stop: "tool_use",
  },
  {
    why: "two calls of one tool under index 0 without ids",
    deltas: [call(0, '{"a":1}', undefined, "A"), call(0, '{"a":2}', undefined, "A")],
    blocks: [["tool_use", "A", '{"a":1}'], ["tool_use", "A", '{"a":2}']],
    stop: "tool_use",
  },
  {
    why: "a call whose pieces repeat its name",
    deltas: [call(0, '{"a"', undefined, "A"), call(0, ":1}", undefined, "A")],
    blocks: [["tool_use", "A", '{"a":1}']],
    stop: "tool_use",
  },
  {
    why: "a call whose pieces repeat its name under other ids, and once more when it is complete",
    deltas: [
      call(0, "", "x", "A"),
      call(0, '{"a"', "y", "A"),
      call(0, ":1}", "z", "A"),
      call(0, "", undefined, "A"),
    ],
    blocks: [["tool_use", "A", '{"a":1}']],
    stop: "tool_use",
  },
  {
    why: "a call in the form before tools",
    deltas: [{ function_call: { name: "A", arguments: "{" } }, {
      function_call: { arguments: "}" },
    }],
    finish: "function_call",
    blocks: [["tool_use", "A", "{}"]],
    stop: "tool_use",
  },
  {
    why: "content in parts, reasoning beside an empty field",
    deltas: [{ reasoning_content: "", reasoning: "R" }, {
      content: [{ type: "text", text: "T" }, { type: "text", text: "U" }],
    }],
    blocks: [["thinking", "", "R"], ["text", "", "TU"]],
    stop: "end_turn",
  },
  {
    why: "a refusal that ends as a stop",
    deltas: [{ refusal: "No." }],
    blocks: [["text", "", "No."]],
    stop: "refusal",
  },
  {
    why: "text and a call in one delta",
    deltas: [{ content: "T", ...call(0, "{}", "x", "A") }],
    blocks: [["text", "", "T"], ["tool_use", "A", "{}"]],
    stop: "tool_use",
  },
  {
    why: "empty deltas of every kind",
    deltas: [{ content: "", tool_calls: [] }, { content: null, reasoning_content: "" }, {}, {
      content: "T",
    }],
    blocks: [["text", "", "T"]],
    stop: "end_turn",
  },
  {
    why: "text while a call is open, and after it",
    deltas: [call(0, '{"a":', "x", "A"), { content: "held" }, call(0, "1}"), { content: " on" }],
    blocks: [["tool_use", "A", '{"a":1}'], ["text", "", "held on"]],
    stop: "tool_use",
  },
  {
    why: "reasoning after text",
    deltas: [{ content: "T" }, { reasoning: "R" }, { content: "U" }],
    blocks: [["text", "", "T"], ["thinking", "", "R"], ["text", "", "U"]],
    stop: "end_turn",
  },
  {
    why: "a name that comes late, without an id",
    deltas: [call(0, '{"a"'), call(0, ":1}", undefined, "A")],
    blocks: [["tool_use", "A", '{"a":1}']],
    stop: "tool_use",
  },
  {
    why: "a call without arguments",
    deltas: [call(0, "", "x", "A")],
    blocks: [["tool_use", "A", ""]],
    stop: "tool_use",
  },
  { why: "nothing at all", deltas: [], blocks: [], stop: "end_turn" },
  {
    why: "a refusal",
    deltas: [{ refusal: "No." }],
    finish: "content_filter",
    blocks: [["text", "", "No."]],
    stop: "refusal",
  },
  {
    why: "the token limit",
    deltas: [{ content: "T" }],
    finish: "length",
    blocks: [["text", "", "T"]],
    stop: "max_tokens",
  },
];

for (const { why, deltas, finish, blocks, stop } of STREAMS) {
  // Proves P14.
  Deno.test(`chat stream → messages stream: ${why}`, () => {
    const rebuilt = checkMessagesStream(translate(messagesToChat, chatStream(deltas, finish)));
    assertEquals(plain(rebuilt), { blocks, stopReason: stop });
  });
}

for (const { why, deltas, finish, blocks } of STREAMS) {
  if (finish === "function_call") continue; // the form before tools has no pieces to tell apart
  Deno.test(`chat stream carried to chat: ${why}`, () => {
    const rebuilt = checkChatStream(translate(chatToChat, chatStream(deltas, finish)));
    const calls = blocks.filter(([type]) => type === "tool_use")
      .map(([type, name, args]) => [type, name, args || "{}"]); // clients parse them
    assertEquals(plain(rebuilt).blocks.filter(([type]) => type === "tool_use"), calls);
    assertEquals(rebuilt.stopReason, calls.length > 0 ? "tool_calls" : finish ?? "stop");
  });
}

Deno.test("chat stream carried to chat: what is right is carried as it is, unknown fields included", () => {
  const chunks = [
    { index: 0, delta: { role: "assistant", content: "", vendor: 1 }, finish_reason: null },
    { index: 0, delta: { content: "T" }, finish_reason: null, native: "x" },
    {
      index: 0,
      delta: {
        tool_calls: [{
          index: 0,
          id: "functions.A:0",
          type: "function",
          function: { name: "A", arguments: "" },
          extra_content: { thought_signature: "s" },
        }],
      },
      finish_reason: null,
    },
    {
      index: 0,
      delta: { tool_calls: [{ index: 0, function: { arguments: "{}" } }] },
      finish_reason: null,
    },
    { index: 0, delta: {}, finish_reason: "tool_calls", stop_reason: null },
  ];
  const head = { id: "id", created: 1, model: "m", system_fingerprint: "fp_theirs" };
  const object = "chat.completion.chunk";
  const source = chunks.map((choice) =>
    `data: ${JSON.stringify({ ...head, object, choices: [choice] })}\n\n`
  ).join("");
  assertEquals(translate(chatToChat, `${source}data: [DONE]\n\n`), `${source}data: [DONE]\n\n`);
});

Deno.test("chat stream carried to chat: calls of another kind are carried as they are", () => {
  const source = chatStream([
    { role: "assistant" },
    piece({ index: 0, id: "c", type: "custom", custom: { name: "sh", input: "" } }),
    piece({ index: 0, custom: { input: "ls" } }),
  ], "tool_calls");
  const text = translate(chatToChat, source);
  assertStringIncludes(text, '"custom":{"name":"sh","input":""}');
  assertStringIncludes(text, '"custom":{"input":"ls"}');
});

/** Calls in one turn, half of them under one id, with their results. */
function manyCalls(count: number): JsonObject[] {
  const calls = Array.from({ length: count }, (_, at) => ({
    type: "tool_use",
    id: at % 2 === 0 ? "x" : `y${at}`,
    name: "A",
    input: {},
  }));
  return [
    { role: "user", content: "Hi" },
    { role: "assistant", content: calls },
    {
      role: "user",
      content: calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "1" })),
    },
  ];
}

function thereAndBack(messages: JsonObject[]): JsonObject[] {
  const chat = asChat({ messages });
  return asMessages({ messages: chat.messages! }).messages as JsonObject[];
}

Deno.test("20,000 calls under few ids keep their results", () => {
  const [, calls, results] = thereAndBack(manyCalls(20_000));
  assertEquals([(calls!.content as unknown[]).length, (results!.content as unknown[]).length], [
    20_000,
    20_000,
  ]);
});

Deno.test("many calls under one id take no time that grows with their square", PROOF, () => {
  // it was 20 s for 20,000 of them
  assertGrowsLinearly(80_000, (size) => {
    const messages = manyCalls(size);
    return () => void thereAndBack(messages);
  });
});

Deno.test("many ends of many calls take no time that grows with their square", PROOF, () => {
  const chunk = (choice: JsonObject) => JSON.stringify({ choices: [{ index: 0, ...choice }] });
  // it was 5 s for 12,000 of both
  assertGrowsLinearly(24_000, (size) => {
    const stream = messagesToChat.stream(
      contextOf(readMessages({ messages: [{ role: "user", content: "x" }] })),
    );
    const calls = Array.from(
      { length: size },
      (_, index) =>
        chunk({ delta: { tool_calls: [{ index, function: { name: "f", arguments: "{}" } }] } }),
    );
    const ends = calls.map(() => chunk({ delta: {}, finish_reason: "tool_calls" }));
    return () => [...calls, ...ends].forEach((data) => void stream.push({ event: "", data }));
  });
});

Deno.test("a choice among many tools takes no time that grows with their square", PROOF, () => {
  const tools = (size: number, prefix: string) =>
    Array.from({ length: size }, (_, at) => ({
      type: "function",
      function: { name: `${prefix}${at}` },
    }));
  // it was 14 s for 16,000 of them
  assertGrowsLinearly(24_000, (size) => {
    const allowed = { mode: "auto", tools: [...tools(size, "b"), ...tools(1, "a")] };
    const asked = parseChat({
      model: "m",
      messages: [{ role: "user", content: "x" }],
      tools: tools(size, "a"),
      tool_choice: { type: "allowed_tools", allowed_tools: allowed },
    });
    return () => void chatToMessages.request(asked, SHAPING);
  });
});

Deno.test("a stream of many calls takes no time that grows with their square", PROOF, () => {
  const call = (index: number) => ({
    index,
    id: `c${index}`,
    function: { name: "f", arguments: '{"a":1}' },
  });
  // it was 3 s for 8,000 of them
  assertGrowsLinearly(24_000, (size) => {
    const stream = messagesToChat.stream(
      contextOf(readMessages({ messages: [{ role: "user", content: "x" }] })),
    );
    const chunks = Array.from(
      { length: size },
      (_, index) =>
        JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [call(index)] } }] }),
    );
    return () => chunks.forEach((data) => void stream.push({ event: "message", data }));
  });
});

Deno.test("chat answer carried to chat: calls without id, type or text arguments, finish stop", () => {
  const answer = (choice: JsonObject) =>
    chatToChat.reply({ choices: [choice], vendor: 1 }, contextOf(chatAsked, { id: "chatcmpl-1" }))
      .body;
  const call = { function: { name: "A", arguments: { a: 1 } }, extra_content: "x" };
  assertEquals(
    answer({ index: 0, message: { content: null, tool_calls: [call] }, finish_reason: "stop" }),
    {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "m",
      system_fingerprint: "fp_1",
      vendor: 1,
      choices: [{
        index: 0,
        message: {
          role: "assistant",
          content: null,
          tool_calls: [{
            id: "call_1_0",
            type: "function",
            function: { name: "A", arguments: '{"a":1}' },
            extra_content: "x",
          }],
        },
        finish_reason: "tool_calls",
      }],
    },
  );
  const right = { index: 0, message: { role: "assistant", content: "T" }, finish_reason: "stop" };
  assertEquals((answer(right).choices as JsonObject[])[0], right);
});

Deno.test("chat stream → messages stream: cached input stands beside the input", () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 20,
    cached_tokens: 60,
    completion_tokens_details: { reasoning_tokens: 8 },
  };
  const text = translate(
    messagesToChat,
    chatStream([{ content: "T" }]).replace(
      "data: [DONE]",
      `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]`,
    ),
  );
  assertStringIncludes(
    text,
    '"usage":{"input_tokens":40,"cache_creation_input_tokens":0,"cache_read_input_tokens":60,"output_tokens":20,' +
      '"output_tokens_details":{"thinking_tokens":8}}',
  );
});

Deno.test("what was written to a cache is told in either dialect's words", () => {
  const messages = {
    input_tokens: 10,
    cache_creation_input_tokens: 30,
    cache_read_input_tokens: 60,
    output_tokens: 20,
  };
  const answer = chatToMessages.reply({ content: [], usage: messages }, contextOf(chatAsked));
  assertEquals(answer.body.usage, {
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
    completion_tokens_details: { reasoning_tokens: 0 },
  });
  const back = messagesToChat.reply(
    answer.body,
    contextOf(readMessages({ messages: [{ role: "user", content: "Hi" }] })),
  );
  assertEquals(back.body.usage, { ...messages, output_tokens_details: { thinking_tokens: 0 } });
});

/** What a model says, piece by piece: reasoning, text, then calls. */
const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
const saying = fc.record({
  reasoning: fc.array(word, { maxLength: 4 }),
  text: fc.array(word, { maxLength: 4 }),
  calls: fc.array(
    fc.tuple(
      fc.stringMatching(/^[a-z]{1,8}$/),
      fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), word),
    ),
    {
      maxLength: 3,
    },
  ),
});

Deno.test("a legal chat stream → messages → chat rebuilds to the same message (property)", () => {
  fc.assert(
    fc.property(saying, fc.integer({ min: 1, max: 5 }), ({ reasoning, text, calls }, cut) => {
      const deltas = [
        { role: "assistant", content: "" },
        ...reasoning.map((piece) => ({ reasoning_content: piece })),
        ...text.map((piece) => ({ content: piece })),
        ...calls.flatMap(([name, args], index) => [
          call(index, "", `id_${index}`, name),
          ...(JSON.stringify(args).match(new RegExp(`[\\s\\S]{1,${cut}}`, "g")) ?? []).map((
            piece,
          ) => call(index, piece)),
        ]),
      ];
      const source = chatStream(deltas, calls.length > 0 ? "tool_calls" : "stop");
      const messages = translate(messagesToChat, source);
      const between = checkMessagesStream(messages);
      const back = checkChatStream(translate(chatToMessages, messages));
      const expected = [
        ["thinking", "", reasoning.join("")],
        ["text", "", text.join("")],
        ...calls.map(([name, args]) => ["tool_use", name, JSON.stringify(args)]),
      ].filter(([type, , said]) => type === "tool_use" || said !== "");
      assertEquals(plain(between).blocks, expected);
      assertEquals(plain(back), {
        blocks: expected,
        stopReason: calls.length > 0 ? "tool_calls" : "stop",
      });
    }),
    { numRuns: sized(40, 300) },
  );
});

/** Chunks as a broken upstream may send them. */
const odd = fc.oneof(
  fc.constantFrom<JsonObject[string]>(null, "", "text", 0, -1, 7, true, [], {}),
  word,
);
const oddChunk = fc.record({
  choices: fc.oneof(
    odd,
    fc.array(
      fc.record({
        index: fc.oneof(fc.constant(0), odd),
        delta: fc.oneof(
          odd,
          fc.record({
            content: odd,
            reasoning_content: odd,
            tool_calls: fc.oneof(
              odd,
              fc.array(
                fc.record({
                  index: fc.oneof(fc.integer({ min: 0, max: 2 }), odd),
                  id: odd,
                  function: fc.oneof(
                    odd,
                    fc.record({
                      name: odd,
                      arguments: fc.oneof(odd, fc.constantFrom("{", "}", '{"a":1}')),
                    }),
                  ),
                }, { requiredKeys: [] }),
                { maxLength: 3 },
              ),
            ),
          }, { requiredKeys: [] }),
        ),
        finish_reason: fc.oneof(
          fc.constantFrom<JsonObject[string]>(null, "stop", "tool_calls", "error"),
          odd,
        ),
        usage: odd,
      }, { requiredKeys: [] }),
      { maxLength: 2 },
    ),
  ),
  usage: odd,
  error: fc.constantFrom<JsonObject[string]>(undefined, undefined, undefined, null, "oops", {
    message: "x",
  }),
}, { requiredKeys: [] });
const oddEvent = fc.oneof(
  { weight: 6, arbitrary: oddChunk.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "data: [DONE]\n\n",
      ": ping\n\n",
      "data: nonsense\n\n",
      "data:\n\n",
      "\n\n",
    ),
  },
);

Deno.test("a thousand malformed chat streams never become an ill-formed messages stream (property)", () => {
  fc.assert(
    fc.property(fc.array(oddEvent, { maxLength: 12 }), (events) => {
      checkMessagesStream(translate(messagesToChat, events.join("")));
    }),
    { numRuns: sized(80, 1_000) },
  );
});

Deno.test("a thousand malformed chat streams carried to chat: calls are told apart (property)", () => {
  fc.assert(
    fc.property(fc.array(oddEvent, { maxLength: 12 }), (events) => {
      const text = translate(chatToChat, events.join(""));
      const begun = new Map<string, string>();
      for (const { data } of eventsOf(text)) {
        for (const { index: choice, delta } of data.choices ?? []) {
          assert(typeof delta === "object" && delta.role !== "");
          for (const call of Array.isArray(delta.tool_calls) ? delta.tool_calls : []) {
            const key = `${choice} ${call.index}`;
            if (!begun.has(key)) begun.set(key, call.id);
            else assertEquals([call.id, call.type, call.function.name], Array(3).fill(undefined));
            assert(begun.get(key) !== "" && begun.get(key) !== undefined);
          }
        }
      }
    }),
    { numRuns: sized(80, 1_000) },
  );
});

const oddMessagesEvent = fc.record({
  type: fc.constantFrom(
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
    "error",
    "vendor_event",
  ),
  index: odd,
  message: fc.oneof(odd, fc.record({ usage: odd })),
  content_block: fc.oneof(
    odd,
    fc.record({
      type: fc.constantFrom("text", "thinking", "tool_use", "other"),
      id: odd,
      name: odd,
      input: odd,
      text: odd,
    }),
  ),
  delta: fc.oneof(
    odd,
    fc.record({
      type: fc.constantFrom("text_delta", "thinking_delta", "input_json_delta", "x"),
      text: odd,
      thinking: odd,
      partial_json: odd,
      stop_reason: odd,
    }, { requiredKeys: [] }),
  ),
  usage: odd,
}, { requiredKeys: ["type"] });

Deno.test("messages stream → chat stream: a call that was never named takes no index", () => {
  const events = [
    {
      type: "content_block_delta",
      index: 5,
      delta: { type: "input_json_delta", partial_json: "{" },
    },
    {
      type: "content_block_start",
      index: 6,
      content_block: { type: "tool_use", id: "b", name: "B" },
    },
    { type: "content_block_stop", index: 6 },
    { type: "message_delta", delta: { stop_reason: "tool_use" } },
    { type: "message_stop" },
  ];
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
  const rebuilt = checkChatStream(translate(chatToMessages, text));
  assertEquals(plain(rebuilt), { blocks: [["tool_use", "B", "{}"]], stopReason: "tool_calls" });
});

Deno.test("a thousand malformed messages streams never become an ill-formed chat stream (property)", () => {
  fc.assert(
    fc.property(fc.array(oddMessagesEvent, { maxLength: 12 }), (events) => {
      const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join("");
      checkChatStream(translate(chatToMessages, text));
    }),
    { numRuns: sized(80, 1_000) },
  );
});

Deno.test("messages request → chat: what a coding tool sends", () => {
  const sent = asChat({
    system: [
      { type: "text", text: "x-anthropic-billing-header: cc_version=1;" },
      { type: "text", text: "You are a tool.", cache_control: { type: "ephemeral" } },
      { type: "text", text: "Be brief." },
    ],
    messages: [
      { role: "user", content: [{ type: "text", text: "Read it" }] },
      { role: "system", content: "Today is Friday." },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "s" },
          { type: "tool_use", id: "functions.Read:0", name: "Read", input: { p: 1 } },
          { type: "tool_use", id: "functions.Look:1", name: "Look", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "functions.Look:1",
            content: [{
              type: "image",
              source: { type: "base64", media_type: "image/png", data: "AAAA" },
            }],
          },
          { type: "tool_result", tool_use_id: "functions.Read:0", content: "gone", is_error: true },
          { type: "text", text: "Go on" },
        ],
      },
    ],
    tools: [
      {
        name: "Read",
        description: "reads",
        input_schema: { $schema: "x", type: "object" },
        cache_control: {},
      },
      { name: "DeferredToolPlaceholder", input_schema: {}, defer_loading: true },
    ],
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
    stop_sequences: ["X"],
  });
  assertEquals(sent.messages, [
    { role: "system", content: "You are a tool.\n\nBe brief." },
    { role: "user", content: "Read it\n\n<system-reminder>\nToday is Friday.\n</system-reminder>" },
    {
      role: "assistant",
      content: null,
      reasoning_content: "hm",
      tool_calls: [
        {
          id: "functions.Read:0",
          type: "function",
          function: { name: "Read", arguments: '{"p":1}' },
        },
        { id: "functions.Look:1", type: "function", function: { name: "Look", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "functions.Read:0", content: "Error: gone" },
    { role: "tool", tool_call_id: "functions.Look:1", content: "[image 1, see below]" },
    {
      role: "user",
      content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
    },
    { role: "user", content: "Go on" },
  ]);
  assertEquals(sent.tools, [
    {
      type: "function",
      function: { name: "Read", description: "reads", parameters: { type: "object" } },
    },
  ]);
  assertEquals([sent.tool_choice, sent.parallel_tool_calls, sent.stop], ["auto", false, ["X"]]);
});

Deno.test("messages request → chat: missing and stray tool results", () => {
  const sent = asChat({
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "A", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "b", content: "stray" }] },
    ],
  });
  assertEquals((sent.messages as JsonObject[]).slice(2), [
    { role: "tool", tool_call_id: "a", content: "[no result]" },
    { role: "user", content: "Result of a tool: stray" },
  ]);
});

Deno.test("messages request → chat: several results for one call, several calls under one id", () => {
  const use = (id: string, name: string) => ({ type: "tool_use", id, name, input: {} });
  const result = (id: string, content: string, is_error = false) => ({
    type: "tool_result",
    tool_use_id: id,
    content,
    is_error,
  });
  const sent = asChat({
    messages: [
      { role: "assistant", content: [use("a", "A"), use("b", "B"), use("b", "B")] },
      {
        role: "user",
        content: [
          result("b", "b1"),
          result("a", "a1"),
          result("b", "b2"),
          result("a", "a2", true),
          result("b", "b3"),
        ],
      },
    ],
  });
  assertEquals(
    (sent.messages as JsonObject[]).slice(1).map(({ tool_call_id: id, content }) => [id, content]),
    [["a", "Error: a1\na2"], ["b", "b1"], ["b", "b2\nb3"]],
  );
});

Deno.test("messages request → chat: blocks that cannot be said are named, and are not all there is", () => {
  const messages = [
    { role: "user", content: [{ type: "text", text: "Hi" }, { type: "container_upload" }] },
    { role: "assistant", content: [{ type: "server_tool_use", id: "s", name: "x", input: {} }] },
    { role: "assistant", content: [{ type: "compaction", content: "They met." }] },
    {
      role: "user",
      content: [{
        type: "tool_result",
        tool_use_id: "a",
        content: [{ type: "browser_state" }, { type: "text", text: "R" }],
      }],
    },
  ];
  const { body, dropped } = messagesToChat.request(readMessages({ messages }), SHAPING);
  assertEquals(dropped, [
    "messages.container_upload",
    "messages.server_tool_use",
    "messages.browser_state",
  ]);
  assertEquals(body.messages, [
    { role: "user", content: "Hi" },
    { role: "assistant", content: "They met." },
    { role: "user", content: "Result of a tool: R" },
  ]);
  const nothing = [{ role: "user", content: [{ type: "container_upload" }] }];
  const refusal = assertThrows(() => asChat({ messages: nothing }), Refusal);
  assertEquals(refusal.param, "messages");
  assertStringIncludes(refusal.message, "container_upload");
});

Deno.test("ids that an upstream numbers anew are a conversation's own for the caller, and its own again upstream", () => {
  const use = (id: string) => ({ type: "tool_use", id, name: "Read", input: {} });
  const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: id });
  const asked = readMessages({
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: [use("f-Read-0")] },
      { role: "user", content: [result("f-Read-0")] },
      { role: "assistant", content: [use("f-Read-0_again2"), use("f-Read-1")] },
      { role: "user", content: [result("f-Read-1"), result("f-Read-0_again2")] },
    ],
  });
  const context = contextOf(asked);
  const calls = ["f-Read-0", "f-Read-1", "f-Read-1", "f-Read-2"];
  const own = ["f-Read-0_again3", "f-Read-1_again2", "f-Read-1_again3", "f-Read-2"];
  const whole = (bridge: Bridge, reply: JsonObject) =>
    (bridge.reply(reply, context).withUsage(countedUsage(1, 1)).content as JsonObject[])
      .map(({ id }) => id!);
  const streamed = (bridge: Bridge, datas: JsonObject[]) => {
    const stream = bridge.stream(context);
    const text =
      datas.map((one) => stream.push({ event: "", data: JSON.stringify(one) })).join("") +
      stream.close(countedUsage(1, 1));
    return [...text.matchAll(/"type":"tool_use","id":"([^"]+)"/g)].map(([, id]) => id!);
  };
  const chatCalls = calls.map((id, index) => ({
    index,
    id,
    type: "function",
    function: { name: "Read", arguments: "{}" },
  }));
  const message = { tool_calls: chatCalls };
  assertEquals(whole(messagesToChat, { choices: [{ message }] }), own);
  assertEquals(streamed(messagesToChat, [{ choices: [{ index: 0, delta: message }] }]), own);
  assertEquals(whole(messagesToMessages, { content: calls.map(use) }), own);
  const starts = calls.map((id, index) => ({
    type: "content_block_start",
    index,
    content_block: use(id),
  }));
  assertEquals(streamed(messagesToMessages, starts), own);

  const ids = (value: unknown) =>
    [...JSON.stringify(value).matchAll(/"(?:tool_call_id|tool_use_id|id)":"([^"]+)"/g)]
      .map(([, id]) => id);
  assertEquals(ids(messagesToChat.request(asked, SHAPING).body.messages), [
    ...["f-Read-0", "f-Read-0"],
    ...["f-Read-0", "f-Read-1", "f-Read-0", "f-Read-1"],
  ]);
  assertEquals(ids(messagesToMessages.request(asked, SHAPING).body.messages), [
    ...["f-Read-0", "f-Read-0"],
    ...["f-Read-0", "f-Read-1", "f-Read-1", "f-Read-0"],
  ]);
});

Deno.test("documents: what the other dialect has no form for is written in one that it has", () => {
  const base64 = (media_type: string, data: string) => ({ type: "base64", media_type, data });
  const pdf = base64("application/pdf", "JVBERi0=");
  const content = [
    { type: "document", title: "T", context: "C", source: { type: "text", data: "body" } },
    { type: "document", title: "P", context: "C2", source: pdf },
    {
      type: "search_result",
      title: "S",
      source: "https://host.example",
      content: [{ type: "text", text: "found" }],
    },
  ];
  const body = { messages: [{ role: "user", content }] };
  const file = { filename: "P", file_data: "data:application/pdf;base64,JVBERi0=" };
  const texts = (...said: string[]) => said.map((text) => ({ type: "text", text }));
  assertEquals(asChat(body).messages, [{
    role: "user",
    content: [
      ...texts("T\nC", "body", "C2"),
      { type: "file", file },
      ...texts("S\nhttps://host.example", "found"),
    ],
  }]);
  const { body: sent, dropped } = messagesToChat.request(readMessages(body), {
    ...SHAPING,
    shaping: { withoutFiles: true },
  });
  assertStringIncludes(JSON.stringify(sent.messages), 'The document \\"P\\" is left out');
  assertEquals(dropped, ["messages.document"]);
  const url = { type: "document", source: { type: "url", url: "https://host.example/a.pdf" } };
  assertStringIncludes(
    assertThrows(() => asChat({ messages: [{ role: "user", content: [url] }] }), Refusal).message,
    "base64",
  );

  const sourceOf = (file_data: string) => {
    const part = { type: "file", file: { file_data } };
    const [message] = asMessages({ messages: [{ role: "user", content: [part] }] })
      .messages as JsonObject[];
    return (message!.content as JsonObject[])[0]!.source;
  };
  assertEquals(sourceOf("JVBERi0="), pdf);
  assertEquals(sourceOf("data:application/pdf;base64,JVBERi0="), pdf);
  const text = { type: "text", media_type: "text/plain", data: "Grüße" };
  assertEquals(sourceOf("data:text/markdown;base64,R3LDvMOfZQ=="), text);
});

Deno.test("whole numbers beyond 2^53 are the same on the other side, in either direction", () => {
  const args = '{"id":1234567890123456789,"p":-9007199254740993}';
  const messages = parseJson(
    `[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"A","input":${args}}]}]`,
  ) as JsonObject[];
  const schema = '{"type":"integer","maximum":9223372036854775807}';
  const tools = [{
    name: "A",
    input_schema: { properties: { id: parseJson(schema) as JsonObject } },
  }];
  for (const bridge of [messagesToMessages, messagesToChat]) {
    const sent = JSON.stringify(bridge.request(readMessages({ messages, tools }), SHAPING).body);
    assertStringIncludes(sent.replaceAll("\\", ""), args);
    assertStringIncludes(sent, schema);
  }
  const called = { id: "a", type: "function", function: { name: "A", arguments: args } };
  const history = [{ role: "assistant", tool_calls: [called] }];
  assertStringIncludes(JSON.stringify(asMessages({ messages: history })), args);
  const answer = messagesToChat.reply(
    { choices: [{ message: { tool_calls: [called] } }] },
    contextOf(readMessages({ messages })),
  );
  assertStringIncludes(JSON.stringify(answer.withUsage(countedUsage(1, 1))), args);
});

Deno.test("chat reply → messages: a stop sequence is one that the client named", () => {
  const messages = [{ role: "user", content: "Hi" }];
  const request = parseMessages({ model: "m", max_tokens: 9, messages, stop_sequences: ["X"] });
  for (const field of ["stop_reason", "matched_stop"]) {
    for (const [said, expected] of [["X", "stop_sequence"], ["<|im_end|>", "end_turn"]]) {
      const end = { finish_reason: "stop", [field]: said };
      const message = { role: "assistant", content: "Hi" };
      const whole = messagesToChat.reply({ choices: [{ message, ...end }] }, contextOf(request))
        .withUsage(NO_USAGE);
      const stream = messagesToChat.stream(contextOf(request));
      const data = JSON.stringify({ choices: [{ index: 0, delta: message, ...end }] });
      const events = clientStream(stream, `data: ${data}\n\ndata: [DONE]\n\n`);
      const [, delta] = /"delta":(\{"stop_reason":[^}]*\})/.exec(events)!;
      for (const { stop_reason, stop_sequence } of [whole, JSON.parse(delta!)]) {
        assertEquals([stop_reason, stop_sequence], [expected, said === "X" ? "X" : null]);
      }
    }
  }
});

Deno.test("a thread is refused in the words by which SDKs go on without", () => {
  const refusal = assertThrows(
    () => readMessages({ messages: [{ role: "user", content: "Hi" }], thread: { type: "create" } }),
    Refusal,
  );
  const { error } = DIALECTS.messages.front.errorBody(refusal, "req_1") as { error: JsonObject };
  assertEquals(error.details, {
    error_code: "thread_unsupported_request",
    unsupported: ["thread"],
  });
});

Deno.test("a call without arguments in the history has empty ones, since upstreams parse them", () => {
  for (const args of ["", " "]) {
    const call = { id: "c", type: "function", function: { name: "f", arguments: args } };
    const request = parseChat({
      model: "m",
      messages: [
        { role: "user", content: "x" },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "c", content: "ok" },
      ],
    });
    const { input } = bridgeBetween("chat", "responses").request(request, SHAPING).body;
    assertEquals((input as JsonObject[])[1]!.arguments, "{}");
  }
});

Deno.test("chat request → messages: turns that say nothing separate no others", () => {
  const { messages } = asMessages({
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: "" },
      { role: "user", content: "b" },
    ],
  });
  const content = ["a", "b"].map((text) => ({ type: "text", text }));
  assertEquals(messages, [{ role: "user", content }]);
});

Deno.test("a reply that said nothing may be in a messages client's history, and nothing else without content", () => {
  const messages = (role: string) => [
    { role: "user", content: "a" },
    { role, content: [] },
    { role: "user", content: "b" },
  ];
  const { messages: sent } = asChat({ messages: messages("assistant") });
  assertEquals((sent as JsonObject[]).map(({ role }) => role), ["user", "user"]);
  const request = readMessages({ messages: messages("assistant") });
  const send = (signedReasoning: boolean) =>
    messagesToMessages.request(request, { ...SHAPING, shaping: { signedReasoning } }).body.messages;
  assertEquals(send(false), messages("assistant"));
  assertEquals((send(true) as JsonObject[]).length, 2, "Anthropic rejects it");
  assertThrows(
    () => readMessages({ messages: messages("user") }),
    Refusal,
    "messages[1].content must not be empty",
  );
});

Deno.test("chat request → messages: nothing to say is refused, blank texts and stops are left out", () => {
  const refusal = assertThrows(
    () => asMessages({ messages: [{ role: "system", content: "Be brief." }] }),
    Refusal,
  );
  assertEquals(refusal.param, "messages");
  const asked = parseChat({
    model: "m",
    messages: [{ role: "user", content: "Hi" }, { role: "assistant", content: " " }],
    stop: [" ", "X"],
    tools: [{ type: "function", function: { name: "A", parameters: {} } }],
  });
  const { body, dropped } = chatToMessages.request(asked, SHAPING);
  assertEquals(body.messages, [{ role: "user", content: [{ type: "text", text: "Hi" }] }]);
  assertEquals([body.stop_sequences, dropped], [["X"], ["stop"]]);
  assertEquals(body.tools, [{ name: "A", input_schema: { type: "object" } }]);
});

Deno.test("sampling that is left out is left out where the upstream has its own", () => {
  const messages = [{ role: "user", content: "Hi" }];
  const shaping = { ownSampling: true };
  const chat = parseChat({ model: "m", messages });
  for (
    const [bridge, asked] of [
      [chatToChat, chat],
      [chatToMessages, chat],
      [messagesToMessages, readMessages({ messages })],
      [messagesToChat, readMessages({ messages })],
    ] as const
  ) {
    const { body } = bridge.request(asked, { ...SHAPING, shaping });
    assertEquals([body.temperature, body.top_p], [undefined, undefined]);
    assertEquals(bridge.request(asked, SHAPING).body.temperature, 0.6);
  }
});

Deno.test("messages request → chat: what is said of reasoning and cannot be carried is named", () => {
  const { dropped } = messagesToChat.request(
    readMessages({
      messages: [{ role: "user", content: "Hi" }],
      thinking: { type: "enabled", budget_tokens: 2_000 },
      output_config: {
        effort: "low",
        task_budget: {},
        format: { type: "json_schema", schema: {} },
      },
    }),
    SHAPING,
  );
  assertEquals(dropped, [
    "output_config.effort",
    "output_config.task_budget",
    "thinking.budget_tokens",
  ]);
});

Deno.test("messages request → chat: names of tools that are too long there, and back", () => {
  const long = `mcp__${"server".repeat(12)}__read`;
  const asked = readMessages({
    messages: [
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: long, input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "1" }] },
    ],
    tools: [{ name: long, input_schema: {} }, { name: `${long}2`, input_schema: {} }, {
      name: "short",
      input_schema: {},
    }],
    tool_choice: { type: "tool", name: long },
  });
  const written = messagesToChat.request(asked, SHAPING);
  const { body } = written;
  const names = (body.tools as JsonObject[]).map((tool) => (tool.function as JsonObject).name);
  assertEquals(names.map((name) => String(name).length), [64, 64, 5]);
  assertEquals(new Set(names).size, 3);
  assertEquals(body.tool_choice, { type: "function", function: { name: names[0]! } });
  assertStringIncludes(JSON.stringify(body.messages), `"name":"${names[0]}"`);

  const called = call(0, "{}", "x", String(names[1]));
  const context = contextOf(asked, { written });
  const whole = messagesToChat.reply(
    { choices: [{ message: called, finish_reason: "tool_calls" }] },
    context,
  );
  const stream = messagesToChat.stream(context);
  const streamed = stream.push({
    event: "",
    data: JSON.stringify({ choices: [{ index: 0, delta: called }] }),
  });
  for (const text of [JSON.stringify(whole.withUsage(countedUsage(3, 1))), streamed]) {
    assertStringIncludes(text, `"name":"${long}2"`);
  }
});

Deno.test("messages request → chat: what cannot be said is named or refused", () => {
  const messages = [{ role: "user", content: "Hi" }];
  const named = messagesToChat.request(
    readMessages({
      messages,
      top_k: 5,
      metadata: { user_id: "private" },
      service_tier: "auto",
      unknown: 1,
    }),
    SHAPING,
  );
  assertEquals(named.dropped, ["metadata", "service_tier", "unknown", "top_k"]);
  assert(!JSON.stringify(named.body).includes("private"));
  assertStringIncludes(
    assertThrows(() => asChat({ messages, safeguards: [{}] }), Refusal).message,
    "safeguards",
  );
  const search = [{ type: "web_search_20250305", name: "web_search" }];
  assertStringIncludes(
    assertThrows(() => asChat({ messages, tools: search }), Refusal).message,
    "web_search",
  );
  const refusal = assertThrows(
    () => readMessages({ messages: [{ role: "system", content: "x" }] }, false),
    Refusal,
  );
  assertEquals(refusal.param, "messages[0].role");
  assertStringIncludes(refusal.message, "system");
});

Deno.test("chat request → messages: tools, results, instructions, images", () => {
  const sent = asMessages({
    messages: [
      { role: "system", content: "One." },
      { role: "developer", content: "Two." },
      {
        role: "user",
        content: [{
          type: "image_url",
          image_url: { url: "data:image/PNG;charset=x;base64,AAAA" },
        }],
      },
      {
        role: "assistant",
        content: "",
        reasoning_content: "hm",
        tool_calls: [
          { id: "functions.A:0", type: "function", function: { name: "A", arguments: "" } },
          { id: "b", type: "function", function: { name: "B", arguments: "{broken" } },
        ],
      },
      { role: "tool", tool_call_id: "functions.A:0", content: "1" },
      { role: "tool", tool_call_id: "b", content: "2" },
      { role: "user", content: "Go on" },
    ],
    temperature: 1.5,
    tool_choice: "required",
    parallel_tool_calls: false,
    tools: [{ type: "function", function: { name: "A" } }],
    response_format: {
      type: "json_schema",
      json_schema: { name: "x", schema: { type: "object" } },
    },
    stop: "X",
    seed: 1,
  });
  assertEquals(sent.system, "One.\n\nTwo.");
  assertEquals(sent.messages, [
    {
      role: "user",
      content: [{
        type: "image",
        source: { type: "base64", media_type: "image/png", data: "AAAA" },
      }],
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "sluice.1" },
        { type: "tool_use", id: "slx-functions_2e_A_3a_0", name: "A", input: {} },
        { type: "tool_use", id: "b", name: "B", input: { _raw: "{broken" } },
      ],
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "slx-functions_2e_A_3a_0",
          content: [{ type: "text", text: "1" }],
        },
        { type: "tool_result", tool_use_id: "b", content: [{ type: "text", text: "2" }] },
        { type: "text", text: "Go on" },
      ],
    },
  ]);
  assertEquals(
    [sent.temperature, sent.max_tokens, sent.tool_choice, sent.stop_sequences, sent.output_config],
    [1, 1_000, { type: "any", disable_parallel_tool_use: true }, ["X"], {
      format: { type: "json_schema", schema: { type: "object" } },
    }],
  );
});

Deno.test("chat request → messages: ids that are numbered anew in each turn, results that are missing", () => {
  const called = { id: "f.Read:0", type: "function", function: { name: "Read", arguments: "{}" } };
  const sent = asMessages({
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: null, tool_calls: [called, { ...called, id: "b" }] },
      { role: "tool", tool_call_id: "f.Read:0", content: "1" },
      { role: "tool", tool_call_id: "gone", content: "stray" },
      { role: "assistant", content: null, tool_calls: [called] },
      { role: "tool", tool_call_id: "f.Read:0", content: "2" },
    ],
  });
  const use = (id: string) => ({ type: "tool_use", id, name: "Read", input: {} });
  const text = (said: string) => ({ type: "text", text: said });
  const result = (id: string, said: string) => ({
    type: "tool_result",
    tool_use_id: id,
    content: [text(said)],
  });
  assertEquals(sent.messages, [
    { role: "user", content: [text("Hi")] },
    { role: "assistant", content: [use("slx-f_2e_Read_3a_0"), use("b")] },
    {
      role: "user",
      content: [
        result("slx-f_2e_Read_3a_0", "1"),
        result("b", "[no result]"),
        text("Result of a tool: stray"),
      ],
    },
    { role: "assistant", content: [use("slx-f_2e_Read_3a_0_2")] },
    { role: "user", content: [result("slx-f_2e_Read_3a_0_2", "2")] },
  ]);
});

Deno.test("chat request → messages: a choice among some tools, who asks, top_k, functions", () => {
  const body = {
    messages: [{ role: "user", content: "Hi" }],
    tools: ["A", "B"].map((name) => ({ type: "function", function: { name } })),
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "B" } }] },
    },
    top_k: 5,
    user: "u",
    safety_identifier: "hashed",
    seed: 1,
  };
  const asked = parseChat({ model: "m", ...body });
  const { body: sent, dropped } = chatToMessages.request(asked, SHAPING);
  assertEquals(dropped, ["seed", "user"]);
  assertEquals((sent.tools as JsonObject[]).map(({ name }) => name), ["B"]);
  assertEquals([sent.tool_choice, sent.top_k, sent.metadata], [{ type: "any" }, 5, {
    user_id: "hashed",
  }]);
  const flat = {
    ...body,
    tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "A" }] },
  };
  assertEquals((asMessages(flat).tools as JsonObject[]).map(({ name }) => name), ["A"]);
  const none = { ...body, tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } };
  assertEquals(assertThrows(() => asMessages(none), Refusal).param, "tool_choice");
  const other = { id: "c", type: "shell", shell: { name: "sh", input: "ls" } };
  const history = [{ role: "assistant", tool_calls: [other] }];
  assertStringIncludes(
    assertThrows(() => asMessages({ messages: history }), Refusal).message,
    "shell",
  );
  const long = parseChat({ model: "m", ...body, safety_identifier: "x".repeat(257) });
  assertEquals(chatToMessages.request(long, SHAPING).body.metadata, { user_id: "u" });
  const refusal = assertThrows(
    () => asMessages({ messages: body.messages, functions: [{ name: "A" }] }),
    Refusal,
  );
  assertEquals(refusal.param, "functions");
});

Deno.test("chat request → messages: an effort makes a model that verifies reason", () => {
  const asked = parseChat({
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    reasoning_effort: "low",
    temperature: 0.2,
  });
  const send = (signedReasoning: boolean) =>
    chatToMessages.request(asked, { ...SHAPING, shaping: { signedReasoning } });
  const verifies = send(true);
  assertEquals(
    [verifies.body.thinking, verifies.body.temperature, verifies.dropped],
    [{ type: "adaptive" }, undefined, ["temperature"]],
  );
  const other = send(false);
  assertEquals([other.body.thinking, other.body.temperature, other.dropped], [undefined, 0.2, []]);
  for (const { body } of [verifies, other]) assertEquals(body.output_config, { effort: "low" });
});

Deno.test("messages request → chat: top_k goes where it is known", () => {
  const asked = readMessages({ messages: [{ role: "user", content: "Hi" }], top_k: 5 });
  const known = messagesToChat.request(asked, { ...SHAPING, shaping: { topK: true } });
  assertEquals([known.body.top_k, known.dropped], [5, []]);
});

Deno.test("a messages body is carried to a messages upstream but for model, limit and temperature", () => {
  const body = {
    model: "svc-k3",
    max_tokens: 50_000,
    messages: [{
      role: "user",
      content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }],
    }],
    metadata: { user_id: "x" },
    context_management: { edits: [] },
    safeguards: [{}],
    unknown: { deep: [null, 1.5] },
  };
  const sent = messagesToMessages.request(readMessages(body), SHAPING).body;
  assertEquals<unknown>(sent, {
    ...body,
    model: "upstream-model",
    max_tokens: 1_000,
    temperature: 0.6,
  });
});

Deno.test("a messages body for an upstream that verifies: what others said is written as its own", () => {
  const history = (signature: string, id: string) => [
    { role: "user", content: "Hi" },
    {
      role: "assistant",
      content: [{ type: "thinking", thinking: "R", signature }, {
        type: "tool_use",
        id,
        name: "Bash",
        input: {},
      }],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "ok" }] },
  ];
  const send = (signature: string, id: string, signedReasoning: boolean) =>
    messagesToMessages.request(
      readMessages({ model: "m", max_tokens: 9, messages: history(signature, id) }),
      { ...SHAPING, shaping: { signedReasoning } },
    ).body.messages;
  assertEquals<unknown>(send("theirs", "toolu_1", true), history("theirs", "toolu_1"));
  assertEquals<unknown>(send("sluice.1", "slm-f_2e_Bash", false), history("sluice.1", "f.Bash"));
  const [, assistant, result] = history("theirs", "slx-f_2e_Bash_3a_0");
  assertEquals<unknown>(send("sluice.1", "f.Bash:0", true), [
    { role: "user", content: "Hi" },
    { ...assistant, content: assistant!.content.slice(1) },
    result,
  ]);
});

Deno.test("messages request → chat: only the line that names a bill is left out", () => {
  const bill = "x-anthropic-billing-header: cc_version=1";
  const sent = messagesToChat.request(
    readMessages({
      model: "m",
      max_tokens: 9,
      system: `${bill}\nBe brief.`,
      messages: [{ role: "user", content: "Hi" }, { role: "system", content: bill }],
    }),
    SHAPING,
  ).body;
  assertEquals<unknown>(sent.messages, [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
  ]);
});

Deno.test("a tool that runs on the server may have no name", () => {
  const tools = [{ type: "mcp_toolset", mcp_server_name: "x" }];
  const body = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
  assertEquals<unknown>(
    messagesToMessages.request(readMessages({ ...body, tools }), SHAPING).body.tools,
    tools,
  );
  assertThrows(() => readMessages({ ...body, tools: [{ description: "none" }] }), Refusal);
});

Deno.test("thinking that a lowered limit leaves no room for is named", () => {
  const asked = readMessages({
    messages: [{ role: "user", content: "Hi" }],
    thinking: { type: "enabled", budget_tokens: 2_000 },
  });
  const { body, dropped } = messagesToMessages.request(asked, SHAPING);
  assertEquals([body.thinking, dropped], [{ type: "disabled" }, ["thinking"]]);
});

Deno.test("sampling that an upstream or its thinking does not take is left out and named", () => {
  const fixed = { ...SHAPING, shaping: { fixedSampling: true } };
  const chat = { model: "m", messages: [{ role: "user", content: "Hi" }], temperature: 0.5 };
  const read = (body: JsonObject) => parseChat(body);
  assertEquals(chatToChat.request(read(chat), fixed).dropped, ["temperature"]);
  assertEquals(chatToMessages.request(read(chat), fixed).dropped, ["temperature"]);
  assertEquals(chatToMessages.request(read(chat), SHAPING).dropped, []);
  const thinking = { ...chat, thinking: { type: "enabled" } };
  assertEquals(chatToMessages.request(read(thinking), SHAPING).dropped, ["thinking"]);
  const roomy = { ...SHAPING, permittedOutput: 8_000 };
  assertEquals(chatToMessages.request(read(thinking), roomy).dropped, ["temperature"]);
  const messages = readMessages({ messages: chat.messages, temperature: 0.5, top_k: 3 });
  assertEquals(messagesToMessages.request(messages, fixed).dropped, ["temperature", "top_k"]);
});
