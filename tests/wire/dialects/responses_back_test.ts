/** Clients of other dialects towards upstreams of the responses dialect. */

import fc from "fast-check";
import {
  type Bridge,
  DIALECTS,
  type JsonObject,
  type ParsedRequest,
} from "../../../src/wire/dialects/mod.ts";
import type { Conversation, Turn } from "../../../src/wire/dialects/neutral/conversation.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import {
  chatToResponses,
  clientStream,
  contextOf,
  messagesToResponses,
  parseChat,
  parseMessages,
} from "./ends.ts";
import { checkChatStream, checkMessagesStream, type Rebuilt } from "./legal_streams.ts";
import { eventsFor, linesOf, responseOf, type Said } from "./responses_streams.ts";

const OPTIONS = { model: "theirs", upstream: "up", permittedOutput: 500, shaping: {} };
const user = { role: "user", content: "Hi" };

Deno.test("a chat request for a responses upstream: every field in its place", () => {
  const { body, dropped } = chatToResponses.request(
    parseChat({
      model: "m",
      stream: true,
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
            {
              type: "file",
              file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AA" },
            },
          ],
        },
        {
          role: "assistant",
          content: "I read.",
          reasoning_content: "Hm.",
          tool_calls: [{
            id: "functions.Read:0",
            type: "function",
            function: { name: "Read", arguments: "{}" },
          }],
        },
        { role: "tool", tool_call_id: "functions.Read:0", content: "text" },
        { role: "developer", content: "Now in French." },
        user,
      ],
      tools: [{ type: "function", function: { name: "Read", parameters: { type: "object" } } }],
      tool_choice: { type: "function", function: { name: "Read" } },
      parallel_tool_calls: false,
      temperature: 0.2,
      stop: ["END"],
      user: "u1",
      reasoning_effort: "high",
      response_format: {
        type: "json_schema",
        json_schema: { name: "x", schema: { type: "object" } },
      },
    }),
    OPTIONS,
  );
  assertEquals(dropped, ["stop"]);
  const { input, ...rest } = body;
  const items = input as JsonObject[];
  assertEquals(items, [
    {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text: "Look" },
        { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" },
        { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AA" },
      ],
    },
    {
      type: "reasoning",
      id: items[1]!.id!,
      summary: [],
      content: [{ type: "reasoning_text", text: "Hm." }],
    },
    { type: "message", role: "assistant", content: "I read." },
    { type: "function_call", call_id: "functions.Read:0", name: "Read", arguments: "{}" },
    { type: "function_call_output", call_id: "functions.Read:0", output: "text" },
    { type: "message", role: "developer", content: "Now in French." },
    { type: "message", role: "user", content: "Hi" },
  ]);
  assertEquals<unknown>(rest, {
    model: "theirs",
    instructions: "Be brief.",
    max_output_tokens: 500,
    tools: [{ type: "function", name: "Read", parameters: { type: "object" }, strict: false }],
    tool_choice: { type: "function", name: "Read" },
    parallel_tool_calls: false,
    temperature: 0.2,
    top_p: 1,
    user: "u1",
    text: {
      format: { type: "json_schema", name: "x", schema: { type: "object" } },
    },
    reasoning: { effort: "high", summary: "auto" },
    include: ["reasoning.encrypted_content"],
    store: false,
    stream: true,
  });
});

Deno.test("a request for a responses upstream, as its shaping asks", () => {
  const write = (body: JsonObject, shaping: JsonObject) =>
    chatToResponses.request(parseChat({ model: "m", messages: [user], ...body }), {
      ...OPTIONS,
      shaping,
    });
  assertEquals(write({ temperature: 0 }, { fixedSampling: true }).dropped, ["temperature"]);
  assertEquals(write({}, { ownSampling: true }).body.temperature, undefined);
  assertEquals(write({ top_k: 4 }, {}).dropped, ["top_k"]);
  assertEquals(write({ top_k: 4 }, { topK: true }).body.top_k, 4);
  assertEquals(write({ reasoning_effort: "none" }, {}).body.reasoning, { effort: "none" });
  assertEquals(write({ reasoning_effort: "none" }, {}).body.include, undefined);
  const reasoned = {
    messages: [user, { role: "assistant", content: "A", reasoning_content: "R" }, user],
  };
  const signed = write(reasoned, { signedReasoning: true });
  assertEquals([JSON.stringify(signed.body).includes('"R"'), signed.dropped], [false, [
    "messages.reasoning_content",
  ]]);
  const only = write({ messages: [{ role: "system", content: "Say hi." }] }, {});
  assertEquals<unknown>(only.body.input, [{
    type: "message",
    role: "developer",
    content: "Say hi.",
  }]);
  const { body, dropped } = messagesToResponses.request(
    parseMessages({
      model: "m",
      max_tokens: 9,
      messages: [user],
      stop_sequences: ["x"],
      tools: [{ name: `n${"x".repeat(80)}`, input_schema: { type: "object" } }],
    }),
    OPTIONS,
  );
  assertEquals([dropped, String((body.tools as JsonObject[])[0]!.name).length], [
    ["stop_sequences"],
    64,
  ]);
});

Deno.test("ids of calls are short and unique in the whole input, results keep to their calls (property)", () => {
  const id = fc.oneof(fc.string({ minLength: 1, maxLength: 90 }), fc.constantFrom("a", "a_2", "b"));
  fc.assert(
    fc.property(
      fc.array(fc.array(id, { minLength: 1, maxLength: 3 }), { maxLength: 4 }),
      (turns) => {
        const messages = turns.flatMap((ids) => [
          {
            role: "assistant",
            tool_calls: ids.map((id) => ({
              id,
              type: "function",
              function: { name: "f", arguments: "{}" },
            })),
          },
          ...ids.map((id, at) => ({ role: "tool", tool_call_id: id, content: `${at}` })),
        ]);
        const { body } = chatToResponses.request(
          parseChat({ model: "m", messages: [user, ...messages] }),
          OPTIONS,
        );
        const items = body.input as JsonObject[];
        const calls = items.filter(({ type }) => type === "function_call").map(({ call_id }) =>
          call_id
        );
        const results = items.filter(({ type }) => type === "function_call_output");
        assertEquals(new Set(calls).size, calls.length);
        assertEquals(results.map(({ call_id }) => call_id), calls);
        for (const one of calls) assert(String(one).length <= 64 && one !== "");
      },
    ),
  );
});

const HELLO: readonly Said[] = [
  { reasoning: ["Let me ", "think."], sealed: "gAAAA-enc_1" },
  { text: ["Hel", "lo"] },
  { name: "read", args: ['{"p"', ":1}"] },
  { name: "patch", args: ["*** Be", 'gin "x"\n'], custom: true },
];
const BLOCKS = [
  ["thinking", "", "Let me think."],
  ["text", "", "Hello"],
  ["tool_use", "read", '{"p":1}'],
  ["tool_use", "patch", '{"input":"*** Begin \\"x\\"\\n"}'],
];
const ASKED: Readonly<Record<"chat" | "messages", ParsedRequest>> = {
  chat: parseChat({ model: "m", messages: [user] }),
  messages: parseMessages({ model: "m", messages: [user], max_tokens: 9 }),
};
const CLIENTS: readonly [
  "chat" | "messages",
  Bridge,
  (text: string) => Rebuilt,
][] = [
  ["chat", chatToResponses, checkChatStream],
  ["messages", messagesToResponses, checkMessagesStream],
];

function translated(client: "chat" | "messages", bridge: Bridge, text: string): string {
  return clientStream(
    bridge.stream(contextOf(ASKED[client])),
    text,
    (refusal) => DIALECTS[client].front.errorEvent(refusal, "req_1"),
  );
}

const plain = ({ blocks }: Rebuilt) =>
  blocks.map(({ type, text, name }) => [type, name ?? "", text]);

const OMISSIONS: Readonly<Record<string, (events: JsonObject[]) => JsonObject[]>> = {
  "nothing": (events) => events,
  "deltas": (events) => events.filter(({ type }) => !/\.delta$/.test(String(type))),
  "ends": (events) => events.filter(({ type }) => !/[a-z]\.done$/.test(String(type))),
  "parts": (events) => events.filter(({ type }) => !/part\.(added|done)$/.test(String(type))),
  "beginnings of items": (events) => events.filter(({ type }) => !/item\.added/.test(String(type))),
  "all but the whole response": (events) => events.slice(-1),
  "all but whole items": (events) =>
    events.filter(({ type }) => /item\.done|completed/.test(String(type))),
  "ids": (events) => events.map(({ item_id: _, ...event }) => event),
  "places": (events) => events.map(({ output_index: _, ...event }) => event),
  "the output at the end": (events) =>
    events.map((event) =>
      event.type === "response.completed"
        ? { ...event, response: { ...event.response as JsonObject, output: null } }
        : event
    ),
  "one id for each item": (events) =>
    events.map((event, at) => ({
      ...event,
      ...(event.item_id === undefined ? {} : { item_id: `other_${at}` }),
      ...(event.item === undefined
        ? {}
        : { item: { ...event.item as JsonObject, id: `other_${at}` } }),
    })),
};

for (const [client, bridge, check] of CLIENTS) {
  for (const [name, change] of Object.entries(OMISSIONS)) {
    Deno.test(`responses stream → ${client} stream, of an upstream that leaves out: ${name}`, () => {
      const text = translated(client, bridge, linesOf(change(eventsFor(HELLO))));
      assertEquals(plain(check(text)), BLOCKS);
    });
  }

  Deno.test(`a whole response → ${client}: the same as its stream`, () => {
    const reply = bridge.reply(responseOf(HELLO), contextOf(ASKED[client]));
    assertEquals(reply.usage, {
      inputTokens: 100,
      cachedTokens: 60,
      cacheWrittenTokens: 0,
      outputTokens: 20,
      reasoningTokens: 8,
    });
    const json = JSON.stringify(reply.body);
    for (const said of ["Let me think.", "Hello", "read", "patch", "Begin"]) {
      assert(json.includes(said), said);
    }
  });

  const FINISHES: readonly [string, readonly Said[], JsonObject, string, string][] = [
    ["stop", [{ text: ["A"] }], {}, "stop", "end_turn"],
    ["calls", [{ name: "f", args: ["{}"] }], {}, "tool_calls", "tool_use"],
    [
      "the token limit",
      [{ text: ["A"] }],
      {
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
      },
      "length",
      "max_tokens",
    ],
    [
      "a filter",
      [{ text: ["A"] }],
      {
        status: "incomplete",
        incomplete_details: { reason: "content_filter" },
      },
      "content_filter",
      "refusal",
    ],
    ["a refusal", [{ refusal: ["No."] }], {}, "stop", "refusal"],
  ];
  for (const [why, said, more, chat, messages] of FINISHES) {
    Deno.test(`responses → ${client}: ends by ${why}, streamed and whole`, () => {
      const expected = client === "chat" ? chat : messages;
      const text = translated(client, bridge, linesOf(eventsFor(said, more)));
      assertEquals(check(text).stopReason, expected);
      const { body } = bridge.reply(responseOf(said, more), contextOf(ASKED[client]));
      const [choice] = (body.choices ?? [{}]) as JsonObject[];
      assertEquals(choice!.finish_reason ?? body.stop_reason, expected);
    });
  }

  Deno.test(`responses → ${client}: a stream that fails or breaks off ends in an error (property)`, () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.constantFrom(
          "",
          "data: nonsense\n\n",
          "data: [DONE]\n\n",
          "data: {}\n\n",
          "data: []\n\n",
          'data: {"type":"error","code":"server_error","message":"x"}\n\n',
          'data: {"type":"response.failed","response":{"error":{"code":"server_error"}}}\n\n',
          'data: {"type":"response.completed","response":{"status":"cancelled"}}\n\n',
          'data: {"type":"response.output_item.added","item":1}\n\n',
        ),
        (at, tail) => {
          const events = eventsFor(HELLO);
          const text = linesOf(events.slice(0, at % (events.length - 1))) + tail;
          assert(check(translated(client, bridge, text)).failed);
        },
      ),
    );
  });

  Deno.test(`responses → ${client}: any events in any order give a legal stream (property)`, () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat()), (random) => {
        const events = eventsFor(HELLO);
        const shuffled = events.slice(0, -1).map((event) => ({ event, at: random.next().value! }))
          .toSorted((a, b) => a.at - b.at).map(({ event }) => event);
        check(translated(client, bridge, linesOf([...shuffled, events.at(-1)!])));
      }),
      { numRuns: 200 },
    );
  });
}

Deno.test("what an upstream reports keeps its meaning", () => {
  const reason = (error: JsonObject) => {
    try {
      chatToResponses.stream(contextOf(ASKED.chat)).push({
        event: "",
        data: JSON.stringify({ type: "response.failed", response: { status: "failed", error } }),
      });
    } catch (error) {
      if (error instanceof Refusal) return error.reason;
    }
    return undefined;
  };
  assertEquals(reason({ code: "rate_limit_exceeded", message: "x" }), "rate_exceeded");
  assertEquals(reason({ code: "context_length_exceeded", message: "x" }), "context_exceeded");
  assertEquals(reason({ code: "server_error", message: "x" }), "upstream_unavailable");
  for (
    const body of [{}, [], null, { output: 1 }, { status: "in_progress", output: [] }, {
      error: { message: "x" },
    }]
  ) {
    assertThrows(() => chatToResponses.reply(body, contextOf(ASKED.chat)), Refusal);
  }
});

Deno.test("of reasoning in two forms one is read, and summaries are paragraphs", () => {
  const item = {
    id: "rs_0",
    type: "reasoning",
    content: [{ type: "reasoning_text", text: "raw" }],
    summary: [{ type: "summary_text", text: "one" }, { type: "summary_text", text: "two" }],
  };
  const message = (output: JsonObject[]) => {
    const { body } = chatToResponses.reply(
      { ...responseOf([]), output },
      contextOf(ASKED.chat),
    );
    return (body.choices as JsonObject[])[0]!.message as JsonObject;
  };
  assertEquals(message([item]).reasoning_content, "raw");
  assertEquals(message([{ ...item, content: [] }]).reasoning_content, "one\n\ntwo");
  const said = responseOf([{ text: ["First."] }, { text: ["Then."] }]).output as JsonObject[];
  assertEquals(message(said).content, "First.\n\nThen.");
});

/** A turn whose reasoning the upstream of a model sealed. */
function sealedTurn(model: string, pieces: readonly { text: string; seal: string }[]): Turn {
  return {
    role: "assistant",
    reasoning: pieces.map(({ text }) => text).join(""),
    sealed: pieces.map((piece) => ({ ...piece, upstream: "up", model })),
    text: "A",
    calls: [],
  };
}

function conversation(turns: readonly Turn[]): Conversation {
  const { front } = DIALECTS.chat;
  return { ...front.toConversation(ASKED.chat), turns };
}

Deno.test("blocks of reasoning come back to a messages upstream as it signed them", () => {
  const blocks = [
    { type: "thinking", thinking: "Let me think.", signature: "c2lnbmF0dXJl" },
    { type: "redacted_thinking", data: "cmVkYWN0ZWQ=" },
    { type: "thinking", thinking: "", signature: "b25seSBzaWduZWQ=" },
  ];
  const { back, front: { fields } } = DIALECTS.messages;
  const { events } = back.readReply({ content: [...blocks, { type: "text", text: "A" }] }, {});
  const streamed = back.reader({});
  const lines: JsonObject[] = blocks.flatMap((block, index): JsonObject[] => [
    {
      type: "content_block_start",
      index,
      content_block: block.type === "thinking" ? { ...block, thinking: "", signature: "" } : block,
    },
    ...(block.thinking
      ? [{
        type: "content_block_delta",
        index,
        delta: { type: "thinking_delta", thinking: block.thinking },
      }]
      : []),
    ...(block.signature
      ? [{
        type: "content_block_delta",
        index,
        delta: { type: "signature_delta", signature: block.signature },
      }]
      : []),
    { type: "content_block_stop", index },
  ]);
  assertEquals(
    lines.flatMap((line) => streamed.read(JSON.stringify(line))),
    events.filter(({ type }) => type === "reasoning" || type === "seal"),
  );
  const pieces: { text: string; seal: string }[] = [];
  let text = "";
  for (const event of events) {
    if (event.type === "reasoning") text += event.text;
    if (event.type !== "seal") continue;
    pieces.push({ text, seal: event.seal });
    text = "";
  }
  for (const shaping of [{}, { signedReasoning: true }]) {
    const options = { ...OPTIONS, stream: false, fields, shaping };
    const content = (model: string) => {
      const { body, dropped } = back.write(
        conversation([
          { role: "user", parts: [{ type: "text", text: "Hi" }] },
          sealedTurn(model, pieces),
        ]),
        options,
      );
      const [, assistant] = body.messages as JsonObject[];
      return [(assistant!.content as JsonObject[]).slice(0, -1), dropped];
    };
    assertEquals(content("theirs"), [blocks, []]);
    const [others] = content("another");
    assert(
      !JSON.stringify(others).includes("c2lnbmF0dXJl"),
      "signatures are for the model that signed",
    );
  }
});

Deno.test("reasoning comes back to a responses upstream as it encrypted it", () => {
  const { back, front: { fields } } = DIALECTS.responses;
  const { events } = back.readReply(responseOf(HELLO), {});
  assertEquals(events.filter(({ type }) => type === "seal"), [{
    type: "seal",
    seal: "gAAAA-enc_1",
  }]);
  const turn = sealedTurn("theirs", [{ text: "Let me think.", seal: "gAAAA-enc_1" }]);
  const options = { ...OPTIONS, stream: false, fields, shaping: { signedReasoning: true } };
  const { body, dropped } = back.write(conversation([turn]), options);
  assertEquals<unknown>([(body.input as JsonObject[])[0], dropped], [{
    type: "reasoning",
    summary: [{ type: "summary_text", text: "Let me think." }],
    encrypted_content: "gAAAA-enc_1",
  }, []]);
  const other = back.write(conversation([turn]), { ...options, model: "another" });
  assertEquals(other.dropped, ["input.reasoning"]);
});
