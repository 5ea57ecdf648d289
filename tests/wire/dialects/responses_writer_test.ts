import { repeatedFields } from "../../../src/wire/dialects/responses/reply/response_object.ts";
import fc from "fast-check";
import {
  countedUsage,
  type JsonObject,
  type ParsedRequest,
} from "../../../src/wire/dialects/mod.ts";
import { joinCalls, type ReplyEvent } from "../../../src/wire/dialects/neutral/conversation.ts";
import { ResponsesWriter } from "../../../src/wire/dialects/responses/reply/writer.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";
import { assertGrowsLinearly } from "../../growth.ts";
import { PROOF, sized } from "../../tier.ts";
import { contextOf, SEALER } from "./ends.ts";
import { checkResponseObject, checkResponsesStream } from "./legal_responses.ts";
import { eventsOf } from "./legal_streams.ts";

const USAGE = {
  ...countedUsage(30, 12),
  cachedTokens: 10,
  reasoningTokens: 4,
};

const TOOLS = [
  { type: "function", name: "read", parameters: { type: "object" } },
  { type: "custom", name: "patch", format: { type: "text" } },
  { type: "tool_search", execution: "client", description: "d", parameters: {} },
  {
    type: "namespace",
    name: "files",
    description: "d",
    tools: [
      { type: "function", name: "open", parameters: {} },
      { type: "custom", name: "exec" },
    ],
  },
];

/** A request for a reply, with tools of every kind. */
function requestOf(body: JsonObject = {}, more: Partial<ParsedRequest> = {}): ParsedRequest {
  return {
    body: { model: "m", input: "x", tools: TOOLS, ...body },
    model: "m",
    stream: true,
    maxOutput: undefined,
    offersTools: true,
    choices: 1,
    images: [],
    videos: [],
    ...more,
  };
}

function writerOf(body: JsonObject = {}, more: Partial<ParsedRequest> = {}): ResponsesWriter {
  return new ResponsesWriter(contextOf(requestOf(body, more), { id: "resp_1" }));
}

/** The stream of these events. */
function streamOf(events: readonly ReplyEvent[], writer = writerOf()): string {
  return events.map((event) => writer.write(event)).join("") + writer.close(USAGE);
}

const text = (text: string): ReplyEvent => ({ type: "text", text });
const reasoning = (text: string): ReplyEvent => ({ type: "reasoning", text });
const seal = (seal: string): ReplyEvent => ({ type: "seal", seal });
const call = (key: string, args: string, name?: string, id?: string): ReplyEvent => ({
  type: "call",
  key,
  id,
  name,
  args,
});
const finish = (finish: (ReplyEvent & { type: "finish" })["finish"]): ReplyEvent => ({
  type: "finish",
  finish,
  stopped: undefined,
});

/** The output of a stream, without ids. */
function outputOf(stream: string): JsonObject[] {
  return checkResponsesStream(stream).response.output.map((
    { id: _, ...item }: JsonObject,
  ) => item);
}

Deno.test("a stream has its events in the order that clients rely on", () => {
  const stream = streamOf([
    reasoning("Think"),
    text("He"),
    text("llo"),
    call("a", '{"p":', "read", "call_1"),
    call("a", "1}"),
    finish("tools"),
  ]);
  const { response } = checkResponsesStream(stream);
  assertEquals(eventsOf(stream).map(({ event }) => event), [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.reasoning_summary_part.done",
    "response.output_item.done",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.output_item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.completed",
    undefined,
  ]);
  assertEquals(response.output.map(({ id }: JsonObject) => id), ["rs_1_0", "msg_1_1", "fc_1_2"]);
  assertEquals(response.usage, {
    input_tokens: 30,
    input_tokens_details: { cached_tokens: 10 },
    output_tokens: 12,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 42,
  });
});

Deno.test("a call comes back in the form in which the client offered its tool", () => {
  const output = outputOf(streamOf([
    call("a", '{"input":"*** Begin\\n"}', "patch", "call_a"),
    call("b", '{"query":"x"}', "tool_search", "call_b"),
    call("c", '{"path":"/"}', "files__open", "call_c"),
    call("d", '{"input":"1 + 1"}', "files__exec", "call_d"),
    call("e", "", "unknown", "call_e"),
    finish("tools"),
  ]));
  const status = "completed";
  assertEquals(output, [
    { type: "custom_tool_call", status, call_id: "call_a", name: "patch", input: "*** Begin\n" },
    {
      type: "tool_search_call",
      status,
      call_id: "call_b",
      execution: "client",
      arguments: { query: "x" },
    },
    {
      type: "function_call",
      status,
      call_id: "call_c",
      name: "open",
      arguments: '{"path":"/"}',
      namespace: "files",
    },
    {
      type: "custom_tool_call",
      status,
      call_id: "call_d",
      name: "exec",
      input: "1 + 1",
      namespace: "files",
    },
    { type: "function_call", status, call_id: "call_e", name: "unknown", arguments: "{}" },
  ]);
});

Deno.test("a call of a tool without its namespace is of the only tool of that name", () => {
  const found = (name: string, more: readonly JsonObject[] = []) => {
    const writer = writerOf({ tools: [...TOOLS, ...more] });
    const [item] = outputOf(streamOf([call("a", "{}", name, "a"), finish("tools")], writer));
    return [item!.type, item!.name, item!.namespace];
  };
  assertEquals(found("exec"), ["custom_tool_call", "exec", "files"]);
  assertEquals(found("open"), ["function_call", "open", "files"]);
  assertEquals(found("read"), ["function_call", "read", undefined]);
  const other = { type: "namespace", name: "shell", tools: [{ type: "custom", name: "exec" }] };
  assertEquals(found("exec", [other]), ["function_call", "exec", undefined], "of two");
});

Deno.test("interleaved calls and text follow each other", () => {
  const output = outputOf(streamOf([
    call("a", '{"p":', "read", "a"),
    call("b", '{"q":', "read", "b"),
    text("while"),
    call("b", "2}"),
    call("a", "1}"),
    finish("stop"),
  ]));
  assertEquals(
    output.map(({ type, arguments: args, content }) => [type, args ?? content]),
    [
      ["function_call", '{"p":1}'],
      ["function_call", '{"q":2}'],
      ["message", [{ type: "output_text", text: "while", annotations: [], logprobs: [] }]],
    ],
  );
});

Deno.test("ids of calls are short, legal and unique in the conversation", () => {
  const long = "x".repeat(65);
  const input = [{ type: "function_call", call_id: "call_1", name: "read", arguments: "{}" }];
  const output = outputOf(streamOf([
    call("a", "{}", "read", "call_1"),
    call("b", "{}", "read", "functions.Read:0"),
    call("c", "{}", "read", long),
    call("d", "{}", "read", long),
    call("e", "{}", "read", "é".repeat(64)),
    call("f", "{}", "read"),
    call("g", "{}", "read", ""),
  ], writerOf({ input })));
  const ids = output.map(({ call_id: id }) => id as string);
  assertEquals(ids.slice(0, 2), ["call_1_again2", "sl-functions_2e_Read_3a_0"]);
  for (const id of ids.slice(2, 5)) assert(/^call_[0-9a-f]{32}$/.test(id), id);
  assertEquals(ids.slice(5), ["call_1_5", "call_1_6"]);
});

Deno.test("a reply at its limit is incomplete, and its last item with it", () => {
  const cases: [ReplyEvent[], string][] = [
    [[text("Hel")], "message"],
    [[reasoning("Hm")], "reasoning"],
    [[text("x"), call("a", '{"p":', "read")], "function_call"],
    [[call("a", '{"input":"ab', "patch")], "custom_tool_call"],
    [[call("a", '{"q":"', "tool_search")], "tool_search_call"],
  ];
  for (const [events, type] of cases) {
    const { response, unended } = checkResponsesStream(streamOf([...events, finish("length")]));
    assertEquals(response.status, "incomplete");
    assertEquals(response.incomplete_details, { reason: "max_output_tokens" });
    assertEquals([response.output.at(-1).type, response.output.at(-1).status], [
      type,
      "incomplete",
    ]);
    assertEquals(unended, type.endsWith("call") ? 1 : 0, "a call that was cut off is never done");
  }
  const whole = outputOf(streamOf([call("a", '{"p":1}', "read"), finish("length")]));
  assertEquals(whole[0]!.status, "completed", "a call that is whole can be run");
});

Deno.test("what waits for a call that was cut off is written all the same", () => {
  const stream = streamOf([
    call("a", '{"p":', "read", "a"),
    text("after"),
    call("b", "{}", "read", "b"),
    finish("length"),
  ]);
  const { response, unended } = checkResponsesStream(stream);
  assertEquals(unended, 1);
  assertEquals(
    response.output.map(({ type, status }: JsonObject) => [type, status]),
    [["function_call", "incomplete"], ["message", "completed"], ["function_call", "completed"]],
  );
});

Deno.test("half a character whose other half never comes is replaced, not lost", () => {
  const half = "\ude00a\ud83d";
  const stream = streamOf([reasoning(half), text(half), call("a", half, "read"), finish("stop")]);
  const { response: { output }, deltas } = checkResponsesStream(stream);
  const [thought, message, called] = output;
  const written = [thought.summary[0].text, message.content[0].text, called.arguments];
  assertEquals(written, Array(3).fill("\ufffda\ufffd"));
  assertEquals(deltas.map(({ delta }) => delta), Array(3).fill(["\ufffda", "\ufffd"]).flat());
});

Deno.test("a filtered reply is incomplete, and one in which the model declines is complete", () => {
  const filtered = checkResponsesStream(streamOf([text("I"), finish("filtered")])).response;
  assertEquals([filtered.status, filtered.incomplete_details], ["incomplete", {
    reason: "content_filter",
  }]);
  const declined = [{ type: "refusal", text: "No." }, finish("refused")] as ReplyEvent[];
  const { response } = checkResponsesStream(streamOf(declined));
  assertEquals([response.status, response.incomplete_details], ["completed", null]);
  assertEquals(response.output[0].content, [{ type: "refusal", refusal: "No." }]);
});

Deno.test("a ping begins the stream, and is a comment", () => {
  const writer = writerOf();
  const first = writer.ping();
  assertEquals(eventsOf(first).map(({ event }) => event), [
    "response.created",
    "response.in_progress",
  ]);
  assert(first.endsWith("\n\n: ping\n\n"), first);
  assertEquals(writer.ping(), ": ping\n\n");
  checkResponsesStream(first + streamOf([text("x"), finish("stop")], writer));
});

Deno.test("a stream that breaks ends in a response that failed, with what was written", () => {
  const broken = new Refusal("upstream_unavailable", "The upstream closed the stream early.");
  const cases: [ReplyEvent[], string[]][] = [
    [[], []],
    [[text("Hel")], ["message"]],
    [[text("Hel"), call("a", '{"p"', "read")], ["message", "function_call"]],
    [[reasoning("Hm")], ["reasoning"]],
  ];
  for (const [events, types] of cases) {
    const writer = writerOf();
    const begun = events.map((event) => writer.write(event)).join("");
    const { response } = checkResponsesStream(begun + writer.fail(broken));
    assertEquals(response.error, { code: "server_error", message: broken.message });
    assertEquals(response.output.map(({ type }: JsonObject) => type), types);
    assertEquals(response.output.at(-1)?.status ?? "incomplete", "incomplete");
  }
});

const SEALED = { include: ["reasoning.encrypted_content"] };

function opened(encrypted: unknown): JsonObject | undefined {
  return SEALER.open("reasoning", String(encrypted), "input");
}

Deno.test("reasoning that the client wants back is sealed with what its upstream sealed", () => {
  const events = [reasoning("A"), reasoning("B"), seal("s1"), seal("hidden"), reasoning("C")];
  const stream = streamOf([...events, text("x")], writerOf(SEALED));
  const [item] = outputOf(stream);
  assertEquals(item!.summary, [], "nobody asked to read it");
  assertEquals(opened(item!.encrypted_content), {
    route: "route",
    upstream: "up",
    model: "m",
    parts: [{ text: "AB", seal: "s1" }, { text: "", seal: "hidden" }, { text: "C" }],
  });
  const asked = writerOf({ ...SEALED, reasoning: { summary: "auto" } });
  const [shown] = outputOf(streamOf(events, asked));
  const summaries = ["AB", "C"].map((text) => ({ type: "summary_text", text }));
  assertEquals(shown!.summary as unknown, summaries);
  assertEquals(opened(shown!.encrypted_content), opened(item!.encrypted_content));
});

Deno.test("reasoning that only its upstream can read is an item where the client can return or name it", () => {
  const events = [seal("hidden"), text("x")];
  const neither = outputOf(streamOf(events, writerOf({ store: false })));
  assertEquals(neither.map(({ type }) => type), ["message"]);
  const sealed = outputOf(streamOf(events, writerOf({ ...SEALED, store: false })));
  assertEquals(sealed.map(({ type }) => type), ["reasoning", "message"]);
  const writer = writerOf();
  assertEquals(outputOf(streamOf(events, writer))[0], { type: "reasoning", summary: [] });
  assertEquals(opened(writer.outputItems![0]!.encrypted_content)!.parts, [
    { text: "", seal: "hidden" },
  ]);
});

/** Calls at once, without names; answers how many items the response has. */
function namelessCalls(count: number): number {
  const nameless = writerOf();
  for (let at = 0; at < count; at++) nameless.write(call(`${at}`, "{"));
  for (let at = 0; at < count; at++) nameless.write(text("x"));
  return checkedEnd(nameless.close(USAGE)).output.length;
}

/** Calls at once, with one id; answers how many items the response has. */
function callsWithOneId(count: number): number {
  const waiting = writerOf();
  for (let at = 0; at < count; at++) waiting.write(call(`${at}`, "{", "read", "call_1"));
  for (let at = 0; at < count; at++) waiting.write(call(`${at}`, "}"));
  return checkedEnd(waiting.close(USAGE)).output.length;
}

Deno.test("thousands of calls at once: with one id each is an item, without names none", () => {
  const count = sized(5_000, 20_000);
  assertEquals([namelessCalls(count), callsWithOneId(count)], [1, count]);
});

for (const calls of [namelessCalls, callsWithOneId]) {
  Deno.test(`many calls at once cost no more than as many texts: ${calls.name}`, PROOF, () => {
    assertGrowsLinearly(40_000, (count) => () => void calls(count));
  });
}

/** The response with which a stream ends, without a check of all before it. */
function checkedEnd(end: string): { output: JsonObject[] } {
  return eventsOf(end).at(-2)!.data.response;
}

Deno.test("a client's items are kept with the seals that it does not get", () => {
  const writer = writerOf();
  const stream = streamOf([reasoning("A"), seal("s1"), text("x")], writer);
  const { response } = checkResponsesStream(stream);
  assertEquals("encrypted_content" in response.output[0], false);
  const [kept, message] = writer.outputItems!;
  const { encrypted_content: encrypted, ...rest } = kept!;
  assertEquals(rest, response.output[0]);
  assertEquals(opened(encrypted)!.parts, [{ text: "A", seal: "s1" }]);
  assertEquals(message, response.output[1]);
});

Deno.test("nothing is kept that the client does not want kept, nor a call that was cut off", () => {
  const stored = writerOf({ store: false });
  streamOf([text("x")], stored);
  assertEquals(stored.outputItems, undefined);
  const cut = writerOf();
  streamOf([text("x"), call("a", '{"p":', "read"), finish("length")], cut);
  assertEquals(cut.outputItems!.map(({ type }) => type), ["message"]);
  const broken = writerOf({ input: [{ type: "compaction_trigger" }] });
  streamOf([text("x")], broken);
  assertEquals(broken.outputItems, undefined);
});

Deno.test("a request for a summary gets one sealed item", () => {
  const trigger = { input: [{ role: "user", content: "x" }, { type: "compaction_trigger" }] };
  const events = [reasoning("Hm"), text("They "), text("met."), finish("stop")];
  const [item, ...others] = outputOf(streamOf(events, writerOf(trigger)));
  assertEquals([item!.type, others], ["compaction", []]);
  const open = (value: unknown) => SEALER.open("compaction", String(value), "input");
  assertEquals(open(item!.encrypted_content), { text: "They met." });

  const endpoint = writerOf({}, { endpoint: "/v1/responses/compact", stream: false });
  const body = endpoint.whole(events)(USAGE);
  assertEquals(Object.keys(body), ["id", "object", "created_at", "output", "usage"]);
  assertEquals(body.object, "response.compaction");
  assertEquals(open((body.output as JsonObject[])[0]!.encrypted_content), { text: "They met." });
});

Deno.test("a summary that is empty would lose the conversation: it fails", () => {
  const trigger = { input: [{ type: "compaction_trigger" }] };
  const { response } = checkResponsesStream(streamOf([finish("stop")], writerOf(trigger)));
  assertEquals([response.status, response.error.code], ["failed", "server_error"]);
  const refusal = assertThrows(() => writerOf(trigger).whole([finish("stop")]), Refusal);
  assertEquals(refusal.reason, "upstream_unavailable");
});

Deno.test("a response repeats its request's fields", () => {
  const body: JsonObject = {
    instructions: "Be brief.",
    temperature: 0,
    top_p: 0.5,
    metadata: { a: "b" },
    reasoning: { effort: "high" },
    text: { verbosity: null, format: { type: "json_schema", name: "n", schema: {} } },
    tool_choice: { type: "function", name: "read" },
    tools: [{ type: "function", name: "read" }, { type: "web_search" }],
    parallel_tool_calls: false,
    max_output_tokens: 50,
    store: false,
    prompt_cache_key: "k",
    truncation: "auto",
  };
  const { response } = checkResponsesStream(streamOf([text("x")], writerOf(body)));
  const repeated = Object.fromEntries(Object.keys(body).map((field) => [field, response[field]]));
  assertEquals(repeated, {
    ...body,
    reasoning: { effort: "high", summary: null },
    text: {
      format: { type: "json_schema", name: "n", schema: {}, description: null, strict: false },
    },
    tools: [
      { type: "function", name: "read", description: null, parameters: null, strict: null },
      { type: "web_search" },
    ],
  });
});

Deno.test("a response repeats the reasoning that its client asked for, whatever its route made of it", () => {
  const asked = { effort: "low", summary: "auto" };
  const events = [reasoning("A"), text("x")];
  const fitted = writerOf({ ...SEALED, reasoning: { effort: "high" } }, { sentReasoning: asked });
  const { response } = checkResponsesStream(streamOf(events, fitted));
  assertEquals(response.reasoning, asked);
  assertEquals(response.output[0].summary, [{ type: "summary_text", text: "A" }]);
  const none = writerOf({ reasoning: { effort: "high" } }, { sentReasoning: null });
  assertEquals(checkResponsesStream(streamOf(events, none)).response.reasoning, null);
});

Deno.test("a response whose request says nothing has every field", () => {
  const writer = new ResponsesWriter(
    contextOf({ ...requestOf(), body: { model: "m", input: "x" } }, { id: "resp_1" }),
  );
  checkResponseObject(writer.whole([text("x"), finish("stop")])(USAGE));
});

/** Any neutral event; calls come and go under a few keys, with and without names. */
const piece = fc.string({
  unit: fc.oneof(fc.string({ unit: "binary", maxLength: 1 }), fc.constantFrom("\ud83d", "\ude00")),
  maxLength: 6,
});
const anyCall = fc.record({
  type: fc.constant("call" as const),
  key: fc.constantFrom("a", "b", "c"),
  id: fc.option(fc.constantFrom("x", "y", "functions.Read:0", "z".repeat(80)), { nil: undefined }),
  name: fc.option(
    fc.constantFrom("read", "patch", "tool_search", "files__open", "files__exec", "other"),
    { nil: undefined },
  ),
  args: fc.oneof(
    piece,
    fc.constantFrom("", "{", "}", '{"input":"', '\\ud83d\\ude00"}', '{"a":1}', "{}"),
  ),
});
const anyEvent: fc.Arbitrary<ReplyEvent> = fc.oneof(
  { weight: 3, arbitrary: piece.map(text) },
  { weight: 3, arbitrary: piece.map(reasoning) },
  { weight: 1, arbitrary: fc.constantFrom("s1", "s2").map(seal) },
  { weight: 1, arbitrary: piece.map((text): ReplyEvent => ({ type: "refusal", text })) },
  {
    weight: 1,
    arbitrary: fc.record({ title: piece, start: fc.nat(9), end: fc.nat(9) })
      .map((one): ReplyEvent => ({ type: "citation", url: "https://a.example", ...one })),
  },
  { weight: 4, arbitrary: anyCall },
);
const anyFinish = fc.constantFrom("stop", "length", "tools", "refused", "filtered" as const);
const anyBody = fc.constantFrom<JsonObject>(
  {},
  SEALED,
  { ...SEALED, reasoning: { summary: "auto" } },
  { store: false },
);
const anyEnd = fc.record({
  kind: fc.constantFrom("close", "fail", "truncate"),
  finish: anyFinish,
});

/** Cuts an event's text in two at some place; half a character may be in each. */
function cutEvent(event: ReplyEvent, at: number): ReplyEvent[] {
  if (event.type === "seal" || event.type === "finish") return [event];
  if (event.type === "call") {
    const place = at % (event.args.length + 1);
    const rest = { ...event, id: undefined, name: undefined, args: event.args.slice(place) };
    return [{ ...event, args: event.args.slice(0, place) }, rest];
  }
  if (!("text" in event)) return [event];
  const place = at % (event.text.length + 1);
  return [
    { ...event, text: event.text.slice(0, place) },
    { ...event, text: event.text.slice(place) },
  ];
}

/** A text without what becomes U+FFFD where its halves are in different items. */
function units(text: string): string {
  return text.replace(/[\ud800-\udfff\ufffd]/g, "");
}

Deno.test("any events in any pieces become a legal stream", () => {
  fc.assert(
    fc.property(
      fc.array(anyEvent, { maxLength: 30 }),
      fc.array(fc.nat(20), { minLength: 1 }),
      anyEnd,
      anyBody,
      (events, cuts, end, body) => {
        const pieces = events.flatMap((event, at) => cutEvent(event, cuts[at % cuts.length]!));
        const writer = writerOf(body);
        let stream = pieces.map((one) => writer.write(one)).join("");
        if (end.kind === "fail") {
          stream += writer.fail(new Refusal("internal", "Internal error."));
        } else {
          stream += writer.write(finish(end.kind === "truncate" ? "length" : end.finish));
          stream += writer.close(USAGE);
        }
        const { response, deltas } = checkResponsesStream(stream);
        // half a character that has no other half is sent by itself
        for (const { delta } of deltas) {
          assert(!/.[\ud800-\udbff]$/.test(delta), "no half characters");
        }
        if (end.kind === "fail") return;
        const said = (kind: "text" | "reasoning") =>
          events.map((event) => event.type === kind ? event.text : "").join("");
        const written = (response.output as JsonObject[]).flatMap(({ content }) =>
          (content as JsonObject[] | undefined ?? []).map(({ text }) => text)
        ).join("");
        assertEquals(units(written), units(said("text")), "no text is lost");
        const named = new Set(
          events.flatMap((event) =>
            event.type === "call" && event.name !== undefined ? [event.key] : []
          ),
        );
        const calls = response.output.filter((item: JsonObject) => "call_id" in item);
        assertEquals(calls.length, named.size, "no call is lost");
      },
    ),
    { numRuns: sized(40, 500) },
  );
});

/** Calls as upstreams make them: the name with the first piece, the arguments JSON. */
const plainCalls = fc.dictionary(
  fc.constantFrom("a", "b", "c"),
  fc.record({
    name: fc.constantFrom("read", "patch", "tool_search", "files__open", "files__exec"),
    args: fc.oneof(
      fc.dictionary(piece, piece).map((args) => JSON.stringify(args)),
      piece.map((input) => JSON.stringify({ input })),
    ),
  }),
);

Deno.test("a whole reply is what its stream ends with, however that was cut and mixed", () => {
  fc.assert(
    fc.property(
      plainCalls,
      fc.array(fc.oneof(piece.map(text), piece.map(reasoning)), { maxLength: 10 }),
      fc.array(fc.nat(1_000), { minLength: 1 }),
      anyFinish,
      anyBody,
      (calls, texts, numbers, end, body) => {
        const queues = Object.entries(calls).map(([key, { name, args }]) => {
          const half = numbers[0]! % (args.length + 1);
          return [call(key, args.slice(0, half), name, key), call(key, args.slice(half))];
        });
        const sources = [texts.slice(), ...queues];
        const events: ReplyEvent[] = [];
        for (let at = 0; sources.some((one) => one.length > 0); at++) {
          const rest = sources.filter((one) => one.length > 0);
          events.push(rest[numbers[at % numbers.length]! % rest.length]!.shift()!);
        }
        const streamed = checkResponsesStream(streamOf([...events, finish(end)], writerOf(body)));
        const whole = writerOf(body).whole(joinCalls([...events, finish(end)]))(USAGE);
        checkResponseObject(whole);
        assertEquals(wellFormed(unsealed(whole)), unsealed(streamed.response));
      },
    ),
    { numRuns: sized(40, 300) },
  );
});

/** As events of a stream have to be for strict clients. */
function wellFormed(response: JsonObject): JsonObject {
  return JSON.parse(
    JSON.stringify(
      response,
      (_, value) => typeof value === "string" ? value.toWellFormed() : value,
    ),
  );
}

/** A response with what is sealed in it opened: a text is sealed differently each time. */
function unsealed(response: JsonObject): JsonObject {
  const output = (response.output as JsonObject[]).map((item) =>
    item.encrypted_content === undefined
      ? item
      : { ...item, encrypted_content: opened(item.encrypted_content)! }
  );
  return { ...response, output };
}

Deno.test("each event is written whole", () => {
  const writer = writerOf();
  for (const event of [text("a\n\nb"), reasoning("\u2028"), call("a", '{"p":"\\n"}', "read")]) {
    const written = writer.write(event);
    assert(written.endsWith("\n\n"), written);
    for (const block of written.split("\n\n").slice(0, -1)) {
      assertEquals(block.split("\n").length, 2);
      assertStringIncludes(block, "\ndata: {");
    }
  }
});

Deno.test("a response does not repeat fields of a megabyte: each of its events would have them", () => {
  const most = "x".repeat(1_048_576);
  assertEquals(repeatedFields({ instructions: most }).instructions, most);
  const tool = (description: string) => ({ type: "function", name: "f", description });
  assertEquals((repeatedFields({ tools: [tool("short")] }).tools as unknown[]).length, 1);
  const long = `${most}x`;
  assertEquals(
    repeatedFields({
      model: "m",
      input: long,
      instructions: long,
      metadata: { a: long },
      tools: [tool(long)],
      tool_choice: { type: "function", name: long },
      text: { format: { type: "json_schema", name: "f", schema: { [long]: {} } } },
    }),
    repeatedFields({ model: "m", input: "Hi" }),
  );
});
