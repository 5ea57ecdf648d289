/**
 * What people reported of programs like this one, and what becomes of it here: one row for each try. docs/compatibility.md has
 * a row for each report; `wild_test.ts` sends them through a gateway and compares the two.
 */

import { assert, assertEquals } from "../assert.ts";
import { chunk, completion, eventStream, type Received, sse } from "../fake/upstream.ts";
import type { Client, Heard } from "./heard.ts";

// deno-lint-ignore no-explicit-any -- bodies of three dialects
type Json = any;

/** A body, or a part of one. */
type Body = Readonly<Record<string, unknown>>;

/** What came of a try. */
export interface Outcome {
  readonly heard: Heard;
  readonly text: string;
  /** The reply, where it is JSON. */
  readonly body: Json;
  readonly headers: Headers;
  /** The last request that an upstream was sent, and its body. */
  readonly received: Received;
  readonly sent: Json;
}

/** A try of what a report says. */
export interface Report {
  /** The reports, as the page links them: `owner/repo#number`, separated by commas. */
  readonly of: string;
  /** The dialect of the client, and the route. */
  readonly by: readonly [client: Client, model: string];
  /** Where it is sent, if not to the endpoint of the dialect. */
  readonly path?: string;
  /** Fields of the request beside the usual ones. */
  readonly asks?: Body;
  readonly headers?: Record<string, string>;
  /** What the upstream replies: events, a body, or a response. */
  readonly says?: string | Body | ((upstream: string, body: Json) => Response);
  /** What the client asks in its next turn, by the reply to the first; and the route of the first, if it is another. */
  readonly again?: (body: Json) => Body;
  readonly first?: string;
  /** Part of what the client hears. */
  readonly hears?: Partial<Heard>;
  /** Fields of what the upstream is sent; `undefined` is for those that are not sent. */
  readonly sends?: Record<string, unknown>;
  /** How many requests the upstreams are sent. */
  readonly requests?: number;
  /** What `X-Sluice-Adjusted` says. */
  readonly adjusted?: RegExp;
  /** Input, of it cached, and output, as they are charged; undefined for what the gateway counts. */
  readonly charged?: readonly [number | undefined, number, number | undefined];
  readonly check?: (outcome: Outcome) => void;
}

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const STREAM = { stream: true };
export const USERS = [{ role: "user", content: "Hi" }];
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LONG_NAME = `mcp__plugin_oh-my-claudecode_omc-tools__${"lsp_".repeat(10)}`;
const TOO_LARGE = {
  message:
    "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.",
  type: "tokens",
  code: "rate_limit_exceeded",
};
const EMPTY_ERROR = { message: "", type: "", param: "", code: null };
const REASONING = {
  chat: { reasoning_effort: "low" },
  messages: { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 4_000 },
  responses: { reasoning: { effort: "low", summary: "auto" } },
};

/** Events of a chat stream: deltas, and then the end. */
function chat(deltas: readonly unknown[], finish: string | null = "stop", more = {}): string {
  return sse(...deltas.map((delta) => chunk(delta)), chunk({}, finish, more), "[DONE]");
}

/** A whole chat reply. */
function reply(
  message: Body | string,
  finish: string | null = "stop",
  more = {},
): Body {
  const said = typeof message === "string" ? { content: message } : message;
  return {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", ...said }, finish_reason: finish }],
    usage: USAGE,
    ...more,
  };
}

/** A call of a chat reply, or a piece of one. */
function call(name: string | undefined, args: unknown, more = {}): Body {
  return {
    type: "function",
    function: { ...(name === undefined ? {} : { name }), arguments: args },
    ...more,
  } as Body;
}

/** A whole reply of each dialect that calls a tool. */
const calling = (upstream: string, name: string): Body =>
  ({
    chat: reply({ content: null, ...calls(call(name, "{}", { id: "x" })) }, "tool_calls"),
    msg: {
      content: [{ type: "tool_use", id: "x", name, input: {} }],
      stop_reason: "tool_use",
      usage: { input_tokens: 10, output_tokens: 5 },
    },
    resp: {
      status: "completed",
      output: [{ type: "function_call", id: "fc", call_id: "x", name, arguments: "{}" }],
    },
  })[upstream as "chat"];

/** A delta of calls. */
const calls = (...all: Body[]): Body => ({ tool_calls: all });

/** Events of the two other dialects. */
const named = (...events: readonly Body[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

/** A messages stream of this usage, with these events between its start and end. */
const message = (
  events: readonly Body[],
  stop = "end_turn",
  usage: Body = { input_tokens: 10, output_tokens: 1 },
) =>
  named(
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    },
    ...events,
    {
      type: "message_delta",
      delta: { stop_reason: stop, stop_sequence: null },
      usage: { output_tokens: 5 },
    },
    { type: "message_stop" },
  );
const TEXT_BLOCK = [
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
  { type: "content_block_stop", index: 0 },
];

const parameters = { type: "object", properties: { a: { type: "integer" } } };
/** Two tools, in the three dialects. */
const CHAT_TOOLS = {
  tools: ["one", "two"].map((name) => ({ type: "function", function: { name, parameters } })),
};
const MESSAGES_TOOLS = {
  tools: ["one", "two"].map((name) => ({ name, input_schema: parameters })),
};
const RESPONSES_TOOLS = {
  tools: ["one", "two"].map((name) => ({ type: "function", name, parameters })),
};
const TOOLS = { chat: CHAT_TOOLS, messages: MESSAGES_TOOLS, responses: RESPONSES_TOOLS };
const CLIENTS = ["chat", "messages", "responses"] as const;

/** A turn with a call and its result, in the chat dialect and in that of messages. */
const turn = (id: string): Body[] => [
  ...USERS,
  { role: "assistant", content: "", ...calls(call("one", "{}", { id })) },
  { role: "tool", tool_call_id: id, content: "2" },
];
const turnOfMessages = (id = "toolu_1", content: unknown = "2") => [
  ...USERS,
  { role: "assistant", content: [{ type: "tool_use", id, name: "one", input: {} }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
];

/** A response that is over, with this text. */
const completed = (text: string): Body => ({
  id: "r",
  status: "completed",
  output: [{
    id: "m",
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  }],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
});
/** A text's piece in a stream of the same. */
const TEXT_DELTA = {
  type: "response.output_text.delta",
  item_id: "m",
  output_index: 0,
  content_index: 0,
  delta: "Hi",
};

/** A reply in the dialect of messages. */
const messageReply = (usage: Body = { input_tokens: 10, output_tokens: 5 }): Body => ({
  id: "m",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage,
});

/** The usage of a chat stream, in an event of its own. */
const USAGE_ALONE = JSON.stringify({
  id: "upstream-id",
  object: "chat.completion.chunk",
  choices: [],
  usage: USAGE,
});

/** A response that ends as it should, after these events. */
const response = (...events: readonly Body[]): string =>
  named(
    { type: "response.created", response: { id: "r", status: "in_progress", output: [] } },
    ...events,
    { type: "response.completed", response: completed("Hi") },
  );

/** Replies of upstreams that say no more. */
export const PLAIN: Record<Client, Body> = {
  chat: reply("Hi"),
  messages: messageReply(),
  responses: { object: "response", ...completed("Hi") },
};

/** A reply that is packed, under this name of its coding. */
const packed = (coding: string): Response =>
  new Response(completion("packed").body!.pipeThrough(new CompressionStream("gzip")), {
    headers: { "content-type": "application/json", "content-encoding": coding },
  });
const bytes = (text: string) => new TextEncoder().encode(text);
const streamed = (text: string) =>
  eventStream(...[...bytes(text)].map((byte) => Uint8Array.of(byte)));

const GERMAN = "Donaudampfschifffahrtsgesellschaftskapitänsmütze ".repeat(9);
const CYRILLIC = "Достопримечательности ".repeat(60);

/** A row for each client: the upstream's events have one call, which the client hears once. */
const oneCall = (
  of: string,
  deltas: readonly Body[],
  finish: string | null = "tool_calls",
): Report[] =>
  CLIENTS.map((client) => ({
    of,
    by: [client, "chat"],
    asks: { ...STREAM, ...TOOLS[client] },
    says: chat(deltas, finish),
    hears: { calls: ['one{"a":1}'], finish: ENDS[client] },
  }));
const ENDS = { chat: "tool_calls", messages: "tool_use", responses: "completed" };
/** Pieces of one call, by their functions. */
const piecesOf = (...all: readonly Body[]): Body[] =>
  all.map((own, at) =>
    calls({ index: 0, ...(at === 0 ? { id: "x", type: "function" } : {}), function: own })
  );

/** By the headings of the page. */
export const REPORTS: Readonly<Record<string, readonly Report[]>> = {
  "Estimates and reports": [
    {
      of: "Augustas11/macprovider#278, Augustas11/macprovider#444",
      by: ["chat", "chat"],
      asks: { ...STREAM, max_tokens: 150 },
      says: chat([{ content: GERMAN }], "stop", { usage: { ...USAGE, completion_tokens: 149 } }),
      hears: { text: GERMAN, finish: "stop" },
      charged: [10, 0, 149],
    },
    {
      of: "OpenRouterTeam/typescript-sdk#365",
      by: ["messages", "small"],
      asks: { messages: [{ role: "user", content: CYRILLIC }] },
      hears: { status: 200 },
      requests: 1,
    },
    {
      of: "theopenco/llmgateway#3443",
      by: ["chat", "chat"],
      asks: STREAM,
      says: sse(chunk({ content: "Hi" })),
      hears: { text: "Hi", error: "The upstream closed the stream early." },
      charged: [0, 0, 0],
    },
    {
      of: "theopenco/llmgateway#3546",
      by: ["chat", "chat"],
      asks: { ...STREAM, ...CHAT_TOOLS, max_tokens: 100 },
      says: chat([
        calls(call("one", JSON.stringify({ a: GERMAN.repeat(20) }), { index: 0, id: "i" })),
      ], "tool_calls"),
      charged: [undefined, 0, 164],
    },
    {
      of: "diegosouzapw/OmniRoute#13686, livekit/agents#6596",
      by: ["chat", "chat"],
      says: reply("Hi", "stop", { usage: { completion_tokens: 5 } }),
      hears: { text: "Hi" },
      charged: [undefined, 0, 5],
    },
    {
      of: "router-for-me/CLIProxyAPI#3076, router-for-me/CLIProxyAPI#3173",
      by: ["chat", "chat"],
      asks: { ...STREAM, stream_options: { include_usage: true } },
      says: sse(
        chunk({ content: "Hi" }, null, {
          usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
        }),
        chunk({}, "stop", { usage: USAGE }),
        "[DONE]",
      ),
      hears: { usage: [10, 0, 5] },
      charged: [10, 0, 5],
    },
    {
      of: "router-for-me/CLIProxyAPI#3076, router-for-me/CLIProxyAPI#3173",
      by: ["messages", "chat"],
      asks: STREAM,
      says: sse(
        chunk({ content: "Hi" }, null, { usage: null }),
        chunk({}, "stop", { usage: null }),
        USAGE_ALONE,
        "[DONE]",
      ),
      hears: { usage: [10, 0, 5] },
      charged: [10, 0, 5],
    },
    {
      of: "diegosouzapw/OmniRoute#13686, livekit/agents#6596",
      by: ["chat", "chat"],
      asks: { ...STREAM, stream_options: { include_usage: true } },
      says: chat([{ content: "Hi" }], "stop", {
        usage: { prompt_tokens: 12, completion_tokens: null },
      }),
      hears: { text: "Hi" },
      charged: [12, 0, undefined],
    },
    {
      of: "router-for-me/CLIProxyAPI#3221",
      by: ["chat", "chat"],
      says: reply("Hi", "stop", { usage: { input_tokens: 10, output_tokens: 5 } }),
      charged: [10, 0, 5],
    },
    {
      of: "tashfeenahmed/freellmapi#845",
      by: ["chat", "chat"],
      asks: STREAM,
      says: chat([{ content: "Hi" }], "stop", { usage: USAGE }),
      hears: { usage: undefined },
      sends: { stream_options: { include_usage: true } },
      charged: [10, 0, 5],
    },
    ...CLIENTS.flatMap((client) =>
      [
        [
          "ggml-org/llama.cpp#15827, abetlen/llama-cpp-python#1082",
          { timings: { cache_n: 4, prompt_n: 6, predicted_n: 5, predicted_ms: 9.5 } },
          4,
        ],
        [
          "open-telemetry/semantic-conventions-genai#211, pydantic/genai-prices#453",
          {
            usage: {
              billed_units: { input_tokens: 10, output_tokens: 5 },
              tokens: { input_tokens: 500, output_tokens: 8 },
            },
          },
          0,
        ],
      ].map(([of, more, cached]): Report => ({
        of: of as string,
        by: [client, "chat"],
        asks: STREAM,
        says: chat([{ content: "Hi" }], "stop", more as Body),
        hears: { text: "Hi" },
        charged: [10, cached as number, 5],
      }))
    ),
    ...CLIENTS.map((client): Report => ({
      of: "diegosouzapw/OmniRoute#9750",
      by: [client, "chat"],
      asks: STREAM,
      says: sse(
        chunk({ content: "Hi" }),
        chunk({}, "stop"),
        JSON.stringify({ choices: [{ index: 0, delta: {} }], usage: USAGE }),
        "[DONE]",
      ),
      hears: { text: "Hi" },
      charged: [10, 0, 5],
    })),
  ],
  "Bytes and pieces": [
    {
      of: "coddy-project/coddy-agent#106, ggml-org/llama.cpp#16109",
      by: ["chat", "chat"],
      asks: STREAM,
      says: `error: ${
        JSON.stringify({ code: 400, message: "too long", type: "invalid_request_error" })
      }\n\n`,
      hears: { status: 400, error: "too long" },
      requests: 1,
    },
    {
      of: "openai/openai-node#2725, anomalyco/opencode#40454",
      by: ["chat", "chat"],
      asks: STREAM,
      says: sse(chunk({ content: "Hi" })) + `data: ${chunk({}, "stop")}`,
      hears: { text: "Hi", finish: "stop", error: undefined },
    },
    {
      of: "BerriAI/litellm#6532, BerriAI/litellm#38153",
      by: ["chat", "two"],
      asks: STREAM,
      says: (upstream) =>
        eventStream(
          upstream === "first"
            ? sse(
              chunk({ role: "assistant" }),
              JSON.stringify({ error: { message: "overloaded" } }),
            )
            : chat([{ content: "second" }]),
        ),
      hears: { text: "second", error: undefined },
      requests: 2,
    },
    ...CLIENTS.map((client): Report => ({
      of: "BerriAI/litellm#18842",
      by: [client, "chat"],
      asks: STREAM,
      says: () => streamed(chat([{ content: "안녕하세요 🎉" }])),
      hears: { text: "안녕하세요 🎉" },
    })),
    ...["\r\n", "\r"].map((end): Report => ({
      of: "miruamel/xuan#194, EdamAme-x/pentect#1438",
      by: ["messages", "chat"],
      asks: STREAM,
      says: () => streamed(chat([{ content: "Hi" }]).replaceAll("\n", end)),
      hears: { text: "Hi", finish: "end_turn" },
    })),
    {
      of: "Soju06/codex-lb#1011",
      by: ["responses", "resp"],
      asks: STREAM,
      says: named({
        type: "response.completed",
        response: completed("a\u2028b\u0085c"),
      }),
      hears: { text: "a\u2028b\u0085c" },
    },
    ...CLIENTS.map((client): Report => ({
      of: "vm0-ai/vm0#24687",
      by: [client, "chat"],
      asks: STREAM,
      says: () => streamed("\ufeff" + chat([{ content: "first" }])),
      hears: { text: "first" },
    })),
    {
      of: "vm0-ai/vm0#24687",
      by: ["chat", "chat"],
      says: () =>
        new Response("\ufeff" + JSON.stringify(reply("first")), {
          headers: { "content-type": "application/json" },
        }),
      hears: { text: "first" },
    },
    {
      of: "tashfeenahmed/freellmapi#1087, SamSaffron/term-llm#456",
      by: ["chat", "chat"],
      asks: STREAM,
      says: chat([{ content: "Hi" }]).replaceAll("data: ", "data:"),
      hears: { text: "Hi", finish: "stop" },
    },
    {
      of: "tashfeenahmed/freellmapi#1087, SamSaffron/term-llm#456",
      by: ["responses", "chat"],
      asks: STREAM,
      says: [chunk({ content: "Hi" }), chunk({}, "stop")].map((one) =>
        `${
          JSON.stringify(JSON.parse(one), null, 1).split("\n").map((line) => `data: ${line}`).join(
            "\n",
          )
        }\n\n`
      ).join(""),
      hears: { text: "Hi", finish: "completed" },
    },
    ...CLIENTS.map((client): Report => ({
      of: "mnfst/llm-gateway#2053",
      by: [client, "chat"],
      asks: STREAM,
      says: ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + chat([{ content: "Hi" }]),
      hears: { text: "Hi" },
    })),
    {
      of: "diegosouzapw/OmniRoute#6777",
      by: ["chat", "chat"],
      asks: STREAM,
      says: sse(chunk({ content: "Hi" }), chunk({}, "stop")),
      hears: { text: "Hi", finish: "stop", error: undefined },
    },
    ...["text/plain; charset=utf-8", "application/octet-stream", undefined].flatMap((type) =>
      [false, true].flatMap((stream) =>
        [false, true].map((isEvents): Report => ({
          of: "Wei-Shaw/sub2api#2826",
          by: ["messages", "chat"],
          asks: { stream },
          says: () => {
            const said = isEvents
              ? chat([{ content: "Hi" }], "stop", { usage: USAGE })
              : JSON.stringify(reply("Hi"));
            const headers = type === undefined ? undefined : { "content-type": type };
            return new Response(streamed(`\n${said}`).body, headers && { headers });
          },
          hears: { status: 200, text: "Hi", finish: "end_turn", usage: [10, 0, 5] },
        }))
      )
    ),
    ...CLIENTS.map((client): Report => ({
      of: "youssofal/MTPLX#149, farion1231/cc-switch#7282",
      by: [client, "tags"],
      asks: { ...STREAM, ...REASONING[client] },
      says: chat([..."<think>why</think>so"].map((content) => ({ content }))),
      hears: { reasoning: "why", text: "so" },
    })),
    {
      of: "sudoprivacy/sudocode#576",
      by: ["messages", "msg"],
      asks: STREAM,
      says: message(TEXT_BLOCK).replace(/(message_stop\ndata: \{"type":"m)[^]*/, "$1"),
      hears: { text: "Hi", finish: "end_turn", error: undefined },
    },
  ],
  "From a dialect to itself": [
    ...[false, true].flatMap((stream) =>
      [undefined, ""].map((args): Report => ({
        of: "vercel/ai#6687, tidyverse/ellmer#228",
        by: ["chat", "chat"],
        asks: { stream, ...CHAT_TOOLS },
        says: stream
          ? chat([calls(call("one", args, { index: 0, id: "i" }))], "tool_calls")
          : reply({ content: null, ...calls(call("one", args, { id: "i" })) }, "tool_calls"),
        hears: { calls: ["one{}"] },
      }))
    ),
    {
      of: "BerriAI/litellm#27144, earendil-works/pi#917",
      by: ["responses", "resp"],
      asks: { ...STREAM, ...RESPONSES_TOOLS },
      says: (() => {
        const item = { id: "fc_1", type: "function_call", call_id: "call_1", name: "one" };
        const done = { ...item, status: "completed", arguments: "{}" };
        return named(
          { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } },
          {
            type: "response.function_call_arguments.done",
            item_id: "fc_1",
            output_index: 0,
            arguments: '{"a":1}',
          },
          { type: "response.output_item.done", output_index: 0, item: done },
          {
            type: "response.completed",
            response: { id: "r", status: "completed", output: [done] },
          },
        );
      })(),
      hears: { calls: ['one{"a":1}'] },
    },
    {
      of: "earendil-works/pi#6567, NousResearch/hermes-agent#60683",
      by: ["messages", "msg"],
      asks: STREAM,
      says: message(TEXT_BLOCK).replace(/,"usage":\{[^}]*\}/g, ""),
      hears: { text: "Hi" },
      check: ({ heard }) => assert(heard.usage![0] > 0 && heard.usage![2] > 0),
    },
    {
      of: "theopenco/llmgateway#3462, earendil-works/pi#1048",
      by: ["chat", "deepseek"],
      asks: { messages: [{ role: "developer", content: "Be brief." }, ...USERS] },
      sends: { messages: [{ role: "system", content: "Be brief." }, ...USERS] },
    },
    {
      of: "decolua/9router#3167, openclaw/openclaw#31934",
      by: ["chat", "openai"],
      asks: { messages: turn(`call_${"x".repeat(80)}`), ...CHAT_TOOLS },
      check: ({ sent }) => {
        const [, { tool_calls: [{ id }] }, { tool_call_id: result }] = sent!.messages;
        assert(id.length <= 64 && id === result);
      },
    },
    ...CLIENTS.flatMap((client) =>
      [{ a: 1 }, '{"a":1}', {}, null].flatMap((input) => {
        const block = { type: "tool_use", id: "t", name: "one", input };
        const isEmpty = input === null || JSON.stringify(input) === "{}";
        return [false, true].map((stream): Report => ({
          of: "open-octo/octo-agent#647, inflaborg/ccrelay#119, justlovemaki/AIClient2API#140",
          by: [client, "msg"],
          asks: { stream, ...TOOLS[client] },
          says: stream
            ? message([
              { type: "content_block_start", index: 0, content_block: block },
              { type: "content_block_stop", index: 0 },
            ])
            : { ...PLAIN.messages, content: [block] },
          hears: {
            calls: [isEmpty ? "one{}" : 'one{"a":1}'],
            finish: { chat: "tool_calls", messages: "tool_use", responses: "completed" }[client],
          },
        }));
      })
    ),
    {
      of: "BerriAI/litellm#37118",
      by: ["messages", "msg"],
      asks: { stop_sequences: ["1", "2", "3", "4", "5"] },
      sends: { stop_sequences: ["1", "2", "3", "4", "5"] },
    },
    ...CLIENTS.map((client): Report => ({
      of: "SamSaffron/term-llm#314, openai/openai-python#3246",
      by: [client, "chat"],
      asks: { ...STREAM, ...TOOLS[client] },
      says: chat([
        calls(call("one", '{"a"', { id: "x" })),
        calls(call(undefined, ":1}")),
        calls(call("two", '{"a":2}', { id: "y" })),
      ], "tool_calls"),
      hears: { calls: ['one{"a":1}', 'two{"a":2}'] },
    })),
    ...CLIENTS.map((client): Report => ({
      of: "ollama/ollama#15457, apache/maka#1976",
      by: [client, "chat"],
      asks: { ...STREAM, ...TOOLS[client] },
      says: chat([
        calls(call("one", '{"a":1}', { index: 0, id: "x" })),
        calls(call("two", '{"a":2}', { index: 0, id: "y" })),
      ], "tool_calls"),
      hears: { calls: ['one{"a":1}', 'two{"a":2}'] },
    })),
    ...[false, true].map((stream): Report => ({
      of: "openvinotoolkit/model_server#3927",
      by: ["chat", "chat"],
      asks: { stream, ...CHAT_TOOLS },
      says: stream
        ? chat([calls(call("one", "{}", { index: 0, id: "x" }))], "stop")
        : reply({ content: null, ...calls(call("one", "{}", { id: "x" })) }, "stop"),
      hears: { finish: "tool_calls" },
    })),
    {
      of: "Wei-Shaw/sub2api#2875, ENTERPILOT/GoModel#953",
      by: ["responses", "resp"],
      asks: STREAM,
      says: response(
        {
          type: "response.output_item.added",
          output_index: 0,
          item: { id: "m", type: "message", role: "assistant", content: [] },
        },
        TEXT_DELTA,
      ),
      hears: { text: "Hi" },
    },
    {
      of: "Wei-Shaw/sub2api#2875, ENTERPILOT/GoModel#953",
      by: ["responses", "resp"],
      asks: STREAM,
      says: (() => {
        let number = 0;
        return response(
          {
            type: "response.output_item.added",
            output_index: 0,
            item: { id: "m", type: "message", role: "assistant", content: [] },
          },
          {
            type: "response.content_part.added",
            item_id: "m",
            output_index: 0,
            content_index: 0,
            part: { type: "output_text", text: "", annotations: [] },
          },
          TEXT_DELTA,
        ).replace(/"type":"response/g, (type) => `"sequence_number":${number += 7},${type}`);
      })(),
      hears: { text: "Hi" },
    },
    {
      of: "Arthur-Ficial/apfel#100, ROCm/ATOM#1711, AndraxDev/speak-gpt#162",
      by: ["chat", "chat"],
      asks: STREAM,
      says: sse(
        chunk({ content: "Hi" }),
        chunk({}, "stop"),
        USAGE_ALONE,
        "[DONE]",
      ),
      hears: { text: "Hi", usage: undefined },
      check: ({ text }) => assert(!text.includes('"choices":[]'), text),
    },
    {
      of: "Arthur-Ficial/apfel#100, ROCm/ATOM#1711, AndraxDev/speak-gpt#162",
      by: ["chat", "chat"],
      asks: { ...STREAM, stream_options: { include_usage: true } },
      says: sse(
        chunk({ content: "Hi" }),
        chunk({}, "stop"),
        JSON.stringify({ id: "upstream-id", object: "chat.completion.chunk", usage: USAGE }),
        "[DONE]",
      ),
      hears: { text: "Hi", usage: [10, 0, 5] },
    },
    {
      of: "Arthur-Ficial/apfel#100, ROCm/ATOM#1711, AndraxDev/speak-gpt#162",
      by: ["chat", "chat"],
      asks: STREAM,
      says: sse(
        JSON.stringify({
          id: "",
          object: "",
          created: 0,
          model: "",
          choices: [],
          prompt_filter_results: [],
        }),
        chunk({ role: "assistant", content: "Hi" }),
        chunk({}, "stop"),
        "[DONE]",
      ),
      hears: { text: "Hi" },
      check: ({ text }) => assert(!text.includes('"choices":[]'), text),
    },
    ...CLIENTS.flatMap((client) =>
      [false, true].map((stream): Report => ({
        of: "ggml-org/llama.cpp#20198",
        by: [client, "chat"],
        asks: { stream, ...TOOLS[client] },
        says: stream
          ? chat([calls(call("one", { a: 1 }, { index: 0, id: "x" }))], "tool_calls")
          : reply({ content: null, ...calls(call("one", { a: 1 }, { id: "x" })) }, "tool_calls"),
        hears: { calls: ['one{"a":1}'] },
      }))
    ),
    ...CLIENTS.map((client): Report => ({
      of: "NousResearch/hermes-agent#8259, ggml-org/llama.cpp#13774",
      by: [client, "chat"],
      asks: { ...STREAM, ...TOOLS[client] },
      says: chat([
        calls(call("one", '{"a"', { index: 0, id: "x" })),
        calls(call("one", ":1}", { index: 0, id: "x" })),
      ], "tool_calls"),
      hears: { calls: ['one{"a":1}'] },
    })),
    ...CLIENTS.map((client): Report => ({
      of: "jjang-ai/vmlx#244",
      by: [client, "chat"],
      asks: { ...STREAM, ...TOOLS[client] },
      says: chat([
        calls(call("", '{"a"', { index: 0, id: "x" })),
        calls(call("one", ":1}", { index: 0, id: "x" })),
      ], "tool_calls"),
      hears: { calls: ['one{"a":1}'] },
    })),
    ...["", undefined].map((role): Report => ({
      of: "langwatch/langwatch#6196, tensorzero/tensorzero#1265, MiniMax-AI/MiniMax-M2.5#2",
      by: ["chat", "chat"],
      asks: STREAM,
      says: chat([{ ...(role === undefined ? {} : { role }), content: "H" }, {
        ...(role === undefined ? {} : { role }),
        content: "i",
      }]),
      hears: { text: "Hi" },
      check: ({ text }) =>
        assertEquals([...text.matchAll(/"role":"(\w*)"/g)].map(([, one]) => one), ["assistant"]),
    })),
    {
      of: "softwaremill/sttp-ai#338, mudler/LocalAI#1164",
      by: ["chat", "chat"],
      says: { choices: [{ message: { content: "Hi" }, finish_reason: "stop" }] },
      hears: { text: "Hi" },
      check: ({ body }) => {
        assertEquals([body.object, body.choices[0].index], ["chat.completion", 0]);
        assert(body.created > 0 && /^chatcmpl-/.test(body.id) && body.usage.total_tokens > 0);
      },
    },
    {
      of: "open-webui/open-webui#23922",
      by: ["chat", "chat"],
      asks: STREAM,
      says: (() => {
        let id = 0;
        return chat([{ content: "H" }, { content: "i" }]).replace(/upstream-id/g, () => `c${id++}`);
      })(),
      hears: { text: "Hi" },
    },
    ...oneCall(
      "continuedev/continue#5849, NVIDIA-NeMo/Switchyard#785",
      piecesOf({ name: "o", arguments: "" }, { name: "ne" }, { arguments: '{"a":1}' }),
    ),
    ...oneCall(
      "0xPlaygrounds/rig#1829",
      piecesOf({ name: "one", arguments: {} }, { arguments: { a: 1 } }),
    ),
    ...oneCall(
      "NousResearch/hermes-agent#35718, decolua/9router#2869",
      piecesOf(
        { name: "one" },
        ...['{"a', '{"a":', '{"a":1}'].map((args) => ({ arguments: args })),
      ),
    ),
    ...oneCall(
      "lidge-jun/opencodex#361, anomalyco/opencode#17339",
      piecesOf(
        { name: "one", arguments: "" },
        ...['{"a"', ":1}", '{"a":1}'].map((args) => ({ arguments: args })),
      ),
    ),
    ...oneCall(
      "quarkiverse/quarkus-langchain4j#2642",
      piecesOf({ name: "one", arguments: '"{\\"a\\":1}"' }),
    ),
    ...oneCall("acon96/home-llm#348", [calls({ name: "one", arguments: { a: 1 } })]),
    ...oneCall(
      "waybarrios/vllm-mlx#672, ai-dynamo/dynamo#10513",
      piecesOf({ name: "one", arguments: '{"a":1}' }),
      null,
    ),
    ...CLIENTS.map((client): Report => ({
      of: "RayBytes/ChatMock#114, sgl-project/sglang#8417",
      by: [client, "chat"],
      asks: { ...STREAM, ...TOOLS[client] },
      says: sse(
        chunk(piecesOf({ name: "one", arguments: '{"a":1}' })[0], "tool_calls"),
        chunk({}, "stop"),
        "[DONE]",
      ),
      hears: { calls: ['one{"a":1}'], finish: ENDS[client] },
      check: ({ text }) => assert(text.split('"finish_reason":"').length <= 2, text),
    })),
    ...CLIENTS.map((client): Report => ({
      of: "anomalyco/opencode#49167",
      by: [client, "chat"],
      asks: STREAM,
      says: sse(chunk({ content: "H" }), chunk({}, "stop"), chunk({ content: "i" }), "[DONE]"),
      hears: { text: "Hi" },
    })),
    ...CLIENTS.map((client): Report => ({
      of: "abundantbeing/hermes-browser-extension#11",
      by: [client, "chat"],
      asks: STREAM,
      says: sse(
        chunk({ content: "H" }),
        chunk({ content: "i" }),
        JSON.stringify({ choices: [{ message: { content: "Hi" }, finish_reason: "stop" }] }),
        "[DONE]",
      ),
      hears: { text: "Hi" },
    })),
    ...CLIENTS.flatMap((client) =>
      [false, true].map((stream): Report => ({
        of: "SillyTavern/SillyTavern#2122",
        by: [client, "chat"],
        asks: { stream },
        says: stream
          ? sse(
            ...["H", "i"].map((text) =>
              JSON.stringify({ choices: [{ text, finish_reason: null }] })
            ),
            JSON.stringify({ choices: [{ text: "", finish_reason: "eos_token" }] }),
            "[DONE]",
          )
          : {
            object: "text_completion",
            choices: [{ text: "Hi", finish_reason: "eos_token" }],
            usage: USAGE,
          },
        hears: { text: "Hi" },
      }))
    ),
    {
      of: "langchain-ai/langchain#24668, anomalyco/opencode#1680",
      by: ["chat", "mistral"],
      asks: {
        ...CHAT_TOOLS,
        messages: [
          ...USERS,
          {
            role: "assistant",
            content: null,
            tool_calls: [call("f", "{}", { id: "call_0fypS1hVX" })],
          },
          { role: "tool", tool_call_id: "call_0fypS1hVX", content: "1" },
        ],
      },
      check: ({ sent }) => {
        const [, { tool_calls: [{ id }] }, result] = sent!.messages;
        assert(/^[A-Za-z0-9]{9}$/.test(id), id);
        assertEquals(result.tool_call_id, id);
      },
    },
    {
      of: "Wei-Shaw/sub2api#176, avante-corp/avante.nvim#425",
      by: ["messages", "anthropic"],
      asks: {
        messages: [{
          role: "user",
          content: Array.from({ length: 6 }, (_, at) => ({
            type: "text",
            text: `${at}`,
            cache_control: { type: "ephemeral" },
          })),
        }],
      },
      adjusted: /cache_control=4 of 6/,
      check: ({ sent }) =>
        assertEquals(
          sent!.messages[0].content.map((block: Body) => block.cache_control !== undefined),
          [false, false, true, true, true, true],
        ),
    },
  ],
  "Right alone, refused together": [
    {
      of: "maximhq/bifrost#4942",
      by: ["messages", "anthropic"],
      asks: {
        messages: turnOfMessages(),
        ...MESSAGES_TOOLS,
        thinking: { type: "enabled", budget_tokens: 1024 },
        max_tokens: 2000,
      },
      sends: { thinking: undefined },
      adjusted: /thinking/,
    },
    ...(["chat", "messages"] as const).map((client): Report => ({
      of: "usestrix/strix#503, mastra-ai/mastra#7507",
      by: [client, "anthropic"],
      asks: client === "chat"
        ? { ...CHAT_TOOLS, tool_choice: "required", reasoning_effort: "high" }
        : {
          ...MESSAGES_TOOLS,
          tool_choice: { type: "any" },
          thinking: { type: "enabled", budget_tokens: 1024 },
          max_tokens: 2000,
        },
      sends: { tool_choice: { type: "any" } },
      check: ({ sent }) =>
        assert(sent!.thinking?.type !== "enabled" && sent!.thinking?.type !== "adaptive"),
      adjusted: /thinking/,
    })),
    ...CLIENTS.map((client): Report => ({
      of: "deepseek-ai/DeepSeek-V3#1376, can1357/oh-my-pi#7315",
      by: [client, "deepseek"],
      asks: {
        chat: { ...CHAT_TOOLS, tool_choice: "required" },
        messages: { ...MESSAGES_TOOLS, tool_choice: { type: "any" } },
        responses: {
          tools: [{ type: "function", name: "f", parameters: {} }],
          tool_choice: "required",
        },
      }[client],
      sends: { tool_choice: "required", thinking: { type: "disabled" } },
    })),
    {
      of: "cloudwego/eino#994, can1357/oh-my-pi#886",
      by: ["chat", "dashscope"],
      asks: { ...CHAT_TOOLS, tool_choice: "required", enable_thinking: true },
      sends: { tool_choice: "required", enable_thinking: false },
      adjusted: /thinking=disabled/,
    },
    ...(["chat", "messages"] as const).map((client): Report => ({
      of: "router-for-me/CLIProxyAPI#1125",
      by: [client, "anthropic"],
      asks: { temperature: 0.5, top_p: 0.9 },
      sends: { temperature: 0.5, top_p: undefined },
      adjusted: /top_p/,
    })),
    {
      of: "higress-group/higress#4107, liuw1535/antigravity2api-nodejs#149",
      by: ["chat", "budget"],
      asks: { thinking: { type: "enabled", budget_tokens: 1_500 }, max_tokens: 2_000 },
      sends: { thinking: { type: "enabled", budget_tokens: 1_500 }, max_tokens: 2_000 },
    },
    {
      of: "higress-group/higress#4107, liuw1535/antigravity2api-nodejs#149",
      by: ["messages", "budget"],
      asks: { thinking: { type: "enabled", budget_tokens: 5_000 }, max_tokens: 2_000 },
      sends: { thinking: { type: "enabled", budget_tokens: 1_600 }, max_tokens: 2_000 },
    },
    ...(["chat", "messages"] as const).map((client): Report => ({
      of: "danny-avila/LibreChat#11949, BerriAI/litellm#33203",
      by: [client, "budget"],
      asks: {
        temperature: 0.05,
        thinking: { type: "enabled", budget_tokens: 1_024 },
        max_tokens: 2_000,
      },
      check: ({ sent }) =>
        assert(sent.temperature === undefined || sent.thinking === undefined, JSON.stringify(sent)),
    })),
    ...CLIENTS.flatMap((client) =>
      [[], undefined, null].map((tools): Report => ({
        of: "runebookai/tome#87, Wei-Shaw/sub2api#4439",
        by: [client, "chat"],
        asks: { tools, tool_choice: client === "messages" ? { type: "auto" } : "auto" },
        sends: { tools: undefined, tool_choice: undefined },
      }))
    ),
    {
      of: "BerriAI/litellm#29431",
      by: ["chat", "chat"],
      asks: { stream_options: { include_usage: true } },
      sends: { stream_options: undefined },
    },
    {
      of: "NousResearch/hermes-agent#11906",
      by: ["chat", "msg"],
      asks: { messages: turn("c1"), ...CHAT_TOOLS },
      check: ({ sent }) =>
        assertEquals(sent!.messages[1].content.map(({ type }: Json) => type), ["tool_use"]),
    },
    {
      of: "NousResearch/hermes-agent#11906",
      by: ["messages", "anthropic"],
      asks: {
        ...MESSAGES_TOOLS,
        system: [{ type: "text", text: "" }],
        messages: [
          ...USERS,
          {
            role: "assistant",
            content: [{ type: "text", text: "" }, {
              type: "tool_use",
              id: "t",
              name: "f",
              input: {},
            }],
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "1" }] },
        ],
      },
      sends: { system: undefined },
      check: ({ sent }) =>
        assertEquals(sent!.messages[1].content.map(({ type }: Json) => type), ["tool_use"]),
    },
    {
      of: "letta-ai/letta#3308, tinyhumansai/openhuman#2717",
      by: ["chat", "msg"],
      asks: {
        messages: [...turn("c1").slice(0, 2), { role: "user", content: "Go on" }],
        ...CHAT_TOOLS,
      },
      check: ({ sent }) => assertEquals(sent!.messages[2].content[0].type, "tool_result"),
    },
    {
      of: "letta-ai/letta#3308, tinyhumansai/openhuman#2717",
      by: ["messages", "chat"],
      asks: {
        messages: [{
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "gone", content: "2" }],
        }],
        ...MESSAGES_TOOLS,
      },
      check: ({ sent }) => assertEquals(sent!.messages.map(({ role }: Json) => role), ["user"]),
    },
  ],
  "Across dialects": [
    {
      of: "Gitlawb/openclaude#67, musistudio/claude-code-router#1032, 8monkey-ai/hebo-gateway#171",
      by: ["messages", "chat"],
      asks: MESSAGES_TOOLS,
      says: reply({
        content: null,
        ...calls(
          call("one", "{}", { id: "x", extra_content: { google: { thought_signature: "sig" } } }),
        ),
      }, "tool_calls"),
      again: ({ content }) => ({
        messages: [...USERS, { role: "assistant", content }, {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: content.at(-1).id, content: "2" }],
        }],
      }),
      check: ({ sent }) =>
        assertEquals(sent!.messages[1].tool_calls[0].extra_content, {
          google: { thought_signature: "sig" },
        }),
    },
    {
      of: "SecretiveShell/MCP-Bridge#48",
      by: ["messages", "chat"],
      asks: MESSAGES_TOOLS,
      says: {
        ...reply(""),
        choices: [
          { message: { role: "assistant", content: "I look." }, finish_reason: "tool_calls" },
          {
            message: { role: "assistant", content: null, ...calls(call("one", "{}", { id: "x" })) },
            finish_reason: "tool_calls",
          },
        ],
      } as Body,
      hears: { text: "I look.", calls: ["one{}"], finish: "tool_use" },
    },
    {
      of: "BerriAI/litellm-docs#1024, getzep/graphiti#1752",
      by: ["chat", "resp"],
      asks: {
        response_format: { type: "json_schema", json_schema: { name: "mine", schema: parameters } },
      },
      check: ({ sent }) => {
        const { name, strict } = sent!.text.format;
        assert(name === "mine" && strict !== true);
      },
    },
    {
      of: "praxis-proxy/ai#387, danny-avila/LibreChat#13798, browser-use/browser-use#4294",
      by: ["messages", "chat"],
      says: reply("Hi", "stop", {
        usage: { ...USAGE, prompt_tokens_details: { cached_tokens: 8 } },
      }),
      hears: { usage: [2, 8, 5] },
      charged: [10, 8, 5],
    },
    {
      of: "praxis-proxy/ai#387, danny-avila/LibreChat#13798, browser-use/browser-use#4294",
      by: ["chat", "msg"],
      says: messageReply({ input_tokens: 2, cache_read_input_tokens: 8, output_tokens: 5 }),
      hears: { usage: [10, 8, 5] },
      charged: [10, 8, 5],
    },
    {
      of: "diegosouzapw/OmniRoute#11529",
      by: ["chat", "resp"],
      asks: { response_format: { type: "json_object" } },
      check: ({ sent }) => assertEquals(sent.text.format, { type: "json_object" }),
    },
    ...(["stop_reason", "matched_stop"] as const).flatMap((field) =>
      [false, true].map((stream): Report => ({
        of: "agentgateway/agentgateway#3283, vllm-project/vllm#45807",
        by: ["messages", "chat"],
        asks: { stream, stop_sequences: ["END"] },
        says: stream
          ? sse(
            chunk({ content: "Hi" }),
            JSON.stringify({
              id: "c",
              choices: [{ index: 0, delta: {}, finish_reason: "stop", [field]: "END" }],
            }),
            "[DONE]",
          )
          : {
            ...reply(""),
            choices: [{ message: { content: "Hi" }, finish_reason: "stop", [field]: "END" }],
          },
        hears: { text: "Hi", finish: "stop_sequence" },
        sends: { stop: ["END"] },
      }))
    ),
    {
      of: "router-for-me/CLIProxyAPI#4890, musistudio/claude-code-router#1378",
      by: ["messages", "deepseek"],
      asks: { ...MESSAGES_TOOLS, ...REASONING.messages },
      says: reply(
        { reasoning_content: "why", content: null, ...calls(call("one", "{}", { id: "x" })) },
        "tool_calls",
      ),
      again: ({ content }) => ({
        messages: [...USERS, { role: "assistant", content }, {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: content.at(-1).id, content: "2" }],
        }],
      }),
      check: ({ sent }) => assertEquals(sent.messages[1].reasoning_content, "why"),
    },
    ...CLIENTS.map((client): Report => ({
      of: "langchain-ai/langchain#39668",
      by: [client, "chat"],
      says: reply("Hi", "stop", {
        usage: { ...USAGE, prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 2 },
      }),
      hears: { usage: client === "messages" ? [2, 8, 5] : [10, 8, 5] },
      charged: [10, 8, 5],
    })),
    ...CLIENTS.map((client): Report => ({
      of: "praxis-proxy/ai#266, router-for-me/CLIProxyAPI#4655",
      by: [client, "chat"],
      asks: { ...STREAM, ...TOOLS[client] },
      says: chat([
        calls(call("one", "", { index: 0, id: "x" }), call("two", "", { index: 1, id: "y" })),
        calls(call(undefined, '{"a"', { index: 1 }), call(undefined, '{"a"', { index: 0 })),
        calls(call(undefined, ":1}", { index: 0 }), call(undefined, ":2}", { index: 1 })),
      ], "tool_calls"),
      hears: { calls: ['one{"a":1}', 'two{"a":2}'] },
    })),
    {
      of: "NVIDIA-NeMo/Switchyard#502, NousResearch/hermes-agent#102629",
      by: ["messages", "chat"],
      asks: { messages: turnOfMessages("call_0"), ...MESSAGES_TOOLS },
      says: reply({ content: null, ...calls(call("one", "{}", { id: "call_0" })) }, "tool_calls"),
      check: ({ body }) => assert(body.content[0].id !== "call_0", body.content[0].id),
    },
    {
      of: "NVIDIA-NeMo/Switchyard#502, NousResearch/hermes-agent#102629",
      by: ["chat", "resp"],
      asks: { messages: [...turn("terminal:0"), ...turn("terminal:0")], ...CHAT_TOOLS },
      check: ({ sent }) => {
        const of = (type: string) =>
          sent!.input.filter((one: Json) => one.type === type).map((one: Json) => one.call_id);
        assertEquals(new Set(of("function_call")).size, 2);
        assertEquals(of("function_call"), of("function_call_output"));
      },
    },
    ...(["messages", "responses"] as const).map((client): Report => ({
      of: "router-for-me/CLIProxyAPI#4737, diegosouzapw/OmniRoute#8459",
      by: [client, "chat"],
      asks: client === "messages"
        ? {
          messages: turnOfMessages("c1", [{ type: "text", text: "shot" }, {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: PIXEL },
          }]),
          ...MESSAGES_TOOLS,
        }
        : {
          input: [
            ...USERS,
            { type: "function_call", call_id: "c1", name: "one", arguments: "{}" },
            {
              type: "function_call_output",
              call_id: "c1",
              output: [{ type: "input_text", text: "shot" }, {
                type: "input_image",
                image_url: `data:image/png;base64,${PIXEL}`,
              }],
            },
          ],
          ...RESPONSES_TOOLS,
        },
      check: ({ sent }) => {
        const [result, user] = sent!.messages.slice(2);
        assertEquals([result.role, result.content, user.role], [
          "tool",
          "shot\n[image 1, see below]",
          "user",
        ]);
        assert(user.content.some((one: Json) => one.type === "image_url"));
      },
    })),
    {
      of: "musistudio/claude-code-router#1372, anthropics/claude-code#68900",
      by: ["messages", "chat"],
      asks: {
        system: [{ type: "text", text: "x-anthropic-billing-header: cc_version=2.1; cch=36ee5;" }, {
          type: "text",
          text: "Be brief.",
        }],
      },
      check: ({ sent }) => assert(!JSON.stringify(sent).includes("billing"), JSON.stringify(sent)),
    },
    ...CLIENTS.flatMap((client) =>
      [false, true].map((stream): Report => ({
        of: "BerriAI/litellm#20246, azrtydxb/Fastllm-proxy#23",
        by: [client, "chat"],
        asks: { stream, ...REASONING[client] },
        says: stream
          ? chat([{ reasoning: "why" }, { content: "so" }])
          : reply({ reasoning: "why", content: "so" }),
        hears: { reasoning: "why", text: "so" },
      }))
    ),
    ...CLIENTS.map((client): Report => ({
      of: "earendil-works/pi#8943",
      by: [client, "chat"],
      asks: TOOLS[client],
      says: reply({
        content: null,
        ...calls(call("one", '{"a":2512292042121000001}', { id: "x" })),
      }, "tool_calls"),
      check: ({ text }) => assert(text.includes("2512292042121000001"), text),
    })),
    {
      of: "router-for-me/CLIProxyAPI#1584, NousResearch/hermes-agent#24401",
      by: ["messages", "anthropic"],
      asks: MESSAGES_TOOLS,
      first: "chat",
      says: (upstream) =>
        Response.json(
          upstream === "chat" ? reply({ reasoning_content: "why", content: "so" }) : PLAIN.messages,
        ),
      again: ({ content }) => ({
        messages: [...USERS, { role: "assistant", content }, { role: "user", content: "Go on" }],
      }),
      check: ({ sent }) =>
        assertEquals(sent!.messages[1].content.map(({ type }: Json) => type), ["text"]),
    },
    {
      of: "routatic/proxy#42, decolua/9router#1468",
      by: ["messages", "chat"],
      asks: {
        system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
        messages: [{
          role: "user",
          content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }],
        }],
        context_management: { edits: [] },
      },
      check: ({ sent }) => assert(!/cache_control|context_management/.test(JSON.stringify(sent))),
    },
    ...[false, true].map((stream): Report => ({
      of: "decolua/9router#1371, awsl-project/maxx#813",
      by: ["responses", "chat"],
      asks: {
        stream,
        tools: [{
          type: "custom",
          name: "apply_patch",
          format: { type: "grammar", syntax: "lark", definition: "start: /.+/s" },
        }],
      },
      says: stream
        ? chat([
          calls(call("apply_patch", '{"input":"*** Begin', { index: 0, id: "x" })),
          calls(call(undefined, ' Patch"}', { index: 0 })),
        ], "tool_calls")
        : reply({
          content: null,
          ...calls(call("apply_patch", '{"input":"*** Begin Patch"}', { id: "x" })),
        }, "tool_calls"),
      hears: { calls: ["apply_patch:*** Begin Patch"] },
    })),
    ...[LONG_NAME, "n".repeat(150), "fs.read", "mcp:a/b c", "名"].flatMap((name) =>
      ([["messages", "chat"], ["chat", "msg"], ["chat", "resp"]] as const).map((by): Report => ({
        of: "anthropics/claude-code#21136, cline/cline#11885",
        by,
        asks: by[0] === "chat"
          ? { tools: [{ type: "function", function: { name, parameters } }] }
          : { tools: [{ name, input_schema: parameters }] },
        says: (upstream, { tools: [tool] }) =>
          Response.json(calling(upstream, tool.function?.name ?? tool.name)),
        hears: { calls: [`${name}{}`] },
        check: ({ sent }) => {
          const own = sent!.tools[0].function?.name ?? sent!.tools[0].name;
          assert(/^[A-Za-z0-9_-]+$/.test(own) && own.length <= (by[1] === "msg" ? 128 : 64), own);
        },
      }))
    ),
    {
      of: "NousResearch/hermes-agent#55432, BerriAI/litellm#24900",
      by: ["chat", "msg"],
      asks: {
        messages: [{
          role: "user",
          content: [{ type: "image_url", image_url: { url: `data:image/jpg;base64,${PIXEL}` } }],
        }],
      },
      check: ({ sent }) =>
        assertEquals(sent!.messages[0].content[0].source.media_type, "image/png"),
    },
    ...CLIENTS.map((client): Report => ({
      of: "BerriAI/litellm#35021",
      by: [client, "chat"],
      asks: STREAM,
      says: chat([{ reasoning_text: "Hm" }, { content: "Hi", reasoning_opaque: "x" }]),
      hears: { text: "Hi", reasoning: "Hm" },
    })),
  ],
  "One fact, several envelopes": [
    ...[400, 413].map((code): Report => ({
      of: "azrtydxb/Fastllm-proxy#28, diegosouzapw/OmniRoute#8210",
      by: ["chat", "chat"],
      says: { error: { message: "Invalid value for tools[0]", code } },
      hears: { status: 400, error: "Invalid value for tools[0]" },
      requests: 1,
    })),
    {
      of: "azrtydxb/Fastllm-proxy#28, diegosouzapw/OmniRoute#8210",
      by: ["chat", "two"],
      says: (upstream) =>
        Response.json(
          upstream === "first" ? { error: { message: "no such key", code: 401 } } : reply("second"),
        ),
      hears: { status: 200, text: "second" },
    },
    ...[false, true].map((stream): Report => ({
      of: "vllm-project/vllm#53269",
      by: ["messages", "chat"],
      asks: { stream, ...MESSAGES_TOOLS },
      says: stream
        ? chat([calls(call("one", '{"a": "unfi', { index: 0, id: "x" }))], "length")
        : reply({ content: null, ...calls(call("one", '{"a": "unfi', { id: "x" })) }, "length"),
      hears: { status: 200, finish: "max_tokens", error: undefined },
    })),
    ...CLIENTS.map((client): Report => ({
      of: "anomalyco/opencode#43379",
      by: [client, "chat"],
      asks: STREAM,
      says: sse(chunk({ content: "Hi" }, ""), chunk({}, ""), "[DONE]"),
      hears: {
        text: "Hi",
        error: "The upstream closed the stream early.",
      },
    })),
    ...CLIENTS.flatMap((client) =>
      [false, true].map((stream): Report => ({
        of: "BerriAI/litellm#18493",
        by: [client, "chat"],
        asks: { stream },
        says: stream
          ? sse(
            chunk({ content: "Hi" }, null, { error: EMPTY_ERROR }),
            chunk({}, "stop", { error: EMPTY_ERROR }),
            "[DONE]",
          )
          : reply("Hi", "stop", { error: EMPTY_ERROR }),
        hears: { status: 200, text: "Hi" },
      }))
    ),
    ...[false, true].flatMap((stream): Report[] => {
      const failed = (said: Body) =>
        stream
          ? eventStream(sse(JSON.stringify({ id: "x", object: "chat.completion.chunk", ...said })))
          : Response.json({ id: "x", object: "chat.completion", ...said });
      const says = (upstream: string) => {
        if (upstream === "second") {
          return stream
            ? eventStream(chat([{ content: "second" }]))
            : Response.json(reply("second"));
        }
        const error = { code: 429, message: "Rate limited" };
        const message = { role: "assistant", content: "" };
        return failed({
          choices: [{
            index: 0,
            finish_reason: "error",
            error,
            [stream ? "delta" : "message"]: message,
          }],
        });
      };
      const of = "nodetool-ai/nodetool#5755";
      return [
        {
          of,
          by: ["chat", "busy"],
          asks: { stream },
          says,
          hears: { status: 200, text: "second", error: undefined },
        },
        {
          of,
          by: ["chat", "chat"],
          asks: { stream },
          says,
          hears: { status: 429, error: "The upstream is over its rate limit. Please try again." },
        },
      ];
    }),
    ...CLIENTS.flatMap((client) =>
      [false, true].map((stream): Report => ({
        of: "XpressAI/xaibo#36",
        by: [client, "busy"],
        asks: { stream },
        says: (upstream) =>
          upstream === "second"
            ? stream ? eventStream(chat([{ content: "second" }])) : Response.json(reply("second"))
            : stream
            ? eventStream(sse(JSON.stringify({ error: "overloaded" })))
            : Response.json({ error: "overloaded" }),
        hears: { status: 200, text: "second", error: undefined },
      }))
    ),
    {
      of: "XpressAI/xaibo#36",
      by: ["chat", "busy"],
      says: (upstream) =>
        Response.json(
          upstream === "chat"
            ? { code: "rate_limit_daily", message: "Error code: 429" }
            : reply("second"),
        ),
      hears: { status: 200, text: "second" },
    },
    ...([
      [{
        object: "error",
        message: { detail: [{ loc: ["body"], msg: "Extra inputs" }] },
        code: null,
      }, "body: Extra inputs"],
      [{ detail: [{ loc: ["body"], msg: "Extra inputs" }] }, "body: Extra inputs"],
      [{ error: { message: { detail: "Extra inputs" } } }, "Extra inputs"],
      [{ success: false, errors: [{ message: "Extra inputs" }] }, "Extra inputs"],
      [{ code: 1210, msg: "Extra inputs" }, "Extra inputs"],
    ] as const).map(([body, error]): Report => ({
      of: "openai/openai-agents-python#442",
      by: ["messages", "chat"],
      says: () => Response.json(body, { status: 422 }),
      hears: { status: 400, error },
      requests: 1,
    })),
    ...[200, 502].map((status): Report => ({
      of: "lynote-ai/humanize-text#55",
      by: ["messages", "two"],
      says: (upstream) =>
        upstream === "first"
          ? new Response("<!doctype html>", { status, headers: { "content-type": "text/html" } })
          : Response.json(reply("second")),
      hears: status === 200 ? { status: 503 } : { status: 200, text: "second" },
      requests: status === 200 ? 1 : 2,
    })),
    ...CLIENTS.map((client): Report => ({
      of: "Oaklight/llm-rosetta#454, bigduu/Bamboo-agent#405",
      by: [client, "chat"],
      asks: STREAM,
      says: sse(
        chunk({ content: "Hi" }),
        JSON.stringify({ error: { message: "overloaded", code: 503 } }),
      ),
      hears: { status: 200, text: "Hi" },
      check: ({ heard }) => assert(heard.error !== undefined),
      charged: [0, 0, 0],
    })),
    ...CLIENTS.map((client): Report => ({
      of: "BerriAI/litellm#32159, Soju06/codex-lb#1833",
      by: [client, "msg"],
      asks: STREAM,
      says: message(TEXT_BLOCK).replace(/event: message_delta[^]*/, ""),
      hears: { text: "Hi", error: "The upstream closed the stream early." },
    })),
    ...CLIENTS.map((client): Report => ({
      of: "anomalyco/opencode#15828, mistralai/mistral-vibe#619",
      by: [client, "chat"],
      asks: STREAM,
      says: () => Response.json(reply("whole")),
      hears: { status: 200, text: "whole" },
      charged: [10, 0, 5],
    })),
    ...CLIENTS.map((client): Report => ({
      of: "simonw/llm-gemini#97, unslothai/unsloth#6570",
      by: [client, "chat"],
      says: chat([{ content: "a " }, { content: "stream" }], "stop", { usage: USAGE }),
      hears: { text: "a stream", usage: [10, 0, 5] },
    })),
    ...[
      { message: "API key not valid. Please pass a valid API key.", code: 400 },
      {
        message: "Your credit balance is too low to access the Anthropic API.",
        type: "invalid_request_error",
      },
    ].flatMap((error) =>
      [400, 200].map((status): Report => ({
        of: "yym68686/uni-api#140, anthropics/claude-code#4684",
        by: ["chat", "two"],
        says: (upstream) =>
          upstream === "first"
            ? Response.json([{ error }], { status })
            : Response.json(reply("second")),
        hears: { status: 200, text: "second" },
        requests: 2,
      }))
    ),
    ...["two", "first"].map((model): Report => ({
      of: "openclaw/openclaw#147644",
      by: ["chat", model],
      says: (upstream) =>
        upstream === "first"
          ? Response.json({ error: TOO_LARGE }, { status: 413 })
          : Response.json(reply("second")),
      hears: model === "two" ? { text: "second" } : { status: 400, error: TOO_LARGE.message },
    })),
    {
      of: "jin-bo/agentao#88",
      by: ["chat", "first"],
      says: () =>
        Response.json({
          __type: "ThrottlingException",
          message: "Too many tokens, please wait before trying again.",
        }, { status: 400 }),
      hears: { status: 429 },
    },
    {
      of: "can1357/oh-my-pi#449",
      by: ["messages", "chat"],
      says: () =>
        Response.json({
          error: {
            message: JSON.stringify({
              error: { code: 400, message: "Unknown name", status: "INVALID_ARGUMENT" },
            }),
            code: 400,
            status: "Bad Request",
          },
        }, { status: 400 }),
      hears: { status: 400, error: "Unknown name" },
    },
  ],
  "Constants and letters of makers": [
    ...["GZIP", "gzip, identity"].map((coding): Report => ({
      of: "yuki-uix/agent-cost-lab#12",
      by: ["chat", "chat"],
      says: () => packed(coding),
      hears: { text: "packed" },
    })),
    ...([
      ["model_context_window_exceeded", "max_tokens"],
      ["MAX_TOKENS", "max_tokens"],
      ["SAFETY", "refusal"],
      ["eos", "end_turn"],
    ] as const).map(([reason, finish]): Report => ({
      of: "theopenco/llmgateway#3254, BerriAI/litellm#40861",
      by: ["messages", "chat"],
      says: reply("Hi", reason),
      hears: { finish },
    })),
    ...["network_error", "insufficient_system_resource"].map((reason): Report => ({
      of: "theopenco/llmgateway#3254, BerriAI/litellm#40861",
      by: ["messages", "chat"],
      says: reply("Hi", reason),
      hears: { status: 503 },
      charged: [0, 0, 0],
    })),
    {
      of: "oobabooga/textgen#7257, ggml-org/llama.cpp#15780, jundot/omlx#26",
      by: ["messages", "chat"],
      says: () =>
        Response.json({
          error: {
            code: 400,
            message:
              "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
            type: "exceed_context_size_error",
            n_prompt_tokens: 9000,
            n_ctx: 8192,
          },
        }, { status: 400 }),
      hears: { status: 400 },
      check: ({ heard }) =>
        assert(
          heard.error!.startsWith("prompt is too long: 9000 tokens > 8192 maximum"),
          heard.error,
        ),
    },
    ...[
      [
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 202752]",
        "",
      ],
      [
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        ": 131393 tokens > 131040 maximum",
      ],
      ["Input Tokens Exceeded: Number of input tokens exceeds maximum length.", ""],
    ].flatMap(([message, numbers]) =>
      [400, 500].map((status): Report => ({
        of: "proma-ai/Proma#1045, earendil-works/pi#4943, openclaw/openclaw#58839",
        by: ["messages", "chat"],
        says: () => Response.json({ error: { message } }, { status }),
        hears: { status: 400, error: `prompt is too long${numbers} (${message})` },
        requests: 1,
      }))
    ),
    {
      of: "JustVugg/colibri#986, QwenLM/qwen-code#921, quelmap-inc/quelmap#4",
      by: ["responses", "chat"],
      sends: { temperature: undefined, top_p: undefined },
      check: ({ body }) => assertEquals([body.temperature, body.top_p], [1, 1]),
    },
    ...CLIENTS.map((client): Report => ({
      of: "assafelovic/gpt-researcher#1775, tashfeenahmed/freellmapi#980, BlockRunAI/Franklin#109",
      by: [client, "chat"],
      asks: { [client === "responses" ? "max_output_tokens" : "max_tokens"]: 131_072 },
      hears: { status: 200 },
      sends: { max_tokens: 32_000 },
    })),
    {
      of: "router-for-me/CLIProxyAPI#4428, langchain-ai/langchain#39271, BerriAI/litellm#31527",
      by: ["chat", "anthropic"],
      asks: {
        tools: [{
          type: "function",
          function: {
            name: "one",
            parameters: {
              anyOf: [parameters, { type: "object", properties: { b: { type: "string" } } }],
            },
          },
        }],
      },
      adjusted: /tools\.input_schema\.anyOf/,
      check: ({ sent }) => {
        const { input_schema: schema } = sent!.tools[0];
        assertEquals([schema.type, schema.anyOf, Object.keys(schema.properties)], [
          "object",
          undefined,
          ["a", "b"],
        ]);
      },
    },
    {
      of: "laravel/ai#715, vercel/ai#14372",
      by: ["chat", "anthropic"],
      asks: {
        response_format: {
          type: "json_schema",
          json_schema: {
            name: "n",
            schema: {
              type: "object",
              properties: { a: { type: "integer", minimum: 1 } },
              required: ["a"],
            },
          },
        },
      },
      check: ({ sent }) => {
        const { schema } = sent!.output_config.format;
        assertEquals([schema.properties.a.minimum, schema.additionalProperties], [
          undefined,
          false,
        ]);
        assert(schema.properties.a.description.includes("minimum"));
      },
    },
    {
      of: "vercel/ai#2124, tailcallhq/forgecode#1872",
      by: ["chat", "anthropic"],
      asks: { messages: [...USERS, { role: "assistant", content: "So: " }] },
      check: ({ sent }) => assert(/"So:"/.test(JSON.stringify(sent!.messages[1].content))),
    },
    {
      of: "duolahypercho/codex-router#573, api7/aisix#144",
      by: ["chat", "chat"],
      says: () =>
        Response.json({ error: { message: "slow down" } }, {
          status: 429,
          headers: { "retry-after": new Date(Date.now() + 40_000).toUTCString() },
        }),
      hears: { status: 429 },
      check: ({ headers }) => {
        const seconds = Number(headers.get("retry-after"));
        assert(seconds > 20 && seconds <= 41, `${seconds}`);
      },
    },
    {
      of: "openai/openai-python#957",
      by: ["chat", "chat"],
      says: () =>
        Response.json({ error: { message: "slow down" } }, {
          status: 429,
          headers: { "retry-after-ms": "1500", "retry-after": "9" },
        }),
      hears: { status: 429 },
      check: ({ headers }) => assertEquals(headers.get("retry-after"), "2"),
    },
    ...(["chat", "messages"] as const).map((client): Report => ({
      of: "danny-avila/LibreChat#4349, router-for-me/CLIProxyAPI#2101",
      by: [client, "openai"],
      asks: { max_tokens: 500 },
      sends: { max_tokens: undefined, max_completion_tokens: 500 },
    })),
    ...CLIENTS.map((client): Report => ({
      of: "router-for-me/CLIProxyAPI#1307, diegosouzapw/OmniRoute#10160",
      by: [client, "chat"],
      asks: client === "chat"
        ? { reasoning_effort: "xhigh" }
        : client === "messages"
        ? { output_config: { effort: "xhigh" } }
        : { reasoning: { effort: "xhigh" } },
      sends: { reasoning_effort: "high" },
      adjusted: /reasoning_effort=high/,
    })),
    ...([
      ["msg", "advisor-tool-2026-03-01,context-1m-2025-08-07", "2023-06-01"],
      ["chat", "prompt-caching-scope-2026-01-05", null],
    ] as const).map(([model, beta, version]): Report => ({
      of: "mnfst/llm-gateway#2910, anthropics/claude-code#13770, QuantumNous/new-api#2975",
      by: ["messages", model],
      headers: { "anthropic-beta": beta },
      check: ({ received: { headers } }) => {
        const passed = version === null ? null : beta;
        assertEquals([headers.get("anthropic-beta"), headers.get("anthropic-version")], [
          passed,
          version,
        ]);
      },
    })),
    {
      of: "BerriAI/litellm#13252, router-for-me/CLIProxyAPI#679",
      by: ["messages", "chat"],
      path: "/v1/messages/count_tokens?beta=true",
      asks: { system: CYRILLIC, ...MESSAGES_TOOLS },
      requests: 0,
      check: ({ body }) => assert(body.input_tokens > 200, `${body.input_tokens}`),
    },
    {
      of: "musistudio/claude-code-router#1746",
      by: ["chat", "chat"],
      check: ({ received }) => assert(!/zstd/.test(received.headers.get("accept-encoding") ?? "")),
    },
  ],
};
