import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool, type ToolSet } from "ai";
import OpenAI from "openai";
import { z } from "zod";
import {
  countedUsage,
  DIALECTS,
  isObject,
  type JsonObject,
  type ParsedRequest,
} from "../../src/wire/dialects/mod.ts";
import { joinCalls, type ReplyEvent } from "../../src/wire/dialects/neutral/conversation.ts";
import { ResponsesWriter } from "../../src/wire/dialects/responses/reply/writer.ts";
import { Refusal } from "../../src/ground/refusal.ts";
import { assert, assertEquals, assertRejects } from "../assert.ts";
import {
  clientStream,
  contextOf,
  parseResponses,
  responsesToChat,
  responsesToResponses,
} from "../wire/dialects/ends.ts";
import { checkResponsesStream } from "../wire/dialects/legal_responses.ts";
import { eventsOf } from "../wire/dialects/legal_streams.ts";
import { eventsFor, itemsOf, linesOf, responseOf } from "../wire/dialects/responses_streams.ts";

const BASE_URL = "http://127.0.0.1:9/v1"; // nothing listens there: all requests go to the writer

const BROKEN = new Refusal("upstream_unavailable", "The upstream closed the stream early.");

const text = (text: string): ReplyEvent => ({ type: "text", text });
const call = (args: string, name: string): ReplyEvent => ({
  type: "call",
  key: "a",
  id: "call_a",
  name,
  args,
});
const finish = (finish: (ReplyEvent & { type: "finish" })["finish"]): ReplyEvent => ({
  type: "finish",
  finish,
  stopped: undefined,
});

/** What an upstream replies with. */
interface Reply {
  readonly events: readonly ReplyEvent[];
  /** Whether the stream breaks after these events. */
  readonly breaks?: boolean;
  /** Whether pings come in between. */
  readonly pings?: boolean;
}

/** All of a fetch that the SDKs use here. */
type Fetch = (url: unknown, init?: { readonly body?: unknown }) => Promise<Response>;

/** What the gateway received and kept. */
interface Exchanged {
  readonly bodies: JsonObject[];
  readonly streams: string[];
  readonly kept: JsonObject[];
}

/** A fetch whose responses the writer writes; the last reply is for all further requests. */
function fetchOf(...replies: Reply[]): Exchanged & { fetch: Fetch } {
  const exchanged: Exchanged = { bodies: [], streams: [], kept: [] };
  return {
    ...exchanged,
    fetch: (_url, init) => {
      const body: unknown = JSON.parse(String(init?.body));
      assert(isObject(body));
      const reply = replies[Math.min(exchanged.bodies.length, replies.length - 1)]!;
      exchanged.bodies.push(body);
      const writer = writerOf(body, exchanged.bodies.length);
      const written = body.stream === true
        ? streamed(writer, reply)
        : JSON.stringify(writer.whole(joinCalls(reply.events))(countedUsage(3, 2)));
      exchanged.kept.push(...writer.outputItems ?? []);
      if (body.stream === true) exchanged.streams.push(written);
      const type = body.stream === true ? "text/event-stream" : "application/json";
      return Promise.resolve(new Response(written, { headers: { "content-type": type } }));
    },
  };
}

function writerOf(body: JsonObject, number: number): ResponsesWriter {
  const request: ParsedRequest = {
    body,
    model: String(body.model),
    stream: body.stream === true,
    maxOutput: undefined,
    offersTools: body.tools !== undefined,
    choices: 1,
    images: [],
    videos: [],
  };
  return new ResponsesWriter(contextOf(request, { id: `resp_${number}` }));
}

function streamed(writer: ResponsesWriter, { events, breaks, pings }: Reply): string {
  const ping = () => (pings === true ? writer.ping() : "");
  const begun = events.map((event) => ping() + writer.write(event)).join("") + ping();
  return begun + (breaks === true ? writer.fail(BROKEN) : writer.close(countedUsage(3, 2)));
}

function openai(fetch: Fetch): OpenAI {
  return new OpenAI({ apiKey: "k", baseURL: BASE_URL, maxRetries: 0, fetch });
}

function aiSdk(fetch: Fetch) {
  return createOpenAI({ apiKey: "k", baseURL: BASE_URL, fetch });
}

/** Tools that nobody runs. */
function toolsOf(provider: ReturnType<typeof aiSdk>): ToolSet {
  const read = { inputSchema: z.object({ path: z.string() }) };
  return { read, patch: provider.tools.customTool({}) };
}

const READ = {
  type: "function" as const,
  name: "read",
  parameters: { type: "object", properties: { path: { type: "string" } } },
  strict: true,
};

/** Every kind of reply that a stream can be of, and what each client makes of it. */
const REPLIES: readonly (Reply & {
  readonly why: string;
  readonly status: string;
  readonly text: string;
  /** Words in which the model declines: text for the AI SDK. */
  readonly refusal?: string;
  /** The AI SDK's finish reason. */
  readonly finish: string;
  readonly reasoning?: string;
  readonly calls?: readonly string[];
})[] = [
  {
    why: "text",
    events: [text("Hel"), text("lo"), finish("stop")],
    status: "completed",
    text: "Hello",
    finish: "stop",
  },
  {
    why: "pings in between",
    pings: true,
    events: [text("Hel"), text("lo"), finish("stop")],
    status: "completed",
    text: "Hello",
    finish: "stop",
  },
  {
    why: "reasoning in two parts, then text",
    events: [
      { type: "reasoning", text: "Let me " },
      { type: "reasoning", text: "see." },
      { type: "seal", seal: "s" },
      { type: "reasoning", text: "So." },
      text("Hi"),
      finish("stop"),
    ],
    status: "completed",
    text: "Hi",
    finish: "stop",
    reasoning: "Let me see.So.",
  },
  {
    why: "text and a call",
    events: [
      text("Reading"),
      call('{"path":', "read"),
      { type: "call", key: "a", id: undefined, name: undefined, args: '"/"}' },
      finish("tools"),
    ],
    status: "completed",
    text: "Reading",
    finish: "tool-calls",
    calls: ['{"path":"/"}'],
  },
  {
    why: "its limit in a text",
    events: [text("Hel"), finish("length")],
    status: "incomplete",
    text: "Hel",
    finish: "length",
  },
  {
    why: "its limit in a call",
    events: [text("Reading"), call('{"path":', "read"), finish("length")],
    status: "incomplete",
    text: "Reading",
    finish: "length",
    calls: [],
  },
  {
    why: "its limit in a custom call",
    events: [call('{"input":"*** Beg', "patch"), finish("length")],
    status: "incomplete",
    text: "",
    finish: "length",
    calls: [],
  },
  {
    why: "a content filter",
    events: [text("I"), finish("filtered")],
    status: "incomplete",
    text: "I",
    finish: "content-filter",
  },
  {
    why: "a refusal",
    events: [{ type: "refusal", text: "No." }, finish("refused")],
    status: "completed",
    text: "",
    refusal: "No.",
    finish: "content-filter",
  },
  {
    why: "a citation",
    events: [
      text("Hello"),
      { type: "citation", url: "https://a.example", title: "A", start: 0, end: 5 },
      finish("stop"),
    ],
    status: "completed",
    text: "Hello",
    finish: "stop",
  },
  {
    why: "nothing at all",
    events: [finish("stop")],
    status: "completed",
    text: "",
    finish: "stop",
  },
  {
    why: "a broken stream",
    events: [text("Hel")],
    breaks: true,
    status: "failed",
    text: "Hel",
    finish: "error",
  },
  {
    why: "a stream that broke before anything was written",
    events: [],
    breaks: true,
    status: "failed",
    text: "",
    finish: "", // the request itself fails
  },
];

for (const reply of REPLIES) {
  const { why, status, text, refusal = "", finish, reasoning = "", calls = [] } = reply;
  const params = {
    model: "m",
    input: "x",
    tools: [READ, { type: "custom" as const, name: "patch" }],
  };

  Deno.test(`openai responses.stream() reads ${why}`, async () => {
    const stream = openai(fetchOf(reply).fetch).responses.stream(params);
    let deltas = "";
    stream.on("response.output_text.delta", ({ delta }) => deltas += delta);
    const response = await stream.finalResponse();
    assertEquals([response.status, response.output_text, deltas], [status, text, text]);
    const last = response.output.at(-1);
    if (status === "incomplete") assertEquals(last && "status" in last && last.status, status);
  });

  Deno.test(`openai responses.create({ stream: true }) reads ${why}`, async () => {
    const events = await openai(fetchOf(reply).fetch).responses.create({ ...params, stream: true });
    const types: string[] = [];
    for await (const event of events) types.push(event.type);
    assertEquals(types.at(-1), `response.${status}`);
  });

  Deno.test(`the AI SDK's streamText reads ${why}`, async () => {
    const provider = aiSdk(fetchOf(reply).fetch);
    const result = streamText({
      model: provider("m"),
      prompt: "x",
      tools: toolsOf(provider),
      maxRetries: 0,
      onError: () => {},
    });
    const seen = { text: "", reasoning: "", calls: [] as string[], finish: "", errors: 0 };
    for await (const part of result.fullStream) {
      if (part.type === "text-delta") seen.text += part.text;
      if (part.type === "reasoning-delta") seen.reasoning += part.text;
      if (part.type === "tool-call") seen.calls.push(JSON.stringify(part.input));
      if (part.type === "finish") seen.finish = part.finishReason;
      if (part.type === "error") seen.errors++;
    }
    const errors = status === "failed" ? 1 : 0;
    assertEquals(seen, { text: text + refusal, reasoning, calls: [...calls], finish, errors });
  });

  if (reply.breaks === true) continue;

  Deno.test(`openai responses.create() reads ${why}`, async () => {
    const response = await openai(fetchOf(reply).fetch).responses.create(params);
    assertEquals([response.status, response.output_text], [status, text]);
    assertEquals(response.usage!.total_tokens, 5);
  });

  Deno.test(`the AI SDK's generateText reads ${why}`, async () => {
    const provider = aiSdk(fetchOf(reply).fetch);
    const result = await generateText({
      model: provider("m"),
      prompt: "x",
      tools: toolsOf(provider),
      maxRetries: 0,
    });
    assertEquals([result.text, result.finishReason], [text + refusal, finish]);
    assertEquals((result.reasoningText ?? "").replaceAll("\n", ""), reasoning);
  });
}

// deno-lint-ignore no-explicit-any -- wire events
type Event = any;

/** What clients were measured to be strict about, as rules that every stream of the writer keeps. */
const STRICTNESS: Readonly<Record<string, (events: readonly Event[], stream: string) => boolean>> =
  {
    "an event line, a number and the end mark": (events, stream) =>
      events.every((event, at) => event.sequence_number === at) &&
      stream.endsWith("data: [DONE]\n\n") &&
      stream.split("\n\n").filter((one) => one.startsWith("data: {")).length === 0,
    "response.created first, or stream() throws": ([first]) => first.type === "response.created",
    "output_item.added before anything of an item, or stream() throws": (events) =>
      events.every((event, at) =>
        event.item_id === undefined ||
        events.slice(0, at).some(({ type, item }) =>
          type === "response.output_item.added" && item.id === event.item_id
        )
      ),
    "content_part.added before a text's delta, or stream() throws": (events) =>
      follows(events, "response.output_text.delta", "response.content_part.added"),
    "a summary's part before its delta, or stream() throws": (events) =>
      follows(
        events,
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_part.added",
      ),
    "a last event that says how it ended, or stream() resolves silently": (events) =>
      /^response\.(completed|incomplete|failed)$/.test(events.at(-1).type),
    "the output in the last event, or the text is lost silently": (events) =>
      events.filter(({ type }) => type === "response.output_item.added").length ===
        events.at(-1).response.output.length,
    "one response id, or stream() throws": (events) =>
      new Set(events.flatMap(({ response }) => response?.id ?? [])).size === 1,
    "one id for each item, in all of its events, or stream() throws": (events) => {
      const added = events.filter(({ type }) => type === "response.output_item.added");
      const done = events.filter(({ type }) => type === "response.output_item.done");
      return added.every(({ item }, at) => item.id === events.at(-1).response.output[at].id) &&
        done.every(({ item, output_index: at }) => item.id === added[at].item.id);
    },
    "no event that the SDK does not know, or stream() throws": (events) =>
      events.every(({ type }) =>
        /^response\.(created|in_progress|completed|incomplete|failed|output_item\.(added|done)|content_part\.(added|done)|output_text\.(delta|done|annotation\.added)|refusal\.(delta|done)|reasoning_summary_part\.(added|done)|reasoning_summary_text\.(delta|done)|function_call_arguments\.(delta|done)|custom_tool_call_input\.(delta|done))$/
          .test(type)
      ),
    "no raw reasoning, which other clients call otherwise": (events) =>
      events.every(({ type }) => !/reasoning_text|response\.reasoning\./.test(type)),
    "response.failed instead of an error event, which makes SDKs throw away what came": (events) =>
      events.every(({ type }) => type !== "error"),
  };

function follows(events: readonly Event[], type: string, before: string): boolean {
  return events.every((event, at) =>
    event.type !== type ||
    events.slice(0, at).some((one) => one.type === before && one.item_id === event.item_id)
  );
}

for (const [rule, isKept] of Object.entries(STRICTNESS)) {
  Deno.test(`every stream has ${rule}`, () => {
    for (const reply of REPLIES) {
      const stream = streamed(writerOf({ model: "m", tools: [READ] }, 1), reply);
      const events = eventsOf(stream).map(({ data }) => data).filter((data) => data !== "[DONE]");
      assert(isKept(events, stream), reply.why);
      checkResponsesStream(stream);
    }
  });
}

const CITY = {
  type: "json_schema" as const,
  name: "city",
  schema: { type: "object", properties: { city: { type: "string" } } },
  strict: true,
};

Deno.test("openai responses.parse() reads structured output and the arguments of a call", async () => {
  const plain = fetchOf({ events: [text('{"city":"Paris"}'), finish("stop")] });
  const parsed = await openai(plain.fetch).responses.parse({
    model: "m",
    input: "x",
    text: { format: CITY },
  });
  assertEquals(parsed.output_parsed as unknown, { city: "Paris" });
  const calling = fetchOf({ events: [call('{"path":"/"}', "read"), finish("tools")] });
  const { output } = await openai(calling.fetch).responses.parse({
    model: "m",
    input: "x",
    tools: [READ],
  });
  const [item] = output;
  assert(item?.type === "function_call");
  assertEquals(item.parsed_arguments as unknown, { path: "/" });
});

for (const stream of [false, true]) {
  Deno.test(`the AI SDK runs tools and refers to items that were kept (${stream ? "streamed" : "whole"})`, async () => {
    const exchanged = fetchOf(
      {
        events: [
          { type: "reasoning", text: "Hm" },
          text("Reading"),
          call('{"path":"/"}', "read"),
          finish("tools"),
        ],
      },
      { events: [text("Done"), finish("stop")] },
    );
    const paths: string[] = [];
    const read = tool({
      inputSchema: z.object({ path: z.string() }),
      execute: ({ path }) => {
        paths.push(path);
        return "ok";
      },
    });
    const request = {
      model: aiSdk(exchanged.fetch)("m"),
      prompt: "x",
      tools: { read },
      stopWhen: stepCountIs(3),
      maxRetries: 0,
    };
    const said = stream ? await streamText(request).text : (await generateText(request)).text;
    assertEquals([said, paths], ["Done", ["/"]]);
    const input = exchanged.bodies[1]!.input;
    assert(Array.isArray(input));
    const references = input.flatMap((item) =>
      isObject(item) && item.type === "item_reference" ? [item.id] : []
    );
    const kept = exchanged.kept.map(({ id }) => id);
    assert(references.length > 0 && references.every((id) => kept.includes(id)), `${references}`);
  });
}

Deno.test("the AI SDK runs a custom tool, and returns sealed reasoning with store: false", async () => {
  const exchanged = fetchOf(
    {
      events: [
        { type: "reasoning", text: "Hm" },
        call('{"input":"*** Begin\\n"}', "patch"),
        finish("tools"),
      ],
    },
    { events: [text("Done"), finish("stop")] },
  );
  const provider = aiSdk(exchanged.fetch);
  const inputs: unknown[] = [];
  const patch = Object.assign(provider.tools.customTool({}), {
    execute: (input: unknown) => {
      inputs.push(input);
      return "ok";
    },
  });
  const result = streamText({
    model: provider("m"),
    prompt: "x",
    tools: { patch },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
    providerOptions: {
      openai: { store: false, include: ["reasoning.encrypted_content"], forceReasoning: true },
    },
  });
  assertEquals(await result.text, "Done");
  assertEquals(inputs, ["*** Begin\n"]);
  const input = exchanged.bodies[1]!.input;
  assert(Array.isArray(input));
  const types = input.flatMap((item) => (isObject(item) ? [item.type] : []));
  assert(types.includes("custom_tool_call") && types.includes("custom_tool_call_output"));
  const reasoning = input.filter(isObject).find(({ type }) => type === "reasoning");
  assert(/^sl1\./.test(String(reasoning?.encrypted_content)), JSON.stringify(input));
});

Deno.test("openai responses.compact() reads a summary", async () => {
  const response = await openai(() => {
    const writer = new ResponsesWriter(contextOf({
      body: { model: "m", input: "x" },
      model: "m",
      stream: false,
      maxOutput: undefined,
      offersTools: false,
      choices: 1,
      images: [],
      videos: [],
      endpoint: "/v1/responses/compact",
    }, { id: "resp_1" }));
    const body = writer.whole([text("They met."), finish("stop")])(countedUsage(3, 2));
    return Promise.resolve(Response.json(body));
  }).responses.compact({ model: "m", input: "x" });
  assertEquals(response.object, "response.compaction");
  assertEquals(response.output.map(({ type }) => type), ["compaction"]);
});

Deno.test("clients read a refusal that is an event stream", async () => {
  const { front } = DIALECTS.responses;
  const header = (name: string) =>
    ({ originator: "codex_exec", accept: "text/event-stream" })[name] ?? null;
  const refusal = new Refusal("credits_short", "Out of credits.");
  const stream = front.streamedRefusal!(refusal, { header, requestId: "req_1", model: "m" })!;
  const respond = () =>
    Promise.resolve(new Response(stream, { headers: { "content-type": "text/event-stream" } }));
  const response = await openai(respond).responses.stream({ model: "m", input: "x" })
    .finalResponse();
  assertEquals(response.status, "failed");
  assertEquals(response.error?.message, "Out of credits.");
});

Deno.test("the openai SDK reads each field of an error before a stream", async () => {
  const refusal = new Refusal("request_invalid", "store: must be a boolean", { param: "store" });
  const body = DIALECTS.responses.front.errorBody(refusal, "req_1");
  const respond = () => Promise.resolve(Response.json(body, { status: refusal.status }));
  const error = await assertRejects(
    () => openai(respond).responses.create({ model: "m", input: "x" }).then(() => {}),
    OpenAI.APIError,
  );
  assertEquals([error.status, error.code, error.param, error.type], [
    400,
    "invalid_request",
    "store",
    "invalid_request_error",
  ]);
});

Deno.test("the AI SDK reads a carried reply with a citation that has no title and no place", async () => {
  const cited = { type: "url_citation", url: "https://example.com" };
  const said = [{ text: ["Hello"] }];
  const output = itemsOf(said).map((item) => ({
    ...item,
    content: [{ type: "output_text", text: "Hello", annotations: [cited] }],
  }));
  const events = eventsFor(said, { output }).flatMap((event) => {
    const { type, item_id = null, output_index = null } = event;
    if (type !== "response.output_text.done") return [event];
    const at = { item_id, output_index, content_index: 0, annotation_index: 0 };
    return [{ type: "response.output_text.annotation.added", ...at, annotation: cited }, event];
  });
  const fetch: Fetch = (_url, init) => {
    const request = parseResponses(JSON.parse(String(init?.body)));
    const context = contextOf(request, { id: "resp_1" });
    if (!request.stream) {
      const { body } = responsesToResponses.reply(responseOf(said, { output }), context);
      return Promise.resolve(Response.json(body));
    }
    const stream = clientStream(responsesToResponses.stream(context), linesOf(events));
    const headers = { "content-type": "text/event-stream" };
    return Promise.resolve(new Response(stream, { headers }));
  };
  const model = createOpenAI({
    apiKey: "x",
    baseURL: BASE_URL,
    fetch: fetch as typeof globalThis.fetch,
  })("m");
  const whole = await generateText({ model, prompt: "Hi", maxRetries: 0 });
  const errors: unknown[] = [];
  const streamed = streamText({
    model,
    prompt: "Hi",
    onError: ({ error }) => void errors.push(error),
  });
  for (const result of [whole, { text: await streamed.text, sources: await streamed.sources }]) {
    assertEquals(result.text, "Hello");
    assertEquals(result.sources.map((one) => one.sourceType === "url" ? one.url : ""), [cited.url]);
  }
  assertEquals(errors, []);
});

/** A token as some servers report it: without alternatives, or with none. */
const LIKELY = [{ token: "Hello", logprob: -0.5 }, { token: "", logprob: 0, top_logprobs: null }];

Deno.test("the AI SDK reads all text whose tokens have no alternatives, carried and translated", async () => {
  const said = [{ text: ["Hello"] }];
  const output = itemsOf(said).map((item) => ({
    ...item,
    role: "model",
    content: [{ type: "output_text", text: "Hello", annotations: [], logprobs: LIKELY }],
  }));
  const events = eventsFor(said, { output }).map((event) =>
    event.type === "response.output_text.delta" ? { ...event, logprobs: LIKELY } : event
  );
  const chunk = (delta: JsonObject, more: JsonObject) => ({
    id: "c",
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  });
  const chunks = [
    chunk({ content: "Hello" }, { logprobs: { content: LIKELY } }),
    chunk({}, { finish_reason: "stop" }),
  ];
  const message = { role: "assistant", content: "Hello" };
  const completion = {
    choices: [{ index: 0, message, logprobs: { content: LIKELY }, finish_reason: "stop" }],
  };
  const lines = chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("") +
    "data: [DONE]\n\n";
  const upstreams = [
    { bridge: responsesToResponses, lines: linesOf(events), whole: responseOf(said, { output }) },
    { bridge: responsesToChat, lines, whole: completion },
  ];
  for (const { bridge, lines, whole } of upstreams) {
    const fetch: Fetch = (_url, init) => {
      const request = parseResponses(JSON.parse(String(init?.body)));
      const context = contextOf(request, { id: "resp_1" });
      if (!request.stream) {
        const reply = bridge.reply(structuredClone(whole), context);
        return Promise.resolve(Response.json(reply.withUsage(countedUsage(1, 1))));
      }
      const headers = { "content-type": "text/event-stream" };
      const stream = clientStream(bridge.stream(context), lines);
      return Promise.resolve(new Response(stream, { headers }));
    };
    const made = createOpenAI({
      apiKey: "x",
      baseURL: BASE_URL,
      fetch: fetch as typeof globalThis.fetch,
    });
    const asked = {
      model: made("m"),
      prompt: "Hi",
      maxRetries: 0,
      providerOptions: { openai: { logprobs: true } },
    };
    assertEquals((await generateText(asked)).text, "Hello");
    const errors: unknown[] = [];
    const streamed = streamText({ ...asked, onError: ({ error }) => void errors.push(error) });
    assertEquals(await streamed.text, "Hello");
    assertEquals(errors, []);
  }
});
