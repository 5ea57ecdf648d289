/** Departures from what is documented that no row of `reports.ts` has, through a whole gateway. */

import type { JsonObject } from "../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { hear } from "./heard.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { completion, eventStream, fakeUpstream, type Received, sse } from "../fake/upstream.ts";

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
  readonly check: (outcome: Outcome) => void | Promise<void>;
  /** Whether nothing is charged. */
  readonly isFree?: boolean;
}

const USERS = [{ role: "user", content: "Hi" }];
const ASKED = { messages: USERS };
const STREAMED = { ...ASKED, stream: true };
const OF_MESSAGES = { ...ASKED, max_tokens: 500 };

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

const UPSTREAMS = ["chat", "msg", "resp", "gen"];
/** A whole reply of each dialect, which says "Hi" for 3 tokens of input and 2 of output, as `count` writes them. */
const wholeReplies = (count: (tokens: number) => string | number): Record<string, JsonObject> => ({
  chat: {
    choices: [{ message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
    usage: { prompt_tokens: count(3), completion_tokens: count(2), total_tokens: count(5) },
  },
  msg: { ...MESSAGE, usage: { input_tokens: count(3), output_tokens: count(2) } },
  resp: {
    object: "response",
    status: "completed",
    output_text: "Hi",
    usage: { input_tokens: count(3), output_tokens: count(2) },
  },
  gen: {
    candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP" }],
    usageMetadata: {
      promptTokenCount: count(3),
      candidatesTokenCount: count(2),
      totalTokenCount: count(5),
    },
  },
});
const WHOLE = wholeReplies((tokens) => tokens);
const JSON_TYPE = "application/json";
const EVENTS_TYPE = "text/event-stream";
/** A whole reply as servers label and wrap it. */
const WRAPPED: Readonly<Record<string, readonly [type: string, wrap: (json: string) => string]>> = {
  "JSON": [JSON_TYPE, (json) => json],
  "JSON and an end mark, as JSON": [JSON_TYPE, (json) => `${json}\n\ndata: [DONE]\n\n`],
  "JSON and an end mark, as events": [EVENTS_TYPE, (json) => `${json}\n\ndata: [DONE]\n\n`],
  "JSON over several lines, as events": [
    EVENTS_TYPE,
    (json) => `\n${JSON.stringify(JSON.parse(json), null, 2)}`,
  ],
  "one event": [EVENTS_TYPE, (json) => `data: ${json}\n\n`],
  "one event, as JSON": [JSON_TYPE, (json) => `data: ${json}\n\ndata: [DONE]\n\n`],
  "JSON with a mark of its byte order": [JSON_TYPE, (json) => `\ufeff${json}`],
  "JSON after blank lines": ["text/json", (json) => `\r\n\n \n${json}\n`],
};
const CLIENTS = {
  chat: [CHAT, ASKED],
  messages: [MESSAGES, OF_MESSAGES],
  responses: [RESPONSES, { input: "Hi" }],
} as const;

/** A row for each client and upstream, whole and streamed: it hears "Hi", and is charged what is reported. */
function rowsOf(name: string, reply: (upstream: string) => Response): Row[] {
  return (["chat", "messages", "responses"] as const).flatMap((client) =>
    UPSTREAMS.flatMap((model) =>
      [false, true].map((stream): Row => ({
        name: `${name}: ${client} ${stream ? "streamed " : ""}from ${model}`,
        path: CLIENTS[client][0],
        model,
        body: {
          ...CLIENTS[client][1],
          stream,
          ...(stream && client === "chat" ? { stream_options: { include_usage: true } } : {}),
        },
        replies: () => reply(model),
        check: async ({ status, text: body, headers }) => {
          const response = new Response(body, { status, headers });
          const [{ text, usage, error }] = await hear(client, response);
          assertEquals([status, error, text, usage], [200, undefined, "Hi", [3, 0, 2]], body);
        },
      }))
    )
  );
}

/** Ends of a reply that are failures: nothing was delivered, so that the next target is asked. */
const FAILED_ENDS = [
  "error",
  "network_error",
  "insufficient_system_resource",
  "MALFORMED_FUNCTION_CALL",
  "rate_limit",
];

/** Those of them that no prompt can ask for: they make what was delivered free. */
const FREE_ENDS = FAILED_ENDS.filter((reason) => reason !== "MALFORMED_FUNCTION_CALL");

/** A reply that ends by a failure, whole without output, or streamed after this text. */
function failedReply(upstream: string, reason: string, stream: boolean, said = ""): Response {
  const content = { role: "assistant", content: "" };
  const failed = { type: "response.failed", response: { status: "failed", error: null } };
  const message = { ...MESSAGE, content: [], stop_reason: null };
  const parts = said === "" ? [] : [{ text: said }];
  const ended = { candidates: [{ finishReason: reason }] };
  const [whole, ...events]: JsonObject[] = upstream === "gen"
    ? [ended, { candidates: [{ content: { role: "model", parts } }] }, ended]
    : upstream === "msg"
    ? [
      { ...message, stop_reason: reason },
      { type: "message_start", message },
      ...(said === "" ? [] : [{
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: said },
      }]),
      { type: "message_delta", delta: { stop_reason: reason } },
    ]
    : upstream === "resp"
    ? [
      failed.response,
      { type: "response.created", response: { status: "in_progress" } },
      ...(said === "" ? [] : [{ type: "response.output_text.delta", delta: said }]),
      failed,
    ]
    : [
      { choices: [{ message: content, finish_reason: reason }] },
      { choices: [{ index: 0, delta: { ...content, content: said } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    ];
  return stream
    ? eventStream(sse(...events.map((event) => JSON.stringify(event))))
    : Response.json(whole);
}

/** Errors with status 200 that only their envelope tells. */
const ENVELOPES: readonly JsonObject[] = [
  { choices: null, base_resp: { status_code: 1013, status_msg: "internal" } },
  { success: false, message: "No" },
  { detail: "No" },
  { status: "error", msg: "No" },
];

const ROWS: readonly Row[] = [
  ...Object.entries(WRAPPED).flatMap(([name, [type, wrap]]) =>
    rowsOf(
      name,
      (upstream) =>
        new Response(new TextEncoder().encode(wrap(JSON.stringify(WHOLE[upstream]))), {
          headers: { "content-type": type },
        }),
    )
  ),
  ...([String, (tokens) => tokens - 0.5, (tokens) => `${tokens}.0`] as const satisfies (
    (tokens: number) => string | number
  )[]).flatMap((count) =>
    rowsOf(`usage like ${count(3)}`, (upstream) => Response.json(wholeReplies(count)[upstream]))
  ),
  ...(["chat", "messages", "responses"] as const).flatMap((client) =>
    UPSTREAMS.flatMap((model) =>
      [["default", "standard"], ["priority", "priority"]].flatMap(([tier, ofMessages]) =>
        [false, true].map((stream): Row => ({
          name: `the upstream's tier: ${tier} of ${model} ${stream ? "streamed " : ""}at ${client}`,
          path: CLIENTS[client][0],
          model,
          body: { ...CLIENTS[client][1], stream },
          replies: () => {
            const { usage, usageMetadata, ...reply } = WHOLE[model]!;
            if (model === "gen") {
              const trafficType = tier === "default" ? "ON_DEMAND" : "ON_DEMAND_PRIORITY";
              const told = { ...usageMetadata as JsonObject, trafficType };
              return Response.json({ ...reply, usageMetadata: told });
            }
            const service_tier = model === "msg" ? ofMessages! : tier!;
            return Response.json(
              model === "msg"
                ? { ...reply, usage: { ...usage as JsonObject, service_tier } }
                : { ...reply, usage, service_tier },
            );
          },
          check: ({ text }) => {
            const tiers = [...text.matchAll(/"service_tier":"(\w+)"/g)].map(([, one]) => one);
            assertEquals(tiers.at(-1), client === "messages" ? ofMessages : tier, text);
          },
        }))
      )
    )
  ),
  ...ENVELOPES.flatMap((error) =>
    [false, true].map((stream): Row => ({
      name: `an error in its envelope has the next target asked: ${
        JSON.stringify(error)
      } ${stream}`,
      path: CHAT,
      model: "two",
      body: { ...ASKED, stream },
      replies: (upstream) => upstream === "chat" ? Response.json(error) : completion("Hi"),
      check: ({ status, text, sent }) => {
        assertEquals([status, sent.second?.length], [200, 1], text);
        assert(text.includes("Hi"), text);
      },
    }))
  ),
  ...(["chat", "messages", "responses"] as const).flatMap((client) =>
    UPSTREAMS.flatMap((first, place) =>
      [false, true].map((stream): Row => {
        const reason = FAILED_ENDS[(2 * place + Number(stream)) % FAILED_ENDS.length]!;
        return {
          name:
            `${reason} as the end of nothing has the next target asked: ${first} ${client} ${stream}`,
          path: CLIENTS[client][0],
          model: first === "chat" ? "two" : `two-${first}`,
          body: { ...CLIENTS[client][1], stream },
          replies: (upstream) =>
            upstream === "second" ? completion("Hi") : failedReply(upstream, reason, stream),
          check: ({ status, text, sent }) => {
            assertEquals([status, sent[first]?.length, sent.second?.length], [200, 1, 1], text);
            assert(text.includes("Hi"), text);
          },
        };
      })
    )
  ),
  ...(["chat", "messages", "responses"] as const).flatMap((client) =>
    UPSTREAMS.map((model, place): Row => ({
      name: `a failure as the end of some text is told and costs nothing: ${model} ${client}`,
      path: CLIENTS[client][0],
      model,
      body: { ...CLIENTS[client][1], stream: true },
      replies: () => failedReply(model, FREE_ENDS[place]!, true, "Hi"),
      check: async ({ status, text: body, headers }) => {
        const response = new Response(body, { status, headers });
        const [{ text, finish, error }] = await hear(client, response);
        const end = client === "responses" ? "failed" : undefined;
        assertEquals([text, finish, error === undefined], ["Hi", end, false], body);
      },
      isFree: true,
    }))
  ),
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
    name: "what follows the last event of a message is not read",
    path: MESSAGES,
    model: "msg",
    body: OF_MESSAGES,
    replies: () =>
      eventStream(
        sse(
          JSON.stringify({ type: "message_start", message: { ...MESSAGE, content: [] } }),
          JSON.stringify({ type: "message_delta", delta: { stop_reason: "end_turn" } }),
          JSON.stringify({ type: "message_stop" }),
          "nonsense",
        ),
      ),
    check: ({ status, text }) => assertEquals(status, 200, text),
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
];

async function outcomeOf(
  { post }: Pick<TestGateway, "post">,
  row: Row,
  received: readonly Received[],
): Promise<Outcome> {
  const { path, model, body } = row;
  const response = await post(path, { model, ...body });
  const text = await response.text();
  const sent = Object.groupBy(received, (one) => one.path.split("/")[2]!);
  const { status, headers } = response;
  const isJson = headers.get("content-type")?.includes("json");
  return { status, headers, text, body: isJson ? JSON.parse(text) : undefined, sent };
}

Deno.test("what departs beside the reports", async (t) => {
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
        gen: at("gen", { dialect: "generate" }),
      },
      routes: {
        chat: route("chat"),
        two: route("chat", "second"),
        "two-msg": route("msg", "second"),
        "two-resp": route("resp", "second"),
        "two-gen": route("gen", "second"),
        msg: route("msg"),
        resp: route("resp"),
        gen: route("gen"),
        "svc-k2": { targets: [{ upstream: "chat", model: "m" }] },
      },
    },
  });
  // one that failed five times in a row is left alone
  const well = { path: CHAT, body: ASKED, replies: (name: string) => Response.json(WHOLE[name]) };
  for (row of ROWS) {
    const own = row;
    if (own.model.startsWith("two")) {
      const model = own.model.slice("two-".length) || "chat";
      row = { ...own, ...well, model };
      await outcomeOf(gateway, row, []);
      row = own;
    }
    upstream.received.length = 0;
    await t.step(own.name, async () => {
      await own.check(await outcomeOf(gateway, own, upstream.received));
      if (own.isFree === true) {
        const { input_tokens, output_tokens } = (await usageRecords(gateway)).at(-1)!;
        assertEquals([input_tokens, output_tokens], [0, 0]);
      }
    });
  }
  // what failed costs nothing
  for (const { status, output_tokens: tokens } of await usageRecords(gateway)) {
    if (Number(status) >= 400) assertEquals(tokens, 0);
  }
});
