/** What upstreams want back with a call, or sealed of their reasoning, comes back to them through every front, and to nobody else. */

import { assert, assertEquals } from "../assert.ts";
import { checkGenerateRequest, failed } from "../fake/generate.ts";
import { startGateway, type TestGateway } from "../fake/gateway.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";

// deno-lint-ignore no-explicit-any -- bodies of three dialects
type Json = any;

const SIGNED = { google: { thought_signature: "c2lnbmF0dXJlIG9mIHRoZSBmaXJzdA==" } };
const OF_MESSAGE = { google: { thought_signature: "b2YgdGhlIG1lc3NhZ2U=" } };
const CALLS = [
  {
    id: "function-call-1",
    type: "function",
    extra_content: SIGNED,
    function: { name: "weather", arguments: '{"city":"Rome"}' },
  },
  // of several calls at once, Gemini signs the first
  {
    id: "function-call-2",
    type: "function",
    function: { name: "weather", arguments: '{"city":"Oslo"}' },
  },
];

/** The same as an upstream of the generate dialect says it, and checks it. */
const GENERATE_PARTS = [
  { text: "Let me see.", thought: true },
  { text: "Looking.", thoughtSignature: OF_MESSAGE.google.thought_signature },
  ...CALLS.map(({ id, extra_content: extra, function: { name, arguments: args } }) => ({
    functionCall: { id, name, args: JSON.parse(args) },
    ...(extra && { thoughtSignature: extra.google.thought_signature }),
  })),
];

function generating() {
  const state = { isDown: false };
  const upstream = fakeUpstream(({ body, path }) => {
    if (state.isDown) return failed(503, "UNAVAILABLE", "down");
    checkGenerateRequest(body);
    const earlier = body.contents.filter(({ role }: Json) => role === "model");
    for (const { parts } of earlier) {
      if (JSON.stringify(parts.map(signatureOf)) === JSON.stringify(SIGNATURES)) continue;
      return failed(400, "INVALID_ARGUMENT", "missing thought_signature");
    }
    const parts = earlier.length > 0 ? [{ text: "warm" }] : GENERATE_PARTS;
    const pieces = path.endsWith(":streamGenerateContent") ? parts.map((one) => [one]) : [parts];
    const replies = pieces.map((parts, at) => ({
      candidates: [{
        content: { role: "model", parts },
        ...(at === pieces.length - 1 && { finishReason: "STOP" }),
      }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 },
    }));
    return pieces.length > 1
      ? eventStream(sse(...replies.map((one) => JSON.stringify(one))))
      : Response.json(replies[0]);
  });
  return Object.assign(upstream, { state });
}

const signatureOf = ({ thoughtSignature = null }: Json) => thoughtSignature;
const SIGNATURES = GENERATE_PARTS.filter(({ thought }: Json) => !thought).map(signatureOf);

/** An upstream that calls a tool, signs its thoughts, and rejects results of calls whose signature is missing, as Gemini 3 does. */
function signing() {
  const state = { isDown: false };
  const upstream = fakeUpstream(({ body }) => {
    if (state.isDown) return Response.json({ error: { message: "down" } }, { status: 503 });
    const earlier = body.messages.filter(({ role }: Json) => role === "assistant");
    for (const { tool_calls: calls, extra_content: extra } of earlier) {
      const isSigned = JSON.stringify(calls?.[0]?.extra_content) === JSON.stringify(SIGNED) &&
        calls[1].extra_content === undefined &&
        JSON.stringify(extra) === JSON.stringify(OF_MESSAGE);
      if (!isSigned) {
        return Response.json({ error: { message: "missing thought_signature" } }, { status: 400 });
      }
    }
    const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
    if (earlier.length > 0) {
      return body.stream
        ? eventStream(sse(chunk({ role: "assistant", content: "warm" }), chunk({}, "stop")))
        : completion("warm", { usage });
    }
    const message = { role: "assistant", content: null, extra_content: OF_MESSAGE };
    return body.stream
      ? eventStream(
        sse(
          chunk(message),
          chunk({ tool_calls: [{ index: 0, ...CALLS[0] }] }),
          chunk({ tool_calls: [{ index: 1, ...CALLS[1] }] }),
          chunk({}, "tool_calls"),
          JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [], usage }),
        ),
      )
      : Response.json({
        id: "x",
        object: "chat.completion",
        choices: [{
          index: 0,
          message: { ...message, tool_calls: CALLS },
          finish_reason: "tool_calls",
        }],
        usage,
      });
  });
  return Object.assign(upstream, { state });
}

const TOOL = { name: "weather", description: "Tells the weather." };
const SCHEMA = { type: "object", properties: { city: { type: "string" } } };

/** The events of a stream. */
function eventsIn(text: string): Json[] {
  return text.split("\n").filter((line) => line.startsWith("data: {")).map((line) =>
    JSON.parse(line.slice("data: ".length))
  );
}

/** What each front's client makes of a reply, and returns with the results of its calls. */
const FRONTS: Readonly<
  Record<
    string,
    { path: string; first: Json; next: (first: Json, reply: string, stream: boolean) => Json }
  >
> = {
  chat: {
    path: "/v1/chat/completions",
    first: {
      max_tokens: 100,
      messages: [{ role: "user", content: "Weather?" }],
      tools: [{ type: "function", function: { ...TOOL, parameters: SCHEMA } }],
    },
    next(first, reply, stream) {
      const message = stream ? messageIn(eventsIn(reply)) : JSON.parse(reply).choices[0].message;
      const results = message.tool_calls.map(({ id }: Json) => ({
        role: "tool",
        tool_call_id: id,
        content: "20 degrees",
      }));
      return { ...first, messages: [...first.messages, message, ...results] };
    },
  },
  messages: {
    path: "/v1/messages",
    first: {
      max_tokens: 100,
      messages: [{ role: "user", content: "Weather?" }],
      tools: [{ ...TOOL, input_schema: SCHEMA }],
    },
    next(first, reply, stream) {
      const content = stream ? blocksIn(eventsIn(reply)) : JSON.parse(reply).content;
      const results = content.filter(({ type }: Json) => type === "tool_use").map((
        { id }: Json,
      ) => ({
        type: "tool_result",
        tool_use_id: id,
        content: "20 degrees",
      }));
      return {
        ...first,
        messages: [
          ...first.messages,
          { role: "assistant", content },
          { role: "user", content: results },
        ],
      };
    },
  },
  responses: {
    path: "/v1/responses",
    first: {
      input: [{ role: "user", content: "Weather?" }],
      include: ["reasoning.encrypted_content"],
      store: false,
      tools: [{ type: "function", ...TOOL, parameters: SCHEMA }],
    },
    next(first, reply, stream) {
      const { output } = stream ? eventsIn(reply).at(-1).response : JSON.parse(reply);
      const results = output.filter(({ type }: Json) => type === "function_call").map((
        { call_id: id }: Json,
      ) => ({ type: "function_call_output", call_id: id, output: "20 degrees" }));
      return { ...first, input: [...first.input, ...output, ...results] };
    },
  },
};

/** The message of a chat stream, put together as SDKs do: what is unknown is kept as it came last. */
function messageIn(chunks: readonly Json[]): Json {
  const message: Json = { role: "assistant", content: "", tool_calls: [] };
  for (const { choices: [choice] } of chunks) {
    const { content, tool_calls: calls = [], role: _, ...more } = choice?.delta ?? {};
    Object.assign(message, more);
    message.content += content ?? "";
    for (const { index, function: own, ...call } of calls) {
      const one = message.tool_calls[index] ??= { function: { name: "", arguments: "" } };
      Object.assign(one, call);
      one.function.name += own.name ?? "";
      one.function.arguments += own.arguments ?? "";
    }
  }
  return message;
}

/** Blocks of a messages stream, put together as SDKs do. */
function blocksIn(events: readonly Json[]): Json[] {
  const blocks: Json[] = [];
  for (const { type, index, content_block: block, delta } of events) {
    if (type === "content_block_start") blocks[index] = { ...block, json: "" };
    if (type !== "content_block_delta") continue;
    const one = blocks[index];
    if (delta.type === "input_json_delta") one.json += delta.partial_json;
    if (delta.type === "text_delta") one.text += delta.text;
    if (delta.type === "thinking_delta") one.thinking += delta.thinking;
    if (delta.type === "signature_delta") one.signature = delta.signature;
  }
  return blocks.map(({ json, ...block }) =>
    block.type === "tool_use" ? { ...block, input: JSON.parse(json || "{}") } : block
  );
}

async function send(gateway: TestGateway, path: string, body: Json, key?: string) {
  const reply = await gateway.post(path, body, key === undefined ? {} : { key });
  return { status: reply.status, text: await reply.text() };
}

/** Between the same dialect a signature goes on as it is. */
const WAYS = Object.keys(FRONTS).flatMap((front) =>
  (["chat", "generate"] as const).flatMap((back) =>
    front === back ? [] : [false, true].map((stream) => ({ front, back, stream }))
  )
);

for (const { front, back, stream } of WAYS) {
  const { path, first, next } = FRONTS[front]!;
  Deno.test(`${front} to ${back}, stream ${stream}: signatures of calls come back to the model that wrote them`, async () => {
    await using upstream = back === "chat" ? signing() : generating();
    await using other = fakeUpstream(({ body }) =>
      body.stream
        ? eventStream(sse(chunk({ role: "assistant", content: "cold" }), chunk({}, "stop")))
        : completion("cold")
    );
    await using gateway = await startGateway({
      settings: {
        upstreams: { gemini: { url: upstream.url, dialect: back }, other: { url: other.url } },
        routes: {
          signed: {
            targets: [{ upstream: "gemini", model: "m" }, { upstream: "other", model: "m" }],
            ...PRICES,
          },
          another: { targets: [{ upstream: "gemini", model: "n" }], ...PRICES },
          elsewhere: { targets: [{ upstream: "other", model: "m" }], ...PRICES },
        },
      },
    });
    const asked = { ...first, model: "signed", stream };
    const called = await send(gateway, path, asked);
    assertEquals(called.status, 200, called.text);
    assert(!called.text.includes(SIGNED.google.thought_signature));
    const follow = next(asked, called.text, stream);
    const told = await send(gateway, path, follow);
    assertEquals([told.status, told.text.includes("warm")], [200, true], told.text);
    // another model, and another upstream, get no signature of it
    for (const model of ["another", "elsewhere"]) {
      const { status } = await send(gateway, path, { ...follow, model });
      assertEquals(status, model === "another" ? 400 : 200, model);
    }
    upstream.state.isDown = true;
    const failedOver = await send(gateway, path, follow);
    assertEquals([failedOver.status, failedOver.text.includes("cold")], [200, true]);
    upstream.state.isDown = false;
    for (
      const { raw, body } of [
        ...other.received,
        ...upstream.received.slice(2)
          .filter(({ body, path }) => body.model === "n" || path.includes("/models/n:")),
      ]
    ) {
      assert(!SECRETS.some((one) => raw.includes(one)), body.model);
    }
    // an account that did not get it cannot use it; its conversation goes on as far as it can
    const { keys, registration, sales, accounts } = gateway.gateway;
    const { id } = await registration.register({ email: "other@example.com" });
    const account = (await accounts.byId(id))!;
    await sales.grant(account, { credits: 100 });
    const { secret } = await keys.issue(account);
    const before = upstream.received.length;
    const stolen = await send(gateway, path, { ...follow, stream: false }, secret);
    assertEquals(stolen.status, 400);
    for (const { raw } of upstream.received.slice(before)) {
      assert(!SECRETS.some((one) => raw.includes(one)));
    }
  });
}

/** What nobody else may get, and what the gateway makes of it. */
const SECRETS = [SIGNED, OF_MESSAGE].map(({ google }) => google.thought_signature).concat("sl1.");

const PRICES = {
  context: 100_000,
  maxOutput: 1_000,
  prices: { input: 1_000, cached: 1_000, output: 1_000 },
};

Deno.test("messages: reasoning that an upstream of responses sealed comes back to it, and to a messages upstream nothing of it", async () => {
  const usage = { input_tokens: 9, output_tokens: 4, total_tokens: 13 };
  await using upstream = fakeUpstream(() =>
    Response.json({
      id: "resp_1",
      object: "response",
      created_at: 1,
      status: "completed",
      model: "m",
      output: [
        {
          type: "reasoning",
          id: "rs_1",
          summary: [{ type: "summary_text", text: "Thinking." }],
          encrypted_content: "c2VhbGVk".repeat(30),
        },
        {
          type: "reasoning",
          id: "rs_2",
          summary: [],
          encrypted_content: "aGlkZGVu".repeat(30),
        },
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "Hello", annotations: [] }],
        },
      ],
      usage,
    })
  );
  await using native = fakeUpstream(() =>
    Response.json({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [{ type: "text", text: "Hello" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 9, output_tokens: 4 },
    })
  );
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        open: { url: upstream.url, dialect: "responses" },
        native: { url: native.url, dialect: "messages" },
      },
      routes: {
        open: { targets: [{ upstream: "open", model: "m" }], reasoning: "always", ...PRICES },
        native: { targets: [{ upstream: "native", model: "m" }], reasoning: "always", ...PRICES },
      },
    },
  });
  const asked = {
    model: "open",
    max_tokens: 100,
    thinking: { type: "adaptive" },
    messages: [{ role: "user", content: "Hi" }],
  };
  const reply = await send(gateway, "/v1/messages", asked);
  assertEquals(reply.status, 200, reply.text);
  const { content } = JSON.parse(reply.text);
  assertEquals(content.map(({ type }: Json) => type), ["thinking", "redacted_thinking", "text"]);
  const follow = {
    ...asked,
    messages: [
      ...asked.messages,
      { role: "assistant", content },
      { role: "user", content: "And?" },
    ],
  };
  assertEquals((await send(gateway, "/v1/messages", follow)).status, 200);
  const sent = upstream.received.at(-1)!.body.input.filter(({ type }: Json) =>
    type === "reasoning"
  );
  assertEquals(sent.map(({ encrypted_content: sealed }: Json) => sealed), [
    "c2VhbGVk".repeat(30),
    "aGlkZGVu".repeat(30),
  ]);
  assertEquals((await send(gateway, "/v1/messages", { ...follow, model: "native" })).status, 200);
  assert(!native.received.at(-1)!.raw.includes("sl1."));
  // a client that did not ask for thinking gets no block that it cannot read
  const { thinking: _, ...plain } = asked;
  const { content: blocks } = JSON.parse((await send(gateway, "/v1/messages", plain)).text);
  assert(!blocks.some(({ type }: Json) => type === "redacted_thinking"));
});
