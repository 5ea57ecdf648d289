/** Calls and ends of chat upstreams, in all ways to read them. */

import fc from "fast-check";
import {
  bridgeBetween,
  countedUsage,
  type DialectName,
  DIALECTS,
  type JsonObject,
  ReportedError,
  SseDecoder,
  type SseEvent,
  wholeOfStream,
} from "../../../src/wire/dialects/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assertEquals, assertThrows } from "../../assert.ts";
import { hear } from "../../flow/heard.ts";
import { assertGrowsLinearly } from "../../growth.ts";
import {
  chatToChat,
  clientStream,
  contextOf,
  parseChat,
  parseMessages,
  parseResponses,
} from "./ends.ts";

const messages = [{ role: "user", content: "Hi" }];
const REQUESTS = {
  chat: parseChat({ model: "m", stream: true, messages, logprobs: true }),
  messages: parseMessages({ model: "m", stream: true, max_tokens: 100, messages }),
  responses: parseResponses({
    model: "m",
    stream: true,
    input: "Hi",
    include: ["message.output_text.logprobs"],
  }),
};
const USAGE = { prompt_tokens: 3, completion_tokens: 1 };

const event = (choice: JsonObject): SseEvent => ({
  event: "message",
  data: JSON.stringify({ choices: [{ index: 0, ...choice }] }),
});
const sse = (events: readonly SseEvent[]) =>
  events.map(({ data }) => `data: ${data}\n\n`).join("") +
  `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`;

async function heardStream(front: DialectName, text: string) {
  const sent = clientStream(
    bridgeBetween(front, "chat").stream(contextOf(REQUESTS[front])),
    text,
  );
  const headers = { "content-type": "text/event-stream" };
  return (await hear(front, new Response(sent, { headers })))[0];
}

function wholeBody(front: DialectName, text: string): JsonObject {
  const whole = wholeOfStream(front, "chat", contextOf(REQUESTS[front]));
  const decoder = new SseDecoder();
  for (const one of decoder.push(new TextEncoder().encode(text))) {
    if (!whole.done) whole.push(one);
  }
  return whole.reply().body;
}

const CALL = fc.record({ hasId: fc.boolean(), hasName: fc.boolean(), hasArgs: fc.boolean() });

Deno.test("calls without a name are left out, others end a reply with tool_calls, however it comes", async () => {
  await fc.assert(fc.asyncProperty(
    fc.array(CALL, { maxLength: 3 }),
    fc.constantFrom("stop", "tool_calls"),
    fc.constantFrom("one chunk", "the end by itself", "each by itself"),
    async (all, finish_reason, form) => {
      const calls = all.map(({ hasId, hasName, hasArgs }, index) => ({
        index,
        ...(hasId && { id: `c${index}` }),
        function: { ...(hasName && { name: `f${index}` }), arguments: hasArgs ? "{}" : "" },
      }));
      const first = { content: "Hi", ...(all.length > 0 && { tool_calls: calls }) };
      const end = { delta: {}, finish_reason };
      const chunks: JsonObject[] = form === "one chunk"
        ? [{ delta: first, finish_reason }]
        : form === "the end by itself"
        ? [{ delta: first }, end]
        : [
          { delta: { content: "Hi" } },
          ...calls.map((one) => ({ delta: { tool_calls: [one] } })),
          end,
        ];
      const text = sse(chunks.map(event));
      const named = all.flatMap(({ hasName }, index) => hasName ? [`f${index}{}`] : []);
      const message = { role: "assistant", ...first };
      const whole = { choices: [{ index: 0, message, finish_reason }], usage: USAGE };
      const carried = () => chatToChat.reply(whole, contextOf(REQUESTS.chat)).body;
      const heard = {
        streamed: await heardStream("chat", text),
        "stream as whole": (await hear("chat", Response.json(wholeBody("chat", text))))[0],
        whole: (await hear("chat", Response.json(carried())))[0],
      };
      for (const [how, { text, calls, finish }] of Object.entries(heard)) {
        const expected = named.length > 0 ? "tool_calls" : "stop";
        assertEquals([text, calls, finish], ["Hi", named, expected], how);
      }
      const { calls: translated, finish } = await heardStream("messages", text);
      assertEquals([translated, finish], [named, named.length > 0 ? "tool_use" : "end_turn"]);
    },
  ));
});

Deno.test("a whole message does not hold the call that the limit cut off before its arguments, however it comes", async () => {
  const calls = ["list", "drop"].map((name, index) => ({
    index,
    id: name,
    type: "function",
    function: { name, arguments: "" },
  }));
  const finish_reason = "length";
  const message = { role: "assistant", content: null, tool_calls: calls };
  const whole = { choices: [{ index: 0, message, finish_reason }], usage: USAGE };
  const own = bridgeBetween("messages", "chat").reply(whole, contextOf(REQUESTS.messages)).body;
  const streamed = wholeBody(
    "messages",
    sse([event({ delta: { tool_calls: calls } }), event({ delta: {}, finish_reason })]),
  );
  for (const body of [own, streamed]) {
    const [{ calls: heard, finish }] = await hear("messages", Response.json(body));
    assertEquals([heard, finish], [["list{}"], "max_tokens"]);
  }
});

Deno.test("calls of one id get different ones, and what is no call is left out", async () => {
  const call = (name: string) => ({
    id: "c",
    type: "function",
    function: { name, arguments: "{}" },
  });
  const calls = [call("f"), call("g")];
  const message = { role: "assistant", content: "", tool_calls: calls };
  const whole = { choices: [{ message, finish_reason: "tool_calls" }], usage: USAGE };
  const pieces = calls.map((one, index) =>
    event({ delta: { tool_calls: [{ index, ...one }, null] } })
  );
  const text = sse([
    ...pieces,
    event({ delta: { tool_calls: false } }),
    event({ delta: {}, finish_reason: "tool_calls" }),
  ]);
  const content = calls.map(({ function: { name } }) => ({ type: "tool_use", id: "c", name }));
  const ofMessages = { content, stop_reason: "tool_use", usage: { input_tokens: 1 } };
  const chatContext = contextOf(REQUESTS.chat);
  const bodies = [
    chatToChat.reply(whole, chatContext).body,
    wholeBody("chat", text),
    bridgeBetween("chat", "messages").reply(ofMessages, chatContext).withUsage(countedUsage(1, 1)),
  ];
  for (const { choices } of bodies) {
    const [{ message }] = choices as [{ message: { tool_calls: JsonObject[] } }];
    assertEquals(new Set(message.tool_calls.map(({ id }) => id)).size, 2);
  }
  assertEquals((await heardStream("chat", text)).calls, ["f{}", "g{}"]); // which asks for different ids
  const without = { choices: [{ finish_reason: "stop" }], usage: USAGE };
  for (const front of ["chat", "messages"] as const) {
    const bridge = bridgeBetween(front, "chat");
    assertThrows(() => bridge.reply(without, contextOf(REQUESTS[front])), Refusal);
  }
});

Deno.test("calls of a whole reply stay apart, although they are the same", async () => {
  const call = { type: "function", function: { name: "f", arguments: "" } };
  const message = { role: "assistant", content: null, tool_calls: [call, call] };
  const choice = { message, finish_reason: "stop" };
  for (const choices of [[choice], [choice, choice]]) {
    const expected = choices.flatMap(() => ["f{}", "f{}"]);
    const whole = bridgeBetween("messages", "chat")
      .reply({ choices, usage: USAGE }, contextOf(REQUESTS.messages)).body;
    const { calls } = (await hear("messages", Response.json(whole)))[0];
    assertEquals(calls, expected);
  }
  for (const front of ["chat", "messages", "responses"] as const) {
    const { calls } = await heardStream(front, sse([event(choice)]));
    assertEquals(calls, ["f{}", "f{}"], front);
  }
});

Deno.test("one answer in several choices is one for a client that asked for one, however it comes", async () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: '{"q":1}' } };
  const said: readonly JsonObject[] = [
    { role: "assistant", content: "Hi", refusal: null },
    { role: "assistant", content: null, tool_calls: [call] },
  ];
  for (
    const [indices, reasons] of [
      [[0, 1], ["tool_calls", "tool_calls"]],
      [[0, 0], ["stop", "tool_calls"]],
      [[1, 2], ["tool_calls", "stop"]],
      [[undefined, undefined], ["tool_calls", "tool_calls"]],
    ] as const
  ) {
    const place = (at: number) => indices[at] === undefined ? {} : { index: indices[at] };
    const choices = said.map((message, at) => ({
      ...place(at),
      message,
      finish_reason: reasons[at]!,
    }));
    const deltas = said.map((delta, at) => ({ ...place(at), delta }));
    const ends = said.map((_, at) => ({ ...place(at), delta: {}, finish_reason: reasons[at]! }));
    const all = { choices: deltas };
    const texts = [
      [...deltas.map((one) => ({ choices: [one] })), { choices: ends }],
      [all, { choices: [ends[1]!] }],
    ].map((chunks) => sse(chunks.map((one) => ({ event: "x", data: JSON.stringify(one) }))));
    const expected = { text: "Hi", calls: ['f{"q":1}'], finish: undefined };
    for (const front of ["chat", "messages", "responses"] as const) {
      const request = contextOf(REQUESTS[front]);
      const bodies = [
        bridgeBetween(front, "chat").reply({ choices, usage: USAGE }, request).body,
        ...texts.map((text) => wholeBody(front, text)),
      ];
      const heard = [
        ...await Promise.all(
          bodies.map(async (body) => (await hear(front, Response.json(body)))[0]),
        ),
        ...await Promise.all(texts.map((text) => heardStream(front, text))),
      ];
      const finish = { chat: "tool_calls", messages: "tool_use", responses: "completed" }[front];
      for (const { text, calls, finish: end } of heard) {
        assertEquals({ text, calls, finish: end }, { ...expected, finish }, front);
      }
    }
    const streamed = clientStream(chatToChat.stream(contextOf(REQUESTS.chat)), texts[1]!);
    for (const [, data] of streamed.matchAll(/^data: (\{.*)$/gm)) {
      const { choices = [] } = JSON.parse(data!);
      assertEquals(choices.map(({ index }: JsonObject) => index), choices.length === 0 ? [] : [0]);
    }
  }
});

Deno.test("one answer in several choices fails if one of them does, also without a message", () => {
  const message = { role: "assistant", content: "Hi" };
  for (
    const failed of [
      { message, finish_reason: "error" },
      { message, error: { code: 502, message: "Failed" } },
      { error: { code: 502, message: "Failed" } },
    ]
  ) {
    for (const others of [[], [{ message, finish_reason: "stop" }]]) {
      for (const front of ["chat", "messages", "responses"] as const) {
        const choices: JsonObject[] = structuredClone([...others, failed]);
        const reply = { choices, usage: USAGE };
        const read = () => bridgeBetween(front, "chat").reply(reply, contextOf(REQUESTS[front]));
        assertThrows(read, ReportedError);
      }
    }
  }
});

Deno.test("several choices that were asked for stay apart", () => {
  const request = parseChat({ model: "m", n: 2, messages });
  const choices = ["a", "b"].map((content, index) => ({
    index,
    message: { role: "assistant", content },
    finish_reason: "stop",
  }));
  const { body } = chatToChat.reply({ choices, usage: USAGE }, contextOf(request));
  assertEquals((body.choices as JsonObject[]).map(({ index }) => index), [0, 1]);
});

Deno.test("reasoning and text are heard under every name and in every part, whole and streamed, and a whole reply ends (property)", async () => {
  const REASONING: readonly ((text: string) => JsonObject)[] = [
    (text) => ({ reasoning_content: text }),
    (text) => ({ reasoning: text }),
    (text) => ({ reasoning_text: text, reasoning_opaque: "x" }),
    (text) => ({ thinking: text }),
    (text) => ({ reasoning: text, reasoning_content: text }),
  ];
  const TEXT: readonly ((text: string) => JsonObject)[] = [
    (text) => ({ content: text }),
    ...["text", "output_text"].map((type) => (text: string) => ({ content: [{ type, text }] })),
    (text) => ({ content: [{ type: "text", text }, { type: "reference", reference_ids: [1] }] }),
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...REASONING),
      fc.constantFrom(...TEXT),
      fc.constantFrom("chat", "messages", "responses"),
      fc.constantFrom<JsonObject>({ finish_reason: null }, { finish_reason: "" }, {}),
      async (reasoning, content, front, end) => {
        const said = { ...reasoning("think"), ...content("word") };
        const choice = { message: { role: "assistant", ...said }, ...end };
        const whole = bridgeBetween(front, "chat").reply(
          { choices: [{ index: 0, ...choice }], usage: USAGE },
          contextOf(REQUESTS[front]),
        );
        const [heard] = await hear(front, Response.json(whole.body));
        const streamed = await heardStream(
          front,
          sse([event({ delta: said }), event({ delta: {}, finish_reason: "stop" })]),
        );
        for (const one of [heard, streamed]) {
          assertEquals([one.reasoning, one.text], ["think", "word"]);
          assertEquals(
            one.finish,
            { chat: "stop", messages: "end_turn", responses: "completed" }[front],
          );
        }
      },
    ),
  );
});

Deno.test("a stream as a whole reply has reasoning_details whole, and not in pieces", () => {
  const pieces = [{ text: "Let " }, { text: "me" }, { signature: "c2ln" }].map((more) =>
    event({ delta: { reasoning_details: [{ type: "reasoning.text", index: 0, ...more }] } })
  );
  const end = event({ delta: { content: "Hi" }, finish_reason: "stop" });
  const [choice] = wholeBody("chat", sse([...pieces, end])).choices as JsonObject[];
  assertEquals((choice!.message as JsonObject).reasoning_details, [
    { type: "reasoning.text", index: 0, text: "Let me", signature: "c2ln" },
  ]);
});

/** Events that each add one more of something that is kept until the end, and who reads them. */
const GROWING: Readonly<Record<string, readonly [DialectName, (at: number) => SseEvent]>> = {
  "fields of chunks": ["chat", (at) => ({
    event: "message",
    data: JSON.stringify({ [`f${at}`]: at, choices: [] }),
  })],
  "calls": ["chat", (at) => {
    const call = { index: at, id: `c${at}`, function: { name: "f", arguments: "{}" } };
    return event({ delta: { tool_calls: [call] } });
  }],
  "reasoning_details": ["messages", (at) => {
    const detail = { type: "reasoning.text", index: at, text: "x" };
    return event({ delta: { reasoning_details: [detail] } });
  }],
  "log probabilities": ["responses", () => {
    const content = [{ token: "x", logprob: 0 }];
    return event({ delta: { content: "x" }, logprobs: { content } });
  }],
};

Deno.test("putting a long stream together is linear work", async (t) => {
  for (const [what, [front, eventAt]] of Object.entries(GROWING)) {
    await t.step(what, () =>
      assertGrowsLinearly(24_000, (size) => {
        const whole = wholeOfStream(front, "chat", contextOf(REQUESTS[front]));
        const events = Array.from({ length: size }, (_, at) => eventAt(at));
        return () => events.forEach((one) => whole.push(one));
      }));
  }
});

Deno.test("a reply may hold more of anything than a function takes arguments", () => {
  const many = <One>(one: One) => Array.from({ length: 150_000 }, () => one);
  const annotations = many({ url_citation: { url: "https://a.example" } });
  const message = { content: "x", annotations };
  const whole = { choices: [{ message, finish_reason: "stop" }], usage: USAGE };
  const { events } = DIALECTS.chat.back.readReply(whole, {});
  assertEquals(events.length, annotations.length + 2);
  const content = many({ token: "x", logprob: 0 });
  const body = wholeBody(
    "responses",
    sse([
      event({ delta: { content: "x" }, logprobs: { content }, finish_reason: "stop" }),
    ]),
  );
  const [item] = body.output as JsonObject[];
  const [part] = item!.content as JsonObject[];
  assertEquals((part!.logprobs as JsonObject[]).length, content.length);
});
