/** Responses between a client and an upstream that both speak it. */

import fc from "fast-check";
import {
  bridgeBetween,
  countedUsage,
  type JsonObject,
  type ParsedRequest,
  SseDecoder,
} from "../../../src/wire/dialects/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { sized } from "../../tier.ts";
import { clientStream, contextOf, SEALER } from "./ends.ts";
import { checkResponseObject } from "./legal_responses.ts";
import { checkResponsesStream } from "./legal_responses_stream.ts";
import { eventsOf } from "./legal_streams.ts";
import { eventsFor, itemsOf, linesOf, responseOf, type Said, USAGE } from "./responses_streams.ts";

const carry = bridgeBetween("responses", "responses");
const OPTIONS = { model: "theirs", upstream: "up", permittedOutput: 500, shaping: {} };

/** A parsed request, whatever else its front checks. */
function parsed(body: JsonObject, more: Partial<ParsedRequest> = {}): ParsedRequest {
  return {
    body: { model: "m", input: "Hi", ...body },
    model: "m",
    stream: body.stream === true,
    maxOutput: undefined,
    offersTools: false,
    choices: 1,
    images: [],
    videos: [],
    ...more,
  };
}

const HELLO: readonly Said[] = [
  { reasoning: ["Let me ", "think."], sealed: "gAAAA-enc_1" },
  { text: ["Hel", "lo", " there"] },
  { name: "read", args: ['{"p"', ":1}"] },
  { name: "apply_patch", args: ["*** Be", 'gin "x"'], custom: true },
];

function carried(text: string, request = parsed({ stream: true })): string {
  return clientStream(carry.stream(contextOf(request, { id: "resp_1" })), text);
}

const plain = (text: string) => {
  const { blocks, status } = checkResponsesStream(text);
  return { blocks: blocks.map(({ type, text, name }) => [type, name ?? "", text]), status };
};

const BLOCKS = [
  ["thinking", "", "Let me think."],
  ["text", "", "Hello there"],
  ["tool_use", "read", '{"p":1}'],
  ["tool_use", "apply_patch", '*** Begin "x"'],
];

Deno.test("a request is carried as it is, but for what the gateway owns", () => {
  const body = {
    model: "m",
    input: [{ role: "user", content: "Hi" }, { type: "invented", x: 1 }],
    tools: [{ type: "custom", name: "apply_patch" }, { type: "web_search" }, {
      type: "namespace",
      name: "n",
      tools: [],
    }],
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "high", summary: "auto" },
    store: true,
    previous_response_id: null,
    vendor: { a: 1 },
    stream: true,
  };
  const { body: sent, dropped } = carry.request(parsed(body), OPTIONS);
  const { previous_response_id: _, ...rest } = body;
  assertEquals<unknown>(sent, {
    ...rest,
    model: "theirs",
    max_output_tokens: 500,
    store: false,
    temperature: 0.6,
    top_p: 1,
  });
  assertEquals(dropped, []);
  const own = carry.request(parsed({ temperature: 1 }), {
    ...OPTIONS,
    shaping: { fixedSampling: true },
  });
  assertEquals([own.body.temperature, own.body.top_p, own.dropped], [undefined, undefined, [
    "temperature",
  ]]);
  const state = carry.request(
    parsed({ context_management: [{ type: "compaction", compact_threshold: 9 }] }),
    { ...OPTIONS, shaping: { ownSampling: true } },
  );
  assertEquals([state.body.context_management, state.body.temperature, state.dropped], [
    undefined,
    undefined,
    ["context_management"],
  ]);
});

Deno.test("a whole reply is carried: our id and the client's model name, what was encrypted sealed", () => {
  const reply = carry.reply(
    responseOf(HELLO, { vendor: 1, previous_response_id: null }),
    contextOf(parsed({ store: true }), { id: "resp_1" }),
  );
  const { output, ...rest } = reply.body;
  const [reasoning, ...others] = output as JsonObject[];
  assertEquals(rest.id, "resp_1");
  assertEquals([rest.model, rest.store, rest.vendor, rest.status], ["m", true, 1, "completed"]);
  assertEquals<unknown>(rest.usage, USAGE);
  assertEquals(others, itemsOf(HELLO).slice(1));
  assertEquals(SEALER.open("reasoning", reasoning!.encrypted_content as string, "x"), {
    route: "route",
    upstream: "up",
    model: "m",
    parts: [{ text: "", seal: "gAAAA-enc_1" }],
  });
  assertEquals(reply.outputItems, output as JsonObject[]);
  assertEquals(reply.usage!.cachedTokens, 60);
  const silent = carry.reply(
    responseOf(HELLO, { usage: null }),
    contextOf(parsed({ store: false })),
  );
  assertEquals([silent.usage, silent.outputItems, silent.body.store], [
    undefined,
    undefined,
    false,
  ]);
  assertEquals(
    (silent.withUsage(countedUsage(5, 7)).usage as JsonObject).total_tokens,
    12,
  );
});

Deno.test("what clients' schemas demand is there, whatever the upstream leaves out or calls null", () => {
  const [, text] = itemsOf(HELLO);
  const request = parsed({
    reasoning: { effort: "minimal" },
    tools: [{ type: "function", name: "read" }],
  });
  const lenient = {
    status: "completed",
    output: [text!],
    usage: USAGE,
    metadata: null,
    text: null,
  };
  const whole = carry.reply(lenient, contextOf(request)).body;
  checkResponseObject(whole);
  assertEquals<unknown>(whole.reasoning, { effort: "minimal", summary: null });
  const events = eventsFor(HELLO.slice(1));
  const end = events.at(-1)!;
  const cut = [...events.slice(0, -1), { ...end, response: lenient }];
  const { response } = checkResponsesStream(carried(linesOf(cut as typeof events)));
  checkResponseObject({ ...response, output: [] });
  assert(Number.isInteger(response.completed_at));
});

Deno.test("a whole reply beyond its limit is cut, and says so", () => {
  const long = carry.reply(
    responseOf([{ text: ["word ".repeat(200)] }], { usage: null }),
    contextOf(parsed({})),
  );
  const cut = long.truncated(10);
  assert(cut.countOutput() <= 20, `${cut.countOutput()}`);
  assertEquals([cut.body.status, cut.body.incomplete_details], ["incomplete", {
    reason: "max_output_tokens",
  }]);
});

Deno.test("a stream is carried: legal, whole, with our names", () => {
  const text = carried(linesOf(eventsFor(HELLO)));
  assertEquals(plain(text), { blocks: BLOCKS, status: "completed" });
  const { response } = checkResponsesStream(text);
  assertEquals([response.id, response.model, response.store], ["resp_1", "m", true]);
  assertEquals(response.usage, USAGE);
  assertEquals(response.output.slice(1), itemsOf(HELLO).slice(1), "ids as they came");
  const sealed = response.output[0].encrypted_content;
  assertEquals(
    (SEALER.open("reasoning", sealed, "x")!.parts as JsonObject[])[0]!.seal,
    "gAAAA-enc_1",
  );
});

const said = fc.array(
  fc.oneof(
    fc.record({
      reasoning: fc.array(fc.string({ unit: "binary", minLength: 1, maxLength: 9 }), {
        minLength: 1,
        maxLength: 3,
      }),
      raw: fc.boolean(),
    }),
    fc.record({
      text: fc.array(fc.string({ unit: "binary", minLength: 1, maxLength: 9 }), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
    fc.record({
      refusal: fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 9 }), {
        minLength: 1,
        maxLength: 2,
      }),
    }),
    fc.record({
      name: fc.stringMatching(/^[a-z]{1,9}$/),
      args: fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 9 }), {
        minLength: 1,
        maxLength: 3,
      }),
      custom: fc.boolean(),
    }),
  ),
  { maxLength: 5 },
);

Deno.test("any cutting of the bytes gives the same bytes (property)", () => {
  fc.assert(
    fc.property(said, fc.integer({ min: 1, max: 40 }), (said, size) => {
      const bytes = new TextEncoder().encode(linesOf(eventsFor(said)));
      const run = (size: number) => {
        const stream = carry.stream(contextOf(parsed({ stream: true }), { id: "resp_1" }));
        const decoder = new SseDecoder();
        let out = "";
        for (let at = 0; at < bytes.length; at += size) {
          for (const event of decoder.push(bytes.slice(at, at + size))) out += stream.push(event);
        }
        return out + stream.close(stream.usage!);
      };
      assertEquals(run(size), run(bytes.length));
    }),
    { numRuns: 100 },
  );
});

/** What upstreams leave out of a stream, or do to it. */
const OMISSIONS: Readonly<Record<string, (events: JsonObject[]) => JsonObject[]>> = {
  "nothing": (events) => events,
  "deltas": (events) => events.filter(({ type }) => !/\.delta$/.test(String(type))),
  "ends of texts": (events) =>
    events.filter(({ type }) => !/(text|refusal|arguments|input)\.done$/.test(String(type))),
  "parts": (events) => events.filter(({ type }) => !/part\.(added|done)$/.test(String(type))),
  "beginnings": (events) => events.filter(({ type }) => !/created|in_progress/.test(String(type))),
  "ends of items": (events) => events.filter(({ type }) => type !== "response.output_item.done"),
  "all but the whole response": (events) => events.slice(-1),
  "all but whole items": (events) =>
    events.filter(({ type }) => /item\.done|completed/.test(String(type))),
  "ids": (events) => events.map(({ item_id: _, ...event }) => event),
  "places": (events) => events.map(({ output_index: _, ...event }) => event),
  "the output at the end": (events) =>
    events.map((event) =>
      event.type === "response.completed"
        ? { ...event, response: { ...event.response as JsonObject, output: [] } }
        : event
    ),
  "one id for each item": (events) =>
    events.map((event, at) =>
      event.item_id === undefined ? event : { ...event, item_id: `other_${at}` }
    ),
};

for (const [name, change] of Object.entries(OMISSIONS)) {
  Deno.test(`a stream of an upstream that leaves out: ${name}; legal and whole (property)`, () => {
    fc.assert(
      fc.property(said, (said) => {
        const whole = plain(carried(linesOf(eventsFor(said))));
        assertEquals(plain(carried(linesOf(change(eventsFor(said))))), whole);
      }),
      { numRuns: 60 },
    );
  });
}

Deno.test("a stream that breaks off, fails or is no responses stream ends in response.failed (property)", () => {
  fc.assert(
    fc.property(
      said,
      fc.nat(),
      fc.constantFrom(
        "",
        "data: nonsense\n\n",
        "data: [DONE]\n\n",
        "data: {}\n\n",
        'data: {"type":"error","code":"server_error","message":"x"}\n\n',
        'data: {"type":"error","error":{"code":"rate_limit_exceeded","message":"x"}}\n\n',
        'data: {"type":"response.failed","response":{"status":"failed","error":{"code":"x"}}}\n\n',
        'data: {"type":"response.completed","response":{"status":"failed","error":null}}\n\n',
        'data: {"type":"response.output_item.done"}\n\n',
      ),
      (said, at, tail) => {
        const events = eventsFor(said);
        const text = linesOf(events.slice(0, at % (events.length - 1))) + tail;
        const { failed } = checkResponsesStream(carried(text));
        assert(failed);
      },
    ),
    { numRuns: sized(40, 300) },
  );
});

Deno.test("any events in any order give a legal stream (property)", () => {
  fc.assert(
    fc.property(said, fc.infiniteStream(fc.nat()), (said, random) => {
      const events = eventsFor(said);
      const shuffled = events.slice(0, -1).map((event) => ({ event, at: random.next().value! }))
        .toSorted((a, b) => a.at - b.at).map(({ event }) => event);
      checkResponsesStream(carried(linesOf([...shuffled, events.at(-1)!])), { repeats: false });
    }),
    { numRuns: sized(40, 300) },
  );
});

Deno.test("a stream that is cut at its limit closes what is open, and says so", () => {
  fc.assert(
    fc.property(said, fc.nat(), (said, at) => {
      const events = eventsFor(said);
      const stream = carry.stream(contextOf(parsed({ stream: true }), { id: "resp_1" }));
      let out = "";
      for (const event of events.slice(0, at % events.length)) {
        if (!stream.finished) out += stream.push({ event: "", data: JSON.stringify(event) });
      }
      if (stream.finished) return;
      out += stream.truncate() + stream.close(countedUsage(1, 1));
      const { status, response } = checkResponsesStream(out);
      assertEquals([status, response.incomplete_details], ["incomplete", {
        reason: "max_output_tokens",
      }]);
      const cut = response.output.filter(({ type, status }: JsonObject) =>
        status === "incomplete" && String(type).endsWith("_call")
      );
      assertEquals(stream.outputItems?.length, response.output.length - cut.length);
    }),
    { numRuns: 200 },
  );
});

/** Beginnings of calls that do harm without their ends. */
const HALF_CALLS: readonly Said[] = [
  { name: "sh", args: ['{"cmd":', '"rm -rf /home/a'] },
  { name: "patch", args: ["rm -rf ", "/home/a"], custom: true },
];

/** How upstreams end a response whose last call their limit cut off: the item in its own event, and in the whole response. */
const CUT_ENDS: Readonly<
  Record<string, { readonly done?: JsonObject; readonly listed?: JsonObject }>
> = {
  "without the item": {},
  "with the item": { listed: { status: "incomplete" } },
  "with the item, without its status": { listed: { status: null } },
  "with the item, which goes on": { listed: { status: "in_progress" } },
  "with the item's end": { done: { status: "incomplete" }, listed: { status: "incomplete" } },
};

for (const [name, { done, listed }] of Object.entries(CUT_ENDS)) {
  Deno.test(`a call that the upstream's limit cut off is never done, nor kept: ${name}`, () => {
    for (const one of HALF_CALLS) {
      const said = [{ text: ["Hi"] }, one];
      const item = itemsOf(said)[1]!;
      const output = [
        itemsOf(said)[0]!,
        ...(listed === undefined ? [] : [{ ...item, ...listed }]),
      ];
      const more = {
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
        output,
      };
      const events = eventsFor(said, more).flatMap((event) => {
        if (event.output_index !== 1 || !/done$/.test(String(event.type))) return [event];
        const isEnd = event.type === "response.output_item.done" && done !== undefined;
        return isEnd ? [{ ...event, item: { ...item, ...done } }] : [];
      });
      const stream = carry.stream(contextOf(parsed({ stream: true }), { id: "resp_1" }));
      const text = clientStream(stream, linesOf(events));
      const { response } = checkResponsesStream(text);
      const ended = eventsOf(text).filter(({ event }) => event === "response.output_item.done");
      assertEquals(ended.map(({ data }) => data.item.type), ["message"]);
      assertEquals(response.output[1], { ...item, status: "incomplete" });
      assertEquals(stream.outputItems?.map(({ type }) => type), ["message"]);

      if (listed === undefined) continue;
      const whole = carry.reply(responseOf(said, more), contextOf(parsed({})));
      assertEquals((whole.body.output as JsonObject[])[1], { ...item, status: "incomplete" });
      assertEquals(whole.outputItems?.map(({ type }) => type), ["message"]);
    }
  });
}

Deno.test("half a call of a custom tool is never done where the upstream calls it by a function and complete", () => {
  const half = { name: "patch", args: ['{"input":', '"rm -rf /home/a'] };
  const request = parsed({ stream: true, tools: [{ type: "custom", name: "patch" }] });
  for (const status of ["incomplete", "completed"] as const) {
    const events = eventsFor([half], { status });
    const stream = carry.stream(contextOf(request, { id: "resp_1" }));
    const text = clientStream(stream, linesOf(events));
    const whole = carry.reply(responseOf([half], { status }), contextOf(request));
    const outputs: JsonObject[][] = [
      checkResponsesStream(text).output,
      whole.body.output as JsonObject[],
    ];
    for (const [call] of outputs) {
      const { type, status: own, input } = call!;
      assertEquals([type, own, input], ["custom_tool_call", status, "rm -rf /home/a"]);
    }
    assertEquals(text.includes("response.output_item.done"), status === "completed");
    assertEquals(stream.outputItems?.length, status === "completed" ? 1 : 0);
    assertEquals(whole.outputItems?.length, status === "completed" ? 1 : 0);
  }
});

Deno.test("a part whose type is missing or text has that of the texts in its list", () => {
  const said: Said[] = [{ reasoning: ["Hm"] }, { text: ["Hello"] }];
  const raw: Said = { reasoning: ["Raw"], raw: true };
  for (const wrong of [undefined, null, "text"]) {
    const untyped = <T>(value: T): T =>
      JSON.parse(JSON.stringify(value), (key, part) => {
        if (!["part", "0"].includes(key) || typeof part?.text !== "string") return part;
        const { type: _, ...rest } = part;
        return wrong === undefined ? rest : { ...rest, type: wrong };
      });
    const { output } = checkResponsesStream(carried(linesOf(untyped(eventsFor(said)))));
    assertEquals(output, itemsOf(said), String(wrong));
    const { body } = carry.reply(untyped(responseOf([...said, raw])), contextOf(parsed({})));
    assertEquals(body.output, itemsOf([...said, raw]), String(wrong));
  }
});

Deno.test("of calls that nobody has ended only the last one of an incomplete response was cut off", () => {
  const said = [HALF_CALLS[1]!, HALF_CALLS[1]!];
  const output = itemsOf(said).map((item) => ({ ...item, status: null }));
  const more = { status: "incomplete", output };
  const stream = linesOf(eventsFor(said, more).filter(({ type }) => !/done$/.test(String(type))));
  const whole = carry.reply(responseOf(said, more), contextOf(parsed({})));
  for (const items of [checkResponsesStream(carried(stream)).output, whole.body.output]) {
    assertEquals((items as JsonObject[]).map(({ status }) => status), ["completed", "incomplete"]);
  }
});

Deno.test("an id that another reply may have is replaced by one of its kind, one that is long stays", () => {
  const idsOf = (...output: JsonObject[]) => {
    const { body } = carry.reply(
      responseOf([], { output }),
      contextOf(parsed({}), { id: "resp_1" }),
    );
    return (body.output as JsonObject[]).map(({ id }) => id);
  };
  const long = itemsOf([{ text: ["Hi"] }])[0]!;
  const short = { ...long, id: "msg_123456" };
  const search = { type: "web_search_call", id: "ws_1", status: "completed" };
  assertEquals(idsOf(long, short, search, { ...search, id: "1" }), [
    long.id,
    "msg_1_1",
    "ws_1_2",
    "item_1_3",
  ]);
});

Deno.test("a call of a response that is complete is complete, whatever its upstream says", () => {
  for (const status of ["in_progress", "incomplete", null]) {
    for (const one of HELLO.slice(2)) {
      const output = [{ ...itemsOf([one])[0]!, status }];
      const events = eventsFor([one], { output }).map((event) =>
        event.type === "response.output_item.done" ? { ...event, item: output[0]! } : event
      );
      assertEquals(checkResponsesStream(carried(linesOf(events))).output, itemsOf([one]));
      const { body } = carry.reply(responseOf([one], { output }), contextOf(parsed({})));
      assertEquals(body.output, itemsOf([one]));
    }
  }
});

Deno.test("a function's call that is whole can be run, also if the response is incomplete", () => {
  const said = [{ name: "read", args: ['{"p":', "1}"] }];
  const incomplete = { status: "incomplete", incomplete_details: null, output: [] };
  const events = eventsFor(said, incomplete).filter(({ type }) => !/done$/.test(String(type)));
  const text = carried(linesOf(events));
  assertEquals(checkResponsesStream(text).output, itemsOf(said));
  assert(text.includes("response.output_item.done"));
});

Deno.test("events that SDKs throw on are left out; a failure before any output is thrown", () => {
  const events = eventsFor([{ text: ["Hi"] }]);
  const strange = [
    { type: "codex.rate_limits", plan: "x" },
    { type: "response.reasoning.delta", delta: "x" },
    { type: "keepalive" },
  ];
  const text = carried(linesOf(events.flatMap((event) => [event, ...strange]).slice(0, -3)));
  assertEquals(plain(text).blocks, [["text", "", "Hi"]]);
  const stream = carry.stream(contextOf(parsed({})));
  assertEquals(stream.push({ event: "", data: JSON.stringify(events[0]) }), "");
  assert(!stream.hasOutput);
  assertThrows(
    () => stream.push({ event: "", data: '{"type":"error","code":"context_length_exceeded"}' }),
    Refusal,
    "prompt is too long",
  );
});

Deno.test("sealed reasoning goes back to the upstream and the model that wrote it, and to no other", () => {
  const sealed = (value: JsonObject) => SEALER.seal("reasoning", value);
  const own = { route: "route", upstream: "up", model: "theirs" };
  const value = { ...own, parts: [{ text: "", seal: "gAAAA-enc_1" }] };
  const text = sealed(value);
  const item = { type: "reasoning", id: "rs_0", summary: [] };
  const request = (encrypted: string, opened: JsonObject | undefined, more: JsonObject = {}) =>
    parsed({
      input: [{ role: "user", content: "Hi" }, { ...item, ...more, encrypted_content: encrypted }],
    }, {
      opened: opened === undefined ? new Map() : new Map([[encrypted, opened]]),
    });
  const sent = (asked: ParsedRequest, options = OPTIONS) => {
    const { body, dropped } = carry.request(asked, options);
    return [(body.input as JsonObject[]).slice(1), dropped];
  };
  assertEquals(sent(request(text, value)), [[{ ...item, encrypted_content: "gAAAA-enc_1" }], []]);
  const name = "input.reasoning.encrypted_content";
  assertEquals(sent(request(text, value), { ...OPTIONS, model: "other" }), [[], [name]]);
  assertEquals(sent(request("gAAAA-foreign", undefined)), [[], [name]]);
  const summary = [{ type: "summary_text", text: "T" }];
  assertEquals(sent(request("gAAAA-foreign", undefined, { summary })), [[{ ...item, summary }], [
    name,
  ]]);
  const elsewhere = { ...own, upstream: "chat", parts: [{ text: "R" }] };
  assertEquals(sent(request(text, elsewhere)), [[
    { ...item, content: [{ type: "reasoning_text", text: "R" }] },
  ], [name]]);
  const strict = { ...OPTIONS, shaping: { signedReasoning: true } };
  assertEquals(sent(request(text, elsewhere), strict), [[], [name, "input.reasoning"]]);
});

Deno.test("summaries of the gateway's are sent as texts, foreign ones are left out", () => {
  const text = SEALER.seal("compaction", { text: "We built a house." });
  const { body, dropped } = carry.request(
    parsed({
      input: [
        { type: "compaction", encrypted_content: text },
        { type: "compaction", encrypted_content: "theirs" },
        { role: "user", content: "Go on" },
      ],
    }, { opened: new Map([[text, { text: "We built a house." }]]) }),
    OPTIONS,
  );
  const [first, ...rest] = body.input as JsonObject[];
  assertEquals(first!.role, "user");
  assert(String(first!.content).includes("We built a house."));
  assertEquals(rest, [{ role: "user", content: "Go on" }]);
  assertEquals(dropped, ["input.compaction"]);
});

/** What a stream of these events is counted as, and whether it says anything, before its end. */
function counted(events: readonly JsonObject[]): [number, boolean] {
  const request = parsed({ stream: true, tools: [{ type: "custom", name: "g" }] });
  const stream = carry.stream(contextOf(request));
  for (const event of events) stream.push({ event: "", data: JSON.stringify(event) });
  return [stream.countedOutput, stream.hasOutput];
}

Deno.test("what is not sent on is not counted", () => {
  const words = "a long text of the upstream's ".repeat(9);
  const place = { output_index: 0, item_id: "ci_1" };
  for (
    const event of [
      { type: "response.code_interpreter_call_code.delta", ...place, delta: words },
      { type: "response.content_part.added", ...place, part: words },
    ]
  ) assertEquals(counted([event]), [0, false]);
  // a custom tool that is called as a function: its arguments become the input
  const input = 'say "no"\n'.repeat(40);
  const call = (args: string, custom: boolean) =>
    counted(eventsFor([{ name: "g", args: [args], custom }]).slice(0, -1));
  assertEquals(call(JSON.stringify({ input }), false), call(input, true));
});
