/** What the generate dialect says in other words than the others: requests and replies, each way from a client. */

import {
  BACKS,
  countedUsage,
  type JsonObject,
  ReportedError,
} from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { checkGenerateRequest } from "../../fake/generate.ts";
import { sse } from "../../fake/upstream.ts";
import {
  chatToGenerate,
  clientStream,
  contextOf,
  messagesToGenerate,
  parseChat,
  parseMessages,
  parseResponses,
  responsesToGenerate,
} from "./ends.ts";

const { generate } = BACKS;
const OPTIONS = {
  model: "gemini-3-pro",
  upstream: "up",
  permittedOutput: 2_000,
  shaping: { ownSampling: true },
};
const USERS = [{ role: "user", content: "Hi" }];

// deno-lint-ignore no-explicit-any -- bodies of the dialect
type Json = any;

/** A chat request as the upstream gets it. */
function sent(more: JsonObject, model = OPTIONS.model): { body: Json; dropped: readonly string[] } {
  const request = parseChat({ model: "m", messages: USERS, ...more });
  const written = chatToGenerate.request(request, { ...OPTIONS, model });
  checkGenerateRequest(written.body);
  return written;
}

Deno.test("a request is in the path and in the body as Google has it", () => {
  const pathOf = (model: string, stream: boolean) => generate.pathFor!({ model, stream });
  assertEquals(pathOf("gemini-3-pro", false), "/models/gemini-3-pro:generateContent");
  assertEquals(
    pathOf("models/gemini-3-pro", true),
    "/models/gemini-3-pro:streamGenerateContent?alt=sse",
  );
  assertEquals(pathOf("tunedModels/own", false), "/tunedModels/own:generateContent");
  assertEquals(pathOf("../x?y", false), "/models/..%2Fx%3Fy:generateContent");
  const { body } = sent({
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: "data:image/PNG;base64,iVBORw0KGgo=" } },
          {
            type: "file",
            file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
          },
        ],
      },
    ],
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    seed: 7,
    presence_penalty: 0.5,
    frequency_penalty: -0.5,
    stop: ["END"],
    service_tier: "priority",
    response_format: {
      type: "json_schema",
      json_schema: {
        name: "x",
        description: "An answer.",
        schema: { $schema: "x", type: "object" },
      },
    },
  });
  assertEquals(body, {
    systemInstruction: { parts: [{ text: "Be brief." }] },
    contents: [{
      role: "user",
      parts: [
        { text: "What is this?" },
        { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } },
        { text: "a.pdf" },
        { inlineData: { mimeType: "application/pdf", data: "JVBERi0=" } },
      ],
    }],
    generationConfig: {
      maxOutputTokens: 2_000,
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      seed: 7,
      presencePenalty: 0.5,
      frequencyPenalty: -0.5,
      stopSequences: ["END"],
      responseMimeType: "application/json",
      responseJsonSchema: { type: "object", description: "An answer." },
    },
    serviceTier: "priority",
  });
});

Deno.test("tools, the choice among them, parallel calls and their results, pictures in those as well", () => {
  const tools = ["get_weather", "a.very/odd name"].map((name) => ({
    type: "function",
    function: { name, parameters: { type: "object", properties: {} } },
  }));
  const calls = ["c1", "c2"].map((id) => ({
    id,
    type: "function",
    function: { name: "get_weather", arguments: `{"of":"${id}"}` },
  }));
  const messages = [
    ...USERS,
    { role: "assistant", content: null, tool_calls: calls },
    // in another order, and one of them twice
    { role: "tool", tool_call_id: "c2", content: "rain" },
    { role: "tool", tool_call_id: "c1", content: "sun" },
  ];
  const { body } = sent({ messages, tools });
  const [, called, answered] = body.contents;
  assertEquals(called.parts.map(({ functionCall: one }: Json) => [one.id, one.args.of]), [
    ["c1", "c1"],
    ["c2", "c2"],
  ]);
  assertEquals(answered, {
    role: "user",
    parts: [["c1", "sun"], ["c2", "rain"]].map(([id, output]) => ({
      functionResponse: { id, name: "get_weather", response: { output } },
    })),
  });
  // calls that have one ID are told apart
  const twice = calls.map((call, at) => ({
    ...call,
    id: "c",
    function: { name: ["get_weather", "get_time"][at]!, arguments: "{}" },
  }));
  const same = sent({
    messages: [
      ...USERS,
      { role: "assistant", content: null, tool_calls: twice },
      ...["sun", "noon"].map((content) => ({ role: "tool", tool_call_id: "c", content })),
    ],
  }).body.contents[2].parts.map((
    { functionResponse: one }: Json,
  ) => [one.id, one.name, one.response]);
  assertEquals(same, [["c", "get_weather", { output: "sun" }], ["c_2", "get_time", {
    output: "noon",
  }]]);
  const [, odd] = body.tools[0].functionDeclarations.map(({ name }: Json) => name);
  const choice = (tool_choice: Json) => sent({ tools, tool_choice }).body.toolConfig;
  assertEquals(choice("none"), { functionCallingConfig: { mode: "NONE" } });
  assertEquals(choice("auto"), { functionCallingConfig: { mode: "AUTO" } });
  assertEquals(choice("required"), { functionCallingConfig: { mode: "ANY" } });
  assertEquals(choice({ type: "function", function: { name: "a.very/odd name" } }), {
    functionCallingConfig: { mode: "ANY", allowedFunctionNames: [odd] },
  });
  const picture = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
  };
  const ofMessages = messagesToGenerate.request(
    parseMessages({
      model: "m",
      max_tokens: 9,
      messages: [
        ...USERS,
        {
          role: "assistant",
          content: ["a", "b"].map((id) => ({ type: "tool_use", id, name: "f", input: {} })),
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "a",
              content: [picture, { type: "text", text: "map" }],
            },
            { type: "tool_result", tool_use_id: "b", is_error: true, content: "gone" },
            { type: "text", text: "And?" },
          ],
        },
      ],
    }),
    OPTIONS,
  ).body as Json;
  checkGenerateRequest(ofMessages);
  const [, , results, next] = ofMessages.contents;
  assertEquals(results.parts, [
    {
      functionResponse: { id: "a", name: "f", response: { output: "[image 1, see below]\nmap" } },
    },
    { functionResponse: { id: "b", name: "f", response: { error: "gone" } } },
    { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } },
  ]);
  assertEquals(next, { role: "user", parts: [{ text: "And?" }] });
});

Deno.test("calls of others: models that check signatures are told that there is none", () => {
  const messages = [
    ...USERS,
    {
      role: "assistant",
      tool_calls: ["a", "b"].map((id) => ({
        id,
        type: "function",
        function: { name: "f", arguments: "{}" },
      })),
    },
  ];
  const signatures = (model: string) =>
    sent({ messages }, model).body.contents[1].parts.map((one: Json) => one.thoughtSignature);
  const told = "skip_thought_signature_validator";
  assertEquals(signatures("gemini-3.1-flash"), [told, undefined]);
  assertEquals(signatures("gemini-2.5-pro"), [undefined, undefined]);
  assertEquals(signatures("models/gemini-2.0-flash"), [undefined, undefined]);
});

Deno.test("thinking is set by a level, or by a budget on older models", () => {
  const thinking = (more: JsonObject, model?: string) => {
    const { body, dropped } = sent(more, model);
    return [body.generationConfig.thinkingConfig, dropped];
  };
  const of = (config: JsonObject | undefined) => [config, []];
  assertEquals(thinking({}), of(undefined));
  assertEquals(
    thinking({ reasoning_effort: "none" }, "gemini-3-flash"),
    of({ thinkingBudget: 0 }),
  );
  assertEquals(
    thinking({ reasoning_effort: "minimal" }),
    of({ includeThoughts: true, thinkingLevel: "MINIMAL" }),
  );
  assertEquals(
    thinking({ reasoning_effort: "max" }),
    of({ includeThoughts: true, thinkingLevel: "HIGH" }),
  );
  assertEquals(
    thinking({ reasoning_effort: "low" }, "gemini-2.5-flash"),
    of({ includeThoughts: true, thinkingBudget: 1_024 }),
  );
  // thoughts are part of the output
  assertEquals(
    thinking({ reasoning_effort: "high" }, "gemini-2.5-flash"),
    of({ includeThoughts: true, thinkingBudget: 2_000 }),
  );
  const asked = { thinking: { type: "enabled", budget_tokens: 1_500 } };
  assertEquals(thinking(asked), of({ includeThoughts: true, thinkingBudget: 1_500 }));
  const more = { thinking: { type: "enabled", budget_tokens: 9_000 } };
  const written = chatToGenerate.request(
    parseChat({ model: "m", messages: USERS, ...more }),
    OPTIONS,
  );
  assertEquals(written.adjusted, ["thinking.budget_tokens=2000"]);
});

Deno.test("thinking is within what the model accepts: Pro cannot be switched off, and budgets have a maximum", () => {
  const thinking = (more: JsonObject, model: string) => {
    const request = parseChat({ model: "m", messages: USERS, ...more });
    const { body, dropped, adjusted } = chatToGenerate.request(request, {
      ...OPTIONS,
      permittedOutput: 64_000,
      model,
    });
    return [(body as Json).generationConfig.thinkingConfig, dropped, adjusted];
  };
  const off = { thinking: { type: "disabled" } };
  for (
    const [model, config, dropped] of [
      ["gemini-2.5-flash", { thinkingBudget: 0 }, []],
      ["gemini-2.5-flash-lite", { thinkingBudget: 0 }, []],
      ["gemini-2.0-pro-exp", { thinkingBudget: 0 }, []],
      ["gemini-2.5-pro", { thinkingBudget: 128 }, ["thinking"]],
      ["models/gemini-2.5-pro-preview-06-05", { thinkingBudget: 128 }, ["thinking"]],
      ["gemini-pro-latest", { thinkingLevel: "LOW" }, ["thinking"]],
      ["gemini-3.1-pro-preview", { thinkingLevel: "LOW" }, ["thinking"]],
    ] as const
  ) {
    assertEquals(thinking(off, model), [config, dropped, []], model);
  }
  const asked = { thinking: { type: "enabled", budget_tokens: 60_000 } };
  for (
    const [model, budget] of [
      ["gemini-2.5-flash", 24_576],
      ["gemini-2.5-pro", 32_768],
    ] as const
  ) {
    assertEquals(
      thinking(asked, model),
      [{ includeThoughts: true, thinkingBudget: budget }, [], [`thinking.budget_tokens=${budget}`]],
      model,
    );
  }
});

Deno.test("what the dialect has no place for is named", () => {
  const { dropped } = sent({
    messages: [{
      role: "user",
      content: [{
        type: "image_url",
        image_url: { url: "data:image/png;base64,AAAA", detail: "low" },
      }],
    }, { role: "assistant", content: "Hm", reasoning_content: "I think" }],
    tools: [{ type: "function", function: { name: "f", strict: true } }],
    parallel_tool_calls: false,
    user: "ada",
    safety_identifier: "ada",
    presence_penalty: 0,
    prompt_cache_key: "k",
    verbosity: "low",
    service_tier: "scale",
    logit_bias: { "7": 1 },
    stop: ["a", "b", "c", "d"],
  });
  assertEquals(
    dropped.toSorted(),
    [
      "image_url.detail",
      "logit_bias",
      "messages.reasoning_content",
      "parallel_tool_calls",
      "prompt_cache_key",
      "safety_identifier",
      "service_tier",
      "tools.strict",
      "user",
      "verbosity",
    ],
  );
  // a call that is forced satisfies its schema anyway
  const tools = [{ type: "function", function: { name: "f", strict: true } }];
  assertEquals(sent({ tools, tool_choice: "required" }).dropped, []);
  assertEquals(sent({ safety_identifier: "ada" }).dropped, ["safety_identifier"]);
  assertEquals(sent({ seed: 2 ** 31 }).dropped, ["seed"]);
  const many = parseMessages({
    model: "m",
    max_tokens: 9,
    messages: USERS,
    stop_sequences: ["a", "b", "c", "d", "e", "f"],
  });
  const written = messagesToGenerate.request(many, OPTIONS);
  assertEquals((written.body as Json).generationConfig.stopSequences.length, 5);
  assertEquals(written.dropped, ["stop_sequences"]);
});

const piece = (parts: Json[], more: JsonObject = {}, of: JsonObject = {}): Json => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
  ...of,
});

/** How a reply that ends so is told to a chat client, whole and streamed. */
function endsOf(reply: Json): (string | undefined)[] {
  const context = contextOf(parseChat({ model: "m", messages: USERS, stream: true }));
  const whole = chatToGenerate.reply(structuredClone(reply), context);
  const streamed = clientStream(chatToGenerate.stream(context), sse(JSON.stringify(reply)));
  const [, last] = /"finish_reason":"(\w+)"/.exec(streamed) ?? [];
  const { choices } = whole.withUsage(countedUsage(1, 1)) as Json;
  return [choices[0].finish_reason, last];
}

Deno.test("every reason to end is one that clients know, or a failure", () => {
  // all of the SDK's enum, and what servers that play Gemini say
  const reasons: Readonly<Record<string, string>> = {
    STOP: "stop",
    MAX_TOKENS: "length",
    CONTINUATION: "length",
    SAFETY: "content_filter",
    RECITATION: "content_filter",
    LANGUAGE: "content_filter",
    BLOCKLIST: "content_filter",
    PROHIBITED_CONTENT: "content_filter",
    SPII: "content_filter",
    IMAGE_SAFETY: "content_filter",
    IMAGE_PROHIBITED_CONTENT: "content_filter",
    IMAGE_RECITATION: "content_filter",
    OTHER: "stop",
    NO_IMAGE: "stop",
    IMAGE_OTHER: "stop",
  };
  for (const [reason, expected] of Object.entries(reasons)) {
    const reply = piece([{ text: "So" }], { finishReason: reason });
    assertEquals(endsOf(reply), [expected, expected], reason);
  }
  for (const finishReason of ["STOP", "FUNCTION_CALL"]) {
    const call = piece([{ functionCall: { name: "f" } }], { finishReason });
    assertEquals(endsOf(call), ["tool_calls", "tool_calls"]);
  }
  for (const reason of ["SAFETY", "OTHER", "JAILBREAK"]) {
    const blocked = {
      promptFeedback: { blockReason: reason },
      usageMetadata: { promptTokenCount: 4 },
    };
    assertEquals(endsOf(blocked), ["content_filter", "content_filter"]);
  }
  for (
    const reason of ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"]
  ) {
    const error = assertThrows(
      () => generate.readReply(piece([], { finishReason: reason }), {}),
      ReportedError,
    );
    assert(error.ofThisRequest, reason); // a prompt may ask for it
  }
  const unspecified = piece([{ text: "So" }], { finishReason: "FINISH_REASON_UNSPECIFIED" });
  const events = generate.reader({}).read(JSON.stringify(unspecified));
  assertEquals(events.map(({ type }) => type), ["text"]);
  assertThrows(() => generate.readReply({ usageMetadata: {} }, {}), Error, "generateContent");
});

Deno.test("a stream as a JSON array, and pieces after the end, are read; calls without IDs get different ones", () => {
  const call = { functionCall: { name: "f", args: { a: 1 } } };
  const list = [piece([{ text: "So" }]), piece([call, call], { finishReason: "STOP" }), {
    usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2, totalTokenCount: 6 },
  }];
  const { events, reports } = generate.readReply(list, {});
  assertEquals(events.map(({ type }) => type), ["text", "call", "call", "finish"]);
  assertEquals([reports.usage?.inputTokens, reports.usage?.outputTokens], [4, 2]);
  const requests = {
    chat: [chatToGenerate, parseChat({ model: "m", messages: USERS })],
    messages: [messagesToGenerate, parseMessages({ model: "m", max_tokens: 9, messages: USERS })],
    responses: [responsesToGenerate, parseResponses({ model: "m", input: "Hi" })],
  } as const;
  for (const [front, [bridge, request]] of Object.entries(requests)) {
    const said = JSON.stringify(bridge.reply(structuredClone(list), contextOf(request)).body);
    const key = front === "responses" ? "call_id" : "id";
    const ids = [...said.matchAll(new RegExp(`"${key}":"((?:call_|toolu_)[^"]+)"`, "g"))];
    assertEquals(new Set(ids.map(([, id]) => id)).size, 2, said);
  }
});

Deno.test("usage: thoughts are output, what tools found is input, a number that is zero is left out", () => {
  const usageOf = (usageMetadata: JsonObject) =>
    generate.readReply(piece([{ text: "So" }], { finishReason: "STOP" }, { usageMetadata }), {})
      .reports;
  const { usage, kinds } = usageOf({
    promptTokenCount: 100,
    cachedContentTokenCount: 40,
    toolUsePromptTokenCount: 30,
    thoughtsTokenCount: 20,
    candidatesTokenCount: 5,
    totalTokenCount: 155,
    promptTokensDetails: [
      { modality: "TEXT", tokenCount: 60 },
      { modality: "IMAGE", tokenCount: 20 },
      { modality: "DOCUMENT", tokenCount: 10 },
      { modality: "AUDIO", tokenCount: 10 },
    ],
    cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 4 }],
    candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 3 }],
  });
  assertEquals(usage, {
    inputTokens: 130,
    cachedTokens: 40,
    cacheWrittenTokens: 0,
    outputTokens: 25,
    reasoningTokens: 20,
  });
  assertEquals(kinds, {
    imageInput: 30,
    audioInput: 10,
    audioCached: 4,
    imageOutput: 3,
  });
  const thoughts = { promptTokenCount: 9, thoughtsTokenCount: 7, totalTokenCount: 16 };
  assertEquals(usageOf(thoughts).usage?.outputTokens, 7);
  // some count thoughts among the candidates: the total tells
  const within = { ...thoughts, candidatesTokenCount: 7 };
  assertEquals(usageOf(within).usage?.outputTokens, 7);
  // nobody said how much the text was
  assertEquals(usageOf({ promptTokenCount: 9, totalTokenCount: 9 }).usage, undefined);
});

Deno.test("a signature goes back to the upstream and the model that gave it, and to no other target", () => {
  const thoughtSignature = "c2lnbmVk";
  const call = { functionCall: { id: "c", name: "f", args: {} }, thoughtSignature };
  const asked = parseChat({ model: "m", messages: USERS });
  const reply = chatToGenerate.reply(piece([call], { finishReason: "STOP" }), contextOf(asked));
  const { choices: [{ message }] } = reply.withUsage(countedUsage(1, 1)) as Json;
  assert(!JSON.stringify(message).includes(thoughtSignature));
  const next = parseChat({ model: "m", messages: [...USERS, message] });
  const signatureFor = (target: Partial<typeof OPTIONS>) => {
    const { body } = chatToGenerate.request(next, { ...OPTIONS, ...target });
    return (body as Json).contents[1].parts[0].thoughtSignature;
  };
  assertEquals(signatureFor({ upstream: "up", model: "m" }), thoughtSignature);
  for (const other of [{ model: "gemini-2.5-pro" }, { upstream: "elsewhere", model: "m" }]) {
    assert(signatureFor(other) !== thoughtSignature, JSON.stringify(other));
  }
});
