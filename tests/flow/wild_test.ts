/** What clients and upstreams really send, where it departs from what is documented, through a whole gateway. */

import type { JsonObject } from "../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import {
  chunk,
  completion,
  eventStream,
  fakeUpstream,
  type Received,
  sse,
} from "../fake/upstream.ts";

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const RESPONSES = "/v1/responses";

/** What came of one request. */
interface Outcome {
  readonly status: number;
  readonly text: string;
  // deno-lint-ignore no-explicit-any -- replies of three dialects
  readonly body: any;
  /** What each upstream was sent, by its name. */
  readonly sent: Partial<Readonly<Record<string, readonly Received[]>>>;
  readonly headers: Headers;
}

/** A request, what its upstreams reply, and what should come of it. */
interface Row {
  readonly name: string;
  readonly path: string;
  readonly model: string;
  readonly body: JsonObject;
  readonly replies: (upstream: string) => Response;
  readonly check: (outcome: Outcome) => void;
}

const USERS = [{ role: "user", content: "Hi" }];
const TOOL = { type: "function", function: { name: "calc", parameters: { type: "object" } } };
const ASKED = { messages: USERS };
const STREAMED = { ...ASKED, stream: true };
const OF_MESSAGES = { ...ASKED, max_tokens: 500 };

const role = chunk({ role: "assistant", content: "" });
const failed = JSON.stringify({ error: { message: "overloaded", type: "server_error" } });
const called = (args?: string) => ({
  role: "assistant",
  content: null,
  tool_calls: [{
    id: "c1",
    type: "function",
    function: { name: "calc", ...(args === undefined ? {} : { arguments: args }) },
  }],
});
const MESSAGE = {
  id: "m",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 3, output_tokens: 1 },
};
/** What an upstream says of a request, at length. */
const LONG = `Invalid: ${"each field is at fault, ".repeat(200)}and so is the last.`;
const choices = (...all: JsonObject[]) => completion("", { choices: all });

const ROWS: readonly Row[] = [
  {
    name: "an error in the same piece as the first event has the next target asked",
    path: CHAT,
    model: "two",
    body: STREAMED,
    replies: (upstream) =>
      upstream === "chat"
        ? eventStream(sse(role, failed))
        : eventStream(sse(role, chunk({ content: "second" }), chunk({}, "stop"), "[DONE]")),
    check: ({ text, sent }) => {
      assert(text.includes("second") && !text.includes("error"), text);
      assertEquals([sent.chat!.length, sent.second!.length], [1, 1]);
    },
  },
  {
    name: "the last event has no blank line",
    path: CHAT,
    model: "chat",
    body: STREAMED,
    replies: () => eventStream(sse(role, chunk({ content: "Hi" })), `data: ${chunk({}, "stop")}`),
    check: ({ text }) => assert(text.includes('"stop"') && text.includes("[DONE]"), text),
  },
  {
    name: "an empty finish reason is none: a stream that has no other breaks off",
    path: CHAT,
    model: "chat",
    body: STREAMED,
    replies: () => eventStream(sse(role, chunk({ content: "Hi" }, ""), chunk({}, ""), "[DONE]")),
    check: ({ text }) => assert(text.includes("closed the stream early"), text),
  },
  ...[400, 413].map((code): Row => ({
    name: `an error of code ${code} inside a 200 is the client's, and asked for once`,
    path: CHAT,
    model: "chat",
    body: ASKED,
    replies: () => Response.json({ error: { message: "Invalid value for tools[0]", code } }),
    check: ({ status, body, sent }) => {
      assertEquals([status, body.error.message], [400, "Invalid value for tools[0]"]);
      assertEquals(sent.chat!.length, 1);
    },
  })),
  {
    name: "an error of code 401 inside a 200 is the operator's: another target is asked",
    path: CHAT,
    model: "two",
    body: ASKED,
    replies: (upstream) =>
      upstream === "chat"
        ? Response.json({ error: { message: "no such key", code: 401 } })
        : completion("second"),
    check: ({ body }) => assertEquals(body.choices[0].message.content, "second"),
  },
  ...[undefined, ""].flatMap((args): Row[] => [
    {
      name: `a call ${args === "" ? "with empty" : "without"} arguments has {}, whole`,
      path: CHAT,
      model: "chat",
      body: { ...ASKED, tools: [TOOL] },
      replies: () => choices({ index: 0, message: called(args), finish_reason: "tool_calls" }),
      check: ({ body }) =>
        assertEquals(body.choices[0].message.tool_calls[0].function.arguments, "{}"),
    },
    {
      name: `a call ${args === "" ? "with empty" : "without"} arguments has {}, streamed`,
      path: CHAT,
      model: "chat",
      body: { ...STREAMED, tools: [TOOL] },
      replies: () =>
        eventStream(
          sse(
            chunk({ ...called(args), tool_calls: [{ ...called(args).tool_calls[0], index: 0 }] }),
            chunk({}, "tool_calls"),
            "[DONE]",
          ),
        ),
      check: ({ text }) => {
        const args = [...text.matchAll(/"arguments":"((?:[^"\\]|\\.)*)"/g)].map(([, one]) => one);
        assertEquals(args.join(""), "{}", text);
      },
    },
  ]),
  {
    name: "a call that the limit cut off ends a whole reply as it does a stream",
    path: MESSAGES,
    model: "chat",
    body: { ...OF_MESSAGES, tools: [{ name: "calc", input_schema: { type: "object" } }] },
    replies: () => choices({ index: 0, message: called('{"a": "unfi'), finish_reason: "length" }),
    check: ({ status, body, sent }) => {
      assertEquals([status, body.stop_reason, body.content], [200, "max_tokens", []]);
      assertEquals(sent.chat!.length, 1);
    },
  },
  {
    name: "one answer in two choices is one",
    path: MESSAGES,
    model: "chat",
    body: OF_MESSAGES,
    replies: () =>
      choices(
        { message: { role: "assistant", content: "I look." }, finish_reason: "tool_calls" },
        { message: called('{"a":1}'), finish_reason: "tool_calls" },
      ),
    check: ({ body }) => {
      assertEquals(body.content.map(({ type }: { type: string }) => type), ["text", "tool_use"]);
      assertEquals(body.stop_reason, "tool_use");
    },
  },
  ...([
    ["model_context_window_exceeded", "max_tokens"],
    ["MAX_TOKENS", "max_tokens"],
    ["SAFETY", "refusal"],
    ["eos", "end_turn"],
  ] as const).map(([reason, stop]): Row => ({
    name: `the finish reason ${reason} is ${stop}`,
    path: MESSAGES,
    model: "chat",
    body: OF_MESSAGES,
    replies: () => choices({ message: { content: "Hi" }, finish_reason: reason }),
    check: ({ body }) => assertEquals(body.stop_reason, stop),
  })),
  ...["network_error", "insufficient_system_resource", "error"].map((reason): Row => ({
    name: `the finish reason ${reason} is a failure`,
    path: MESSAGES,
    model: "chat",
    body: OF_MESSAGES,
    replies: () => choices({ message: { content: "Hi" }, finish_reason: reason }),
    check: ({ status }) => assertEquals(status, 503),
  })),
  {
    name: "usage that a messages upstream leaves out is there",
    path: MESSAGES,
    model: "msg",
    body: { ...OF_MESSAGES, stream: true },
    replies: () =>
      eventStream(
        [
          {
            type: "message_start",
            message: { id: "m", type: "message", role: "assistant", content: [] },
          },
          { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
          { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
          { type: "content_block_stop", index: 0 },
          { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null } },
          { type: "message_stop" },
        ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
      ),
    check: ({ text }) => {
      const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!));
      const start = events.find(({ type }) => type === "message_start");
      const delta = events.find(({ type }) => type === "message_delta");
      assert(start.message.usage.input_tokens > 0 && delta.usage.output_tokens > 0, text);
    },
  },
  {
    name: "arguments that only their own event has are in the item",
    path: RESPONSES,
    model: "resp",
    body: { input: "Hi", stream: true },
    replies: () => {
      const item = { id: "fc_1", type: "function_call", call_id: "call_1", name: "calc" };
      const done = { ...item, status: "completed", arguments: "{}" };
      const response = { id: "r", status: "completed", output: [done] };
      return eventStream(
        [
          { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } },
          {
            type: "response.function_call_arguments.done",
            item_id: "fc_1",
            output_index: 0,
            arguments: '{"a":1}',
          },
          { type: "response.output_item.done", output_index: 0, item: done },
          { type: "response.completed", response },
        ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
      );
    },
    check: ({ text }) => {
      const [, done] = /event: response.output_item.done\ndata: (.*)\n/.exec(text)!;
      assertEquals(JSON.parse(done!).item.arguments, '{"a":1}');
    },
  },
  {
    name: "a coding of the reply is compared without regard to case",
    path: CHAT,
    model: "chat",
    body: ASKED,
    replies: () =>
      new Response(
        new Response(completion("packed").body!.pipeThrough(new CompressionStream("gzip"))).body,
        { headers: { "content-type": "application/json", "content-encoding": "GZIP" } },
      ),
    check: ({ body }) => assertEquals(body.choices[0].message.content, "packed"),
  },
  {
    name: "five stop sequences reach an upstream that takes five",
    path: MESSAGES,
    model: "msg",
    body: { ...OF_MESSAGES, stop_sequences: ["1", "2", "3", "4", "5"] },
    replies: () => Response.json({ error: { message: "enough" } }, { status: 400 }),
    check: ({ sent }) => assertEquals(sent.msg![0]!.body.stop_sequences.length, 5),
  },
  {
    name: "an output limit above 128,000 is capped by the route",
    path: CHAT,
    model: "chat",
    body: { ...ASKED, max_tokens: 131_072 },
    replies: () => completion("Hi"),
    check: ({ status, sent }) =>
      assertEquals([status, sent.chat![0]!.body.max_tokens], [200, 32_000]),
  },
  {
    name: "a model that is not built in has its maker's sampling",
    path: RESPONSES,
    model: "chat",
    body: { input: "Hi" },
    replies: () => completion("Hi"),
    check: ({ body, sent }) => {
      const { temperature, top_p } = sent.chat![0]!.body;
      assertEquals([temperature, top_p, body.temperature, body.top_p], [
        undefined,
        undefined,
        1,
        1,
      ]);
    },
  },
  {
    name: "a built-in model has the defaults of its service, and the reply repeats them",
    path: RESPONSES,
    model: "svc-k2",
    body: { input: "Hi" },
    replies: () => completion("Hi"),
    check: ({ body, sent }) => {
      const { temperature, top_p } = sent.chat![0]!.body;
      assertEquals([temperature, top_p, body.temperature, body.top_p], [0.6, 1, 0.6, 1]);
    },
  },
  {
    name: "a stream for a request that asked for a whole reply is put together",
    path: MESSAGES,
    model: "chat",
    body: OF_MESSAGES,
    replies: () =>
      eventStream(
        sse(
          role,
          chunk({ content: "a " }),
          chunk({ content: "stream" }),
          chunk({}, "stop"),
          "[DONE]",
        ),
      ),
    check: ({ body }) => {
      assertEquals([body.content, body.stop_reason], [
        [{ type: "text", text: "a stream" }],
        "end_turn",
      ]);
    },
  },
  {
    name: "what a chat upstream leaves out of a reply is filled in",
    path: CHAT,
    model: "chat",
    body: ASKED,
    replies: () =>
      Response.json({ choices: [{ message: { content: "Hi" }, finish_reason: "stop" }] }),
    check: ({ body }) => {
      assertEquals([body.object, body.choices[0].index], ["chat.completion", 0]);
      assert(body.created > 0 && /^chatcmpl-/.test(body.id) && body.usage.total_tokens > 0);
    },
  },
  ...([[CHAT, "stop"], [MESSAGES, "pause_turn"], [RESPONSES, "completed"]] as const)
    .map(([path, end]): Row => ({
      name: `a turn that its upstream pauses ends by ${end} at ${path}, and is no failure`,
      path,
      model: "msg",
      body: path === RESPONSES ? { input: "Hi" } : OF_MESSAGES,
      replies: () => Response.json({ ...MESSAGE, stop_reason: "pause_turn" }),
      check: ({ status, body }) => {
        const own = body.choices?.[0].finish_reason ?? body.stop_reason ?? body.status;
        assertEquals([status, own], [200, end]);
      },
    })),
  {
    name: "a stream of two choices for a whole request has both, and ends at its end mark",
    path: CHAT,
    model: "chat",
    body: { ...ASKED, n: 2 },
    replies: () =>
      eventStream(
        sse(
          JSON.stringify({
            choices: [0, 1].map((index) => ({ index, delta: { role: "assistant" } })),
          }),
          ...["a", "b"].map((content, index) =>
            JSON.stringify({ choices: [{ index, delta: { content } }] })
          ),
          ...["A", "B"].map((content, index) =>
            JSON.stringify({ choices: [{ index, delta: { content } }] })
          ),
          JSON.stringify({
            choices: [0, 1].map((index) => ({ index, delta: {}, finish_reason: "stop" })),
          }),
          JSON.stringify({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 4 } }),
          "[DONE]",
        ) + "data: nonsense\n\n",
      ),
    check: ({ body, sent }) => {
      assertEquals(
        body.choices.map((one: JsonObject) => (one.message as JsonObject).content),
        ["aA", "bB"],
      );
      assertEquals([sent.chat!.length, body.usage.completion_tokens], [1, 4]);
    },
  },
  {
    name: "a tier that the route allows is sent in another dialect, too, and the reply tells of it",
    path: RESPONSES,
    model: "chat",
    body: { input: "Hi", service_tier: "flex" },
    replies: () => completion("Hi"),
    check: ({ body, sent }) =>
      assertEquals([sent.chat![0]!.body.service_tier, body.service_tier], ["flex", "flex"]),
  },
  {
    name:
      "a reply repeats the temperature that was sent, and a header tells that it is another one",
    path: RESPONSES,
    model: "msg",
    body: { input: "Hi", temperature: 1.5 },
    replies: () => Response.json(MESSAGE),
    check: ({ body, sent, headers }) =>
      assertEquals([
        sent.msg![0]!.body.temperature,
        body.temperature,
        headers.get("x-sluice-adjusted"),
      ], [
        1,
        1,
        "temperature=1",
      ]),
  },
  ...[
    { path: CHAT, model: "msg", body: { ...ASKED, service_tier: "priority" } },
    { path: MESSAGES, model: "chat", body: { ...OF_MESSAGES, speed: "fast" } },
  ].map((asked): Row => ({
    ...asked,
    name: `what changes the price is not charged where it cannot be sent: ${asked.path}`,
    replies: () => Response.json(MESSAGE),
    check: ({ status, text, sent }) => {
      assertEquals([status, sent], [400, {}]);
      assert(/(service_tier|speed) changes the price/.test(text), text);
    },
  })),
  ...[CHAT, MESSAGES, RESPONSES].flatMap((path) =>
    ([
      ["a message", { error: { message: LONG } }],
      ["a list of faults", { detail: [{ loc: ["body", "x"], msg: LONG }] }],
      ["a list of faults in the message", { message: { detail: [{ loc: ["body"], msg: LONG }] } }],
      ["a relay's", { error: { message: "Provider returned error", metadata: { raw: LONG } } }],
    ] as const).map(([how, error]): Row => ({
      name: `what an upstream says of the caller's fault is told in full at ${path}: ${how}`,
      path,
      model: "chat",
      body: path === RESPONSES ? { input: "Hi" } : OF_MESSAGES,
      replies: () => Response.json(error, { status: 422 }),
      check: ({ status, body }) => {
        assertEquals(status, 400);
        assert(body.error.message.includes(LONG), body.error.message);
      },
    }))
  ),
  {
    name: "null is what a chat upstream leaves out, in chunks as well",
    path: CHAT,
    model: "chat",
    body: STREAMED,
    replies: () => {
      const nulls = { id: null, object: null, created: null, model: null };
      return eventStream(
        sse(
          ...[{ content: "Hi" }, {}].map((delta, at) =>
            JSON.stringify({
              ...nulls,
              choices: [{ index: null, delta, finish_reason: at === 0 ? null : "stop" }],
            })
          ),
          "[DONE]",
        ),
      );
    },
    check: ({ text }) => {
      const chunks = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!));
      for (const { id, object, created, model, choices } of chunks) {
        assertEquals([object, model, choices[0].index], ["chat.completion.chunk", "chat", 0]);
        assert(/^chatcmpl-/.test(id) && created > 0, text);
      }
    },
  },
  ...[
    { path: MESSAGES, model: "msg", body: { ...OF_MESSAGES, tool_choice: { type: "auto" } } },
    { path: RESPONSES, model: "resp", body: { input: "Hi", tool_choice: "auto" } },
    { path: RESPONSES, model: "chat", body: { input: "Hi", tool_choice: "auto" } },
    { path: MESSAGES, model: "resp", body: { ...OF_MESSAGES, tool_choice: { type: "auto" } } },
  ].map((asked): Row => ({
    ...asked,
    body: { ...asked.body, tools: [] },
    name: `an empty list of tools is left out: ${asked.path} to ${asked.model}`,
    replies: () => Response.json({ error: { message: "enough" } }, { status: 400 }),
    check: ({ sent }) => {
      const { tools, tool_choice } = sent[asked.model]![0]!.body;
      assertEquals([tools, tool_choice], [undefined, undefined]);
    },
  })),
  {
    name: "an empty list of tools is left out with the choice of one",
    path: CHAT,
    model: "chat",
    body: { ...ASKED, tools: [], tool_choice: "auto" },
    replies: () => completion("Hi"),
    check: ({ sent }) => {
      const { tools, tool_choice } = sent.chat![0]!.body;
      assertEquals([tools, tool_choice], [undefined, undefined]);
    },
  },
];

async function outcomeOf(
  { url, post }: Pick<TestGateway, "url" | "post">,
  row: Row,
  received: readonly Received[],
): Promise<Outcome> {
  const { path, model, body } = row;
  const response = await post(path, { model, ...body });
  assert(url !== "");
  const text = await response.text();
  const sent = Object.groupBy(received, (one) => one.path.split("/")[2]!);
  const { status, headers } = response;
  const isJson = headers.get("content-type")?.includes("json");
  return { status, headers, text, body: isJson ? JSON.parse(text) : undefined, sent };
}

Deno.test("what comes in the wild", async (t) => {
  let row: Row;
  await using upstream = fakeUpstream(({ path }) => row.replies(path.split("/")[2]!));
  const at = (name: string, more = {}) => ({
    url: `${upstream.url}/${name}`,
    quirks: "none" as const,
    ...more,
  });
  const route = (...upstreams: string[]) => ({
    targets: upstreams.map((upstream) => ({ upstream, model: "m" })),
    prices: { input: 0, cached: 0, output: 1_000_000 },
    minimum: 0,
    context: 200_000,
    maxOutput: 32_000,
    allow: { tiers: { flex: 1, priority: 2, fast: 6 } },
  });
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        chat: at("chat"),
        second: at("second"),
        msg: at("msg", { dialect: "messages" }),
        resp: at("resp", { dialect: "responses" }),
      },
      routes: {
        chat: route("chat"),
        two: route("chat", "second"),
        msg: route("msg"),
        resp: route("resp"),
        "svc-k2": { targets: [{ upstream: "chat", model: "m" }] },
      },
    },
  });
  for (row of ROWS) {
    upstream.received.length = 0;
    const own = row;
    await t.step(own.name, async () => own.check(await outcomeOf(gateway, own, upstream.received)));
  }
  // what failed costs nothing
  for (const { status, output_tokens: tokens } of await usageRecords(gateway)) {
    if (Number(status) >= 400) assertEquals(tokens, 0);
  }
});
