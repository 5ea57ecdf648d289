/** Fields of a responses request: what becomes of each, and what is rejected with which remedy. */

import { DIALECTS, type JsonObject, replaceImages } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { parseJson } from "../../../src/wire/json/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { parseCompact, parseResponses, responsesToChat, responsesToMessages } from "./ends.ts";

const OPTIONS = { model: "up-m", upstream: "up", permittedOutput: 500, shaping: {} };
const HI = { model: "m", input: "Hi" };

const call = (more: JsonObject = {}): JsonObject => ({
  type: "function_call",
  call_id: "c1",
  name: "f",
  arguments: "{}",
  ...more,
});
const tool = (name: string, more: JsonObject = {}): JsonObject => ({
  type: "function",
  name,
  parameters: { type: "object", properties: {} },
  ...more,
});

const toChat = (body: JsonObject) =>
  responsesToChat.request(parseResponses({ ...HI, ...body }), OPTIONS);
const toMessages = (body: JsonObject) =>
  responsesToMessages.request(parseResponses({ ...HI, ...body }), OPTIONS);

/** Fields that say something to the model, and how both dialects say it. */
const TRANSLATED: readonly {
  name: string;
  body: JsonObject;
  chat: JsonObject;
  messages: JsonObject;
}[] = [
  {
    name: "input as a text",
    body: {},
    chat: { messages: [{ role: "user", content: "Hi" }] },
    messages: { messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] },
  },
  {
    name: "instructions, before leading instructions of the input",
    body: {
      instructions: "Be brief.",
      input: [
        { role: "system", content: "Be kind." },
        { role: "developer", content: [{ type: "input_text", text: "Be exact." }] },
        { role: "user", content: "Hi" },
      ],
    },
    chat: {
      messages: [
        { role: "system", content: "Be brief.\n\nBe kind.\n\nBe exact." },
        { role: "user", content: "Hi" },
      ],
    },
    messages: { system: "Be brief.\n\nBe kind.\n\nBe exact." },
  },
  {
    name: "temperature and top_p",
    body: { temperature: 0, top_p: 0.5 },
    chat: { temperature: 0, top_p: 0.5 },
    messages: { temperature: 0, top_p: 0.5 },
  },
  {
    name: "tools and a choice among them",
    body: { tools: [tool("f", { description: "d", strict: true })], tool_choice: "required" },
    chat: {
      tools: [{
        type: "function",
        function: {
          name: "f",
          description: "d",
          parameters: { type: "object", properties: {} },
          strict: true,
        },
      }],
      tool_choice: "required",
    },
    messages: { tool_choice: { type: "any" } },
  },
  {
    name: "a named tool",
    body: { tools: [tool("f"), tool("g")], tool_choice: { type: "function", name: "g" } },
    chat: { tool_choice: { type: "function", function: { name: "g" } } },
    messages: { tool_choice: { type: "tool", name: "g" } },
  },
  {
    name: "parallel_tool_calls",
    body: { tools: [tool("f")], parallel_tool_calls: false },
    chat: { parallel_tool_calls: false },
    messages: { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
  },
  {
    name: "text.format json_schema",
    body: {
      text: {
        format: { type: "json_schema", name: "n", strict: true, schema: { type: "object" } },
      },
    },
    chat: {
      response_format: {
        type: "json_schema",
        json_schema: { name: "n", strict: true, schema: { type: "object" } },
      },
    },
    messages: {
      output_config: { format: { type: "json_schema", schema: { type: "object" } } },
    },
  },
  {
    name: "text.format json_object",
    body: { text: { format: { type: "json_object" } } },
    chat: {
      messages: [{ role: "user", content: "Hi" }],
      response_format: { type: "json_object" },
    },
    messages: { system: "Answer with a single JSON object and nothing else." },
  },
  {
    name: "safety_identifier",
    body: { safety_identifier: "u1", user: "u2" },
    chat: { user: "u2", safety_identifier: "u1" },
    messages: { metadata: { user_id: "u1" } },
  },
];

for (const { name, body, chat, messages } of TRANSLATED) {
  Deno.test(`responses: ${name} is translated`, () => {
    const written = { chat: toChat(body).body, messages: toMessages(body).body };
    for (const [key, value] of Object.entries(chat)) assertEquals(written.chat[key], value, key);
    for (const [key, value] of Object.entries(messages)) {
      assertEquals(written.messages[key], value, key);
    }
  });
}

/** Fields that are accepted, and the names under which they are dropped. */
const ACCEPTED: readonly { body: JsonObject; dropped: readonly string[] }[] = [
  { body: { store: true }, dropped: [] },
  { body: { store: false }, dropped: [] },
  { body: { background: false, previous_response_id: null, conversation: null }, dropped: [] },
  { body: { truncation: "disabled" }, dropped: [] },
  { body: { truncation: "auto" }, dropped: ["truncation"] },
  { body: { max_tool_calls: 3 }, dropped: [] },
  { body: { metadata: { a: "b" } }, dropped: [] },
  { body: { prompt_cache_key: "k" }, dropped: [] },
  { body: { prompt_cache_retention: "24h" }, dropped: ["prompt_cache_retention"] },
  { body: { prompt_cache_options: { a: 1 } }, dropped: ["prompt_cache_options"] },
  { body: { client_metadata: { session_id: "s" } }, dropped: ["client_metadata"] },
  { body: { access_programs: { a: 1 } }, dropped: ["access_programs"] },
  { body: { moderation: { a: 1 } }, dropped: ["moderation"] },
  { body: { context_management: [{ type: "compaction" }] }, dropped: ["context_management"] },
  { body: { invented_tomorrow: { a: 1 } }, dropped: ["invented_tomorrow"] },
  { body: { user: "u".repeat(257) }, dropped: ["user"] },
  { body: { stream_options: { include_obfuscation: false } }, dropped: [] },
  {
    body: { stream_options: { reasoning_summary_delivery: "x" } },
    dropped: ["stream_options.reasoning_summary_delivery"],
  },
  { body: { include: ["reasoning.encrypted_content"] }, dropped: [] },
  {
    body: { include: ["file_search_call.results"] },
    dropped: ["include.file_search_call.results"],
  },
  { body: { text: { format: { type: "text" }, verbosity: null } }, dropped: [] },
  { body: { tool_choice: "auto", tools: [] }, dropped: [] },
  { body: { tool_choice: "required" }, dropped: ["tool_choice"] },
  { body: { reasoning: { summary: "auto", mode: "m" } }, dropped: ["reasoning.mode"] },
];

for (const { body, dropped } of ACCEPTED) {
  Deno.test(`responses: ${JSON.stringify(body).slice(0, 80)} drops ${dropped.join() || "nothing"}`, () => {
    assertEquals(toChat(body).dropped, dropped);
    assertEquals(toMessages(body).dropped, dropped);
  });
}

Deno.test("responses: null is the same as a field that is left out", () => {
  const fields = [
    ...["instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text"],
    ...["max_output_tokens", "temperature", "top_p", "top_logprobs", "stream", "stream_options"],
    ...["include", "store", "previous_response_id", "conversation", "prompt", "background"],
    ...["truncation", "max_tool_calls", "metadata", "user", "safety_identifier", "service_tier"],
    ...["prompt_cache_key", "prompt_cache_retention", "client_metadata"],
  ];
  const nulls = Object.fromEntries(fields.map((field) => [field, null]));
  assertEquals(toChat(nulls), toChat({}));
  assertEquals(toMessages(nulls), toMessages({}));
});

/** Requests that are rejected, with the field that is named and words of the message. */
const REJECTED: readonly { body: JsonObject; param: string; says: string }[] = [
  { body: { background: true }, param: "background", says: "set stream to true" },
  {
    body: { previous_response_id: "resp_1" },
    param: "previous_response_id",
    says: "Send the whole conversation as input",
  },
  { body: { conversation: "conv_1" }, param: "conversation", says: "whole conversation as input" },
  { body: { conversation: { id: "c" } }, param: "conversation", says: "whole conversation" },
  { body: { prompt: { id: "pmpt_1" } }, param: "prompt", says: "as instructions or input" },
  { body: { model: null }, param: "model", says: "must be a string" },
  { body: { model: "" }, param: "model", says: "must not be empty" },
  { body: { input: null }, param: "input", says: "must be a string or an array" },
  { body: { input: "" }, param: "input", says: "must not be empty" },
  { body: { input: [] }, param: "input", says: "must not be empty" },
  { body: { input: ["Hi"] }, param: "input[0]", says: "must be an object" },
  { body: { input: [{}] }, param: "input[0].type", says: "is required" },
  { body: { max_output_tokens: 0 }, param: "max_output_tokens", says: "at least 1" },
  { body: { max_output_tokens: 1.5 }, param: "max_output_tokens", says: "whole number" },
  { body: { temperature: 2.1 }, param: "temperature", says: "at most 2" },
  { body: { top_p: -1 }, param: "top_p", says: "at least 0" },
  { body: { stream: "yes" }, param: "stream", says: "must be a boolean" },
  { body: { store: "yes" }, param: "store", says: "must be a boolean" },
  { body: { tools: {} }, param: "tools", says: "must be an array" },
  { body: { tools: [{ type: "function" }] }, param: "tools[0].name", says: "is required" },
  { body: { tools: [{ type: "custom" }] }, param: "tools[0].name", says: "is required" },
  {
    body: { tools: [{ type: "namespace", name: "n", tools: [{ type: "function" }] }] },
    param: "tools[0].tools[0].name",
    says: "is required",
  },
  {
    body: { tools: [tool("f")], tool_choice: { type: "function", name: "g" } },
    param: "tool_choice",
    says: "'g', which is not in tools",
  },
  {
    body: { tools: [tool("f")], tool_choice: { type: "custom", name: "f" } },
    param: "tool_choice",
    says: "not in tools",
  },
  { body: { tool_choice: { type: "function" } }, param: "tool_choice.name", says: "required" },
  { body: { tool_choice: "sometimes" }, param: "tool_choice", says: "" },
  {
    body: { text: { format: { type: "yaml" } } },
    param: "text.format.type",
    says: 'must be "text", "json_object" or "json_schema"',
  },
  {
    body: { text: { format: { type: "json_schema", name: "n" } } },
    param: "text.format.schema",
    says: "is required",
  },
  {
    body: { input: [{ type: "message", role: "tool", content: "x" }] },
    param: "input[0].role",
    says: 'must be "user", "assistant", "system" or "developer"',
  },
  { body: { input: [{ role: "user" }] }, param: "input[0].content", says: "got nothing" },
  {
    body: { input: [{ role: "user", content: [{ type: "input_text" }] }] },
    param: "input[0].content[0].text",
    says: "is required",
  },
  {
    body: { input: [{ role: "user", content: [{ type: "input_image" }] }] },
    param: "input[0].content[0].image_url",
    says: "is required",
  },
  {
    body: {
      input: [{ role: "user", content: [{ type: "input_image", image_url: { url: "x" } }] }],
    },
    param: "input[0].content[0].image_url",
    says: "must be a string",
  },
  {
    body: { input: [{ role: "user", content: [{ type: "input_image", file_id: "file_1" }] }] },
    param: "input[0].content[0].file_id",
    says: "Send the image as image_url",
  },
  {
    body: { input: [{ role: "user", content: [{ type: "input_file", file_id: "file_1" }] }] },
    param: "input[0].content[0].file_id",
    says: "Send the file as file_data",
  },
  {
    body: { input: [{ role: "user", content: [{ type: "input_file", filename: "a.pdf" }] }] },
    param: "input[0].content[0].file_data",
    says: "is required",
  },
  {
    body: {
      input: [call(), {
        type: "function_call_output",
        call_id: "c1",
        output: [{ type: "input_file", file_id: "file_1" }],
      }],
    },
    param: "input[1].output[0].file_id",
    says: "file_data",
  },
  {
    body: { input: [call({ call_id: "" })] },
    param: "input[0].call_id",
    says: "must not be empty",
  },
  { body: { input: [call({ arguments: {} })] }, param: "input[0].arguments", says: "a string" },
  { body: { input: [call({ name: "" })] }, param: "input[0].name", says: "must not be empty" },
  {
    body: { input: [{ type: "function_call_output", call_id: "c1", output: "x" }] },
    param: "input[0].call_id",
    says: "no call 'c1' comes before it",
  },
  {
    body: { input: [call(), { type: "function_call_output", call_id: "c2", output: "x" }] },
    param: "input[1].call_id",
    says: "no call 'c2'",
  },
  {
    body: { input: [{ type: "function_call_output", call_id: "c1", output: "x" }, call()] },
    param: "input[0].call_id",
    says: "comes before it",
  },
  {
    body: { input: [{ type: "custom_tool_call_output", call_id: "c1", output: "x" }] },
    param: "input[0].call_id",
    says: "no call 'c1'",
  },
  {
    body: { input: [call(), { type: "function_call_output", call_id: "c1" }] },
    param: "input[1].output",
    says: "got nothing",
  },
  {
    body: {
      input: [
        { type: "message", role: "assistant", id: "msg_1", content: "Hi" },
        { type: "item_reference", id: "msg_1" },
      ],
    },
    param: "input[1].id",
    says: "Item 'msg_1' is in the input twice: leave out one of them.",
  },
  {
    body: { input: [{ role: "user", content: "Hi" }, { type: "item_reference", id: "msg_1" }] },
    param: "input[1].id",
    says: "Item 'msg_1' is not known or has expired: resend the item, or set store: false " +
      "(AI SDK: providerOptions.openai.store = false).",
  },
  { body: { input: [{ id: "rs_1" }] }, param: "input[0].id", says: "Item 'rs_1'" },
  {
    body: { input: [{ type: null, id: "rs_1" }] },
    param: "input[0].id",
    says: "Item 'rs_1'",
  },
  {
    body: { input: [{ type: "compaction" }] },
    param: "input[0].encrypted_content",
    says: "is required",
  },
];

for (const { body, param, says } of REJECTED) {
  Deno.test(`responses: ${JSON.stringify(body).slice(0, 90)} is rejected: ${says.slice(0, 40)}`, () => {
    const refusal = assertThrows(() => parseResponses({ ...HI, ...body }), Refusal);
    assertEquals([refusal.reason, refusal.param], ["request_invalid", param]);
    assert(refusal.message.includes(says), refusal.message);
  });
}

Deno.test("responses: an integer beyond 2^53 is no item, and moves no image to another field", () => {
  const image = { role: "user", content: [{ type: "input_image", image_url: "https://a/b.png" }] };
  const json = `{"model":"m","input":[12345678901234567890,${JSON.stringify(image)}]}`;
  const { param } = assertThrows(() => parseResponses(parseJson(json)), Refusal);
  assertEquals(param, "input[0]");
});

/** Requests that only an upstream of the same dialect can be sent. */
const UNSAYABLE: readonly { body: JsonObject; param: string; says: string }[] = [
  { body: { tools: [{ type: "web_search" }] }, param: "tools", says: "'web_search' runs on" },
  { body: { tools: [{ type: "tool_search" }] }, param: "tools", says: "'tool_search' runs on" },
  {
    body: { tools: [tool("f"), { type: "mcp" }], tool_choice: { type: "mcp" } },
    param: "tool_choice",
    says: "'mcp' runs on the server",
  },
  {
    body: {
      tools: [tool("f")],
      tool_choice: {
        type: "allowed_tools",
        mode: "auto",
        tools: [{ type: "function", name: "g" }],
      },
    },
    param: "tool_choice",
    says: "allows no tool",
  },
  {
    body: { input: [{ role: "user", content: [{ type: "input_audio", input_audio: {} }] }] },
    param: "input",
    says: "'input_audio' cannot be sent to this model's upstream: send input_text",
  },
  { body: { input: [{ type: "web_search_call", id: "ws" }] }, param: "input", says: "no content" },
];

for (const { body, param, says } of UNSAYABLE) {
  Deno.test(`responses: ${JSON.stringify(body).slice(0, 90)} cannot be translated`, () => {
    const request = parseResponses({ ...HI, ...body });
    for (const bridge of [responsesToChat, responsesToMessages]) {
      const refusal = assertThrows(() => bridge.request(request, OPTIONS), Refusal);
      assertEquals([refusal.reason, refusal.param], ["request_invalid", param]);
      assert(refusal.message.includes(says), refusal.message);
    }
  });
}

Deno.test("responses: what the gateway needs to know of a request", () => {
  const request = parseResponses({ ...HI, stream: true, max_output_tokens: 1, tools: [tool("f")] });
  const { model, stream, maxOutput, offersTools, choices, endpoint, opened } = request;
  assertEquals(
    { model, stream, maxOutput, offersTools, choices, endpoint, opened },
    {
      model: "m",
      stream: true,
      maxOutput: 1,
      offersTools: true,
      choices: 1,
      endpoint: undefined,
      opened: undefined,
    },
  );
  assertEquals(parseResponses(HI).offersTools, false);
  assertEquals(parseResponses({ ...HI, tools: [{ type: "web_search" }] }).offersTools, false);
  const input = [
    { type: "additional_tools", role: "developer", tools: [tool("f")] },
    { role: "user", content: "Hi" },
  ];
  assertEquals(parseResponses({ ...HI, input }).offersTools, true);
});

Deno.test("responses: the conversation's key for prompt caches comes from prompt_cache_key or Codex's headers", () => {
  const key = (body: JsonObject, headers: HeadersInit = {}) =>
    responsesToChat.request(parseResponses({ ...HI, ...body }, headers), {
      ...OPTIONS,
      shaping: { promptCacheKey: true },
    }).body.prompt_cache_key;
  const own = key({ prompt_cache_key: "secret" });
  assert(typeof own === "string" && !own.includes("secret"));
  for (const name of ["session-id", "session_id", "thread-id"]) {
    assertEquals(key({}, { [name]: "secret" }), own);
  }
  assertEquals(key({ prompt_cache_key: "secret" }, { "session-id": "other" }), own);
  assertEquals(key({}), undefined);
});

Deno.test("responses: images are found with the fields that hold them, and replaced there", () => {
  const png = "data:image/png;base64,AAAA";
  const body = {
    model: "m",
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "Look" },
          { type: "input_image", image_url: "https://a.example/b.png", detail: "auto" },
          { type: "input_image", image_url: "https://a.example/b.mp4" },
          { type: "input_video", video_url: "https://a.example/c" },
        ],
      },
      call(),
      {
        type: "function_call_output",
        call_id: "c1",
        output: [{ type: "input_image", image_url: png }],
      },
      {
        type: "computer_call_output",
        call_id: "c2",
        output: { type: "computer_screenshot", image_url: png },
      },
    ],
  };
  const request = parseResponses(body);
  assertEquals(request.images, [
    { param: "input[0].content[1].image_url", source: "remote", url: "https://a.example/b.png" },
    { param: "input[2].output[0].image_url", source: "inline", url: png },
    { param: "input[3].output.image_url", source: "inline", url: png },
  ]);
  assertEquals(request.videos, ["input[0].content[2].image_url", "input[0].content[3]"]);
});

Deno.test("responses: a replaced image is sent, and the body as it came stays as it was", () => {
  const content = [{ type: "input_image", image_url: "https://a.example/b.png" }];
  const request = parseResponses({ model: "m", input: [{ role: "user", content }] });
  const { param } = request.images[0]!;
  const url = "data:image/png;base64,AAAA";
  const replaced = replaceImages(request, DIALECTS.responses.front, new Map([[param, url]]));
  assertEquals(responsesToChat.request(replaced, OPTIONS).body.messages, [
    { role: "user", content: [{ type: "image_url", image_url: { url } }] },
  ]);
  assertEquals(content[0]!.image_url, "https://a.example/b.png");
  assertEquals(replaced.images, [{ param, source: "inline", url }]);
});

for (
  const part of [
    { type: "input_file", file_data: "data:image/png;base64,AAAA" },
    { type: "image_url", image_url: "data:image/png;base64,AAAA" },
  ]
) {
  Deno.test(`responses: an image in a part of type ${part.type} is rejected`, () => {
    const body = { model: "m", input: [{ role: "user", content: [part] }] };
    const { message } = assertThrows(() => parseResponses(body), Refusal);
    assert(message.includes('"input_image"'), message);
  });
}

/** A conversation with calls, for a summary. */
const HISTORY: JsonObject[] = [
  { role: "user", content: "Read a.txt" },
  { type: "custom_tool_call", call_id: "c1", name: "read", input: "a.txt" },
  { type: "custom_tool_call_output", call_id: "c1", output: "Contents" },
];

for (
  const [name, request] of [
    ["a trigger", () =>
      parseResponses({
        model: "m",
        input: [...HISTORY, { type: "compaction_trigger" }],
        tools: [tool("f"), { type: "web_search" }],
        tool_choice: "required",
        text: { format: { type: "json_object" } },
      })],
    ["the endpoint for it", () => parseCompact({ model: "m", input: HISTORY, tools: [] })],
  ] as const
) {
  Deno.test(`responses: ${name} requests a summary: no tools, no calls, and it says so last`, () => {
    const parsed = request();
    assertEquals([parsed.offersTools, parsed.maxOutput], [false, 16_384]);
    for (const bridge of [responsesToChat, responsesToMessages]) {
      const { body, dropped } = bridge.request(parsed, OPTIONS);
      assertEquals(dropped, []);
      assertEquals([body.tools, body.tool_choice, body.system], [undefined, undefined, undefined]);
      const sent = JSON.stringify(body.messages);
      for (const text of ["Read a.txt", "Contents", "Call of the tool read", "the summary."]) {
        assert(sent.includes(text), `${text} is not in ${sent}`);
      }
      assert(!/tool_use|tool_calls|"role":"tool"/.test(sent), sent);
      assert(sent.indexOf("nothing but the summary") > sent.indexOf("Contents"));
    }
  });
}

Deno.test("responses: a trigger that is not the last item is named, and requests nothing", () => {
  const input = [{ type: "compaction_trigger" }, { role: "user", content: "Hi" }];
  assertEquals(toChat({ input }).dropped, ["input.compaction_trigger"]);
  assertEquals(toChat({ input }).body.messages, toChat({}).body.messages);
});

Deno.test("responses: nothing to summarize is rejected", () => {
  const request = parseResponses({ model: "m", input: [{ type: "compaction_trigger" }] });
  const { param } = assertThrows(() => responsesToChat.request(request, OPTIONS), Refusal);
  assertEquals(param, "input");
});

Deno.test("responses: the endpoint for summaries never streams, and wants a model and an input", () => {
  const request = parseCompact({ ...HI, stream: true, max_output_tokens: 9 });
  assertEquals(
    [request.stream, request.endpoint, request.maxOutput],
    [false, "/v1/responses/compact", 9],
  );
  for (const field of ["model", "input"]) {
    const { [field as "model"]: _, ...body } = HI;
    assertEquals(assertThrows(() => parseCompact(body), Refusal).param, field);
  }
  const stored = { model: "m", previous_response_id: "resp_1" };
  assertEquals(assertThrows(() => parseCompact(stored), Refusal).param, "previous_response_id");
});
