/** Responses upstreams that do what real ones do wrong: what the client gets is legal and whole, and nothing comes twice. */

import {
  type Bridge,
  countedUsage,
  DIALECTS,
  type JsonObject,
  type ParsedRequest,
  wholeOfStream,
} from "../../../src/wire/dialects/mod.ts";
import { carriedInput } from "../../../src/wire/dialects/responses/carry/carried_input.ts";
import { OutputReader } from "../../../src/wire/dialects/responses/upstream/output_reader.ts";
import { assert, assertEquals } from "../../assert.ts";
import {
  chatToResponses,
  clientStream,
  contextOf,
  parseChat,
  parseResponses,
  responsesToMessages,
  responsesToResponses,
  SEALER,
} from "./ends.ts";
import { checkResponseObject } from "./legal_responses.ts";
import { checkResponsesStream } from "./legal_responses_stream.ts";
import { checkChatStream, eventsOf, type Rebuilt } from "./legal_streams.ts";
import { eventsFor, itemsOf, linesOf, responseOf, type Said, USAGE } from "./responses_streams.ts";

// deno-lint-ignore no-explicit-any -- wire events, for changing them
type Wire = any;

const HELLO: readonly Said[] = [
  { reasoning: ["Let me ", "think."], sealed: "gAAAA-enc_1" },
  { text: ["Hel", "lo"] },
  { name: "read", args: ['{"p"', ":1}"] },
];
const BLOCKS = [["thinking", "Let me think."], ["text", "Hello"], ["read", '{"p":1}']];
const TEXT: readonly Said[] = [{ text: ["Hel", "lo"] }];
const CALLS: readonly Said[] = [
  { name: "a", args: ['{"a":', "1}"] },
  { name: "b", args: ['{"b":', "2}"] },
];
const CALL_BLOCKS = [["a", '{"a":1}'], ["b", '{"b":2}']];

const CARRIED = parseResponses({ model: "m", input: "Hi", stream: true });
const ASKED = parseChat({
  model: "m",
  stream: true,
  messages: [{ role: "user", content: "Hi" }],
});

function through(bridge: Bridge, request: ParsedRequest, text: string): string {
  return clientStream(
    bridge.stream(contextOf(request, { id: "resp_1" })),
    text,
    (refusal) => DIALECTS.chat.front.errorEvent(refusal, "req_1"),
  );
}

const carried = (events: readonly JsonObject[]) =>
  through(responsesToResponses, CARRIED, linesOf(events));
const plain = ({ blocks }: Rebuilt) =>
  blocks.map(({ type, text, name }) => [name ?? type, text]).filter(([, text]) => text !== "");

/** The events of a stream, each changed. */
function changed(said: readonly Said[], change: (event: Wire) => void): JsonObject[] {
  return structuredClone(eventsFor(said)).map((event) => {
    change(event);
    return event;
  });
}

/** The items of an event, in it or in its response. */
const itemsIn = ({ item, response }: Wire): Wire[] =>
  item === undefined ? response?.output ?? [] : [item];
const isType = (pattern: RegExp) => ({ type }: JsonObject) => pattern.test(String(type));
const isNot = (pattern: RegExp) => (event: JsonObject) => !isType(pattern)(event);
const isBegun = isType(/item\.added/);
const isEndEvent = isType(/completed$/);
const isDone = isType(/item\.done/);

/** What an upstream sends, and what its client is to read. */
const CARELESS: Readonly<
  Record<string, { readonly events: JsonObject[]; readonly blocks: string[][] }>
> = {
  "a message ends without its text, which the whole response has": {
    events: changed(TEXT, (event) => {
      if (isDone(event)) event.item.content = [];
    }).filter(isNot(/part|text/)),
    blocks: [["text", "Hello"]],
  },
  "a text that only output_text has, without any output": {
    events: eventsFor(TEXT).filter(isEndEvent).map((event) => ({
      ...event,
      response: { id: "r", status: "completed", output_text: "Hello", usage: USAGE },
    })),
    blocks: [["text", "Hello"]],
  },
  "reasoning as an item, and the text as output_text": {
    events: changed(HELLO.slice(0, 2), (event) => {
      if (event.response?.output?.length) {
        event.response.output.length = 1;
        event.response.output_text = "Hello";
      }
    }).filter(isEndEvent),
    blocks: BLOCKS.slice(0, 2),
  },
  "the same text in deltas and as output_text": {
    events: changed(TEXT, (event) => {
      if (isEndEvent(event)) Object.assign(event.response, { output: [], output_text: "Hello" });
    }),
    blocks: [["text", "Hello"]],
  },
  "reasoning ends without its text and its seal": {
    events: changed(HELLO.slice(0, 1), (event) => {
      if (isDone(event)) event.item = { id: "rs_0", type: "reasoning", summary: [] };
    }).filter(isNot(/summary/)),
    blocks: [["thinking", "Let me think."]],
  },
  "a text in place of a message's parts": {
    events: changed(TEXT, (event) => {
      for (const item of itemsIn(event)) item.content = isBegun(event) ? null : "Hello";
    }).filter(isNot(/part|text/)),
    blocks: [["text", "Hello"]],
  },
  "the same text in deltas and in place of a message's parts": {
    events: changed(TEXT, (event) => {
      for (const item of itemsIn(event)) item.content = isBegun(event) ? null : "Hello";
    }),
    blocks: [["text", "Hello"]],
  },
  "null for everything that is empty": {
    events: changed(HELLO, (event) => {
      for (const item of itemsIn(event)) {
        if (isBegun(event)) Object.assign(item, { content: null, summary: null, arguments: null });
        item.phase = null;
        item.encrypted_content ??= null;
      }
      for (const part of [event.part, ...itemsIn(event).flatMap((one) => one.content ?? [])]) {
        if (part !== undefined) Object.assign(part, { annotations: null, logprobs: null });
      }
    }),
    blocks: BLOCKS,
  },
  "no field of an item that is empty, no role, no annotations": {
    events: changed(HELLO, (event) => {
      for (const item of itemsIn(event)) {
        if (isBegun(event)) {
          for (const key of ["content", "summary", "arguments"]) delete item[key];
        }
        delete item.role;
        delete item.status;
        for (const part of item.content ?? []) delete part.annotations;
      }
      delete event.part?.annotations;
    }),
    blocks: BLOCKS,
  },
  "messages without their type": {
    events: changed(TEXT, (event) => {
      for (const item of itemsIn(event)) delete item.type;
    }),
    blocks: [["text", "Hello"]],
  },
  "arguments that are an object": {
    events: changed(HELLO, (event) => {
      for (const item of itemsIn(event)) if (item.name !== undefined) item.arguments = { p: 1 };
    }).filter(isNot(/arguments/)),
    blocks: BLOCKS,
  },
  "the names of a call only at its end": {
    events: changed(CALLS, (event) => {
      if (isBegun(event)) Object.assign(event.item, { name: "", call_id: undefined });
    }),
    blocks: CALL_BLOCKS,
  },
  "calls without an ID for their results": {
    events: changed(CALLS, (event) => {
      for (const item of itemsIn(event)) delete item.call_id;
    }),
    blocks: CALL_BLOCKS,
  },
  "one ID for the results of two calls": {
    events: changed(CALLS, (event) => {
      for (const item of itemsIn(event)) item.call_id = "call_1";
    }),
    blocks: CALL_BLOCKS,
  },
  "a call without a name": {
    events: changed([...TEXT, ...CALLS.slice(0, 1)], (event) => {
      for (const item of itemsIn(event)) delete item.name;
    }),
    blocks: [["text", "Hello"]],
  },
  "one ID for all calls": {
    events: changed(CALLS, (event) => {
      if (event.item_id !== undefined) event.item_id = "fc_1";
      for (const item of itemsIn(event)) item.id = "fc_1";
    }),
    blocks: CALL_BLOCKS,
  },
  "one ID for all messages": {
    events: changed([{ text: ["on", "e"] }, { text: ["tw", "o"] }], (event) => {
      if (event.item_id !== undefined) event.item_id = "msg_1";
      for (const item of itemsIn(event)) item.id = "msg_1";
    }),
    blocks: [["text", "one"], ["text", "two"]],
  },
  "one ID for all messages, which the whole response leaves out": {
    events: changed([{ text: ["on", "e"] }, { text: ["tw", "o"] }], (event) => {
      if (event.item_id !== undefined) event.item_id = "msg_1";
      for (const item of itemsIn(event)) item.id = "msg_1";
      if (event.type === "response.completed") event.response.output = [];
    }),
    blocks: [["text", "one"], ["text", "two"]],
  },
  "one ID for all calls, whose events are mixed": {
    events: (() => {
      const events = changed(CALLS, (event) => {
        if (event.item_id !== undefined) event.item_id = "fc_1";
        for (const item of itemsIn(event)) item.id = "fc_1";
        if (event.type === "response.completed") event.response.output = [];
      });
      const of = (index: number) => events.filter((event) => event.output_index === index);
      return [...of(0).flatMap((event, at) => [event, of(1)[at]!]), events.at(-1)!];
    })(),
    blocks: CALL_BLOCKS,
  },
  "one ID for all messages, only in the whole response": {
    events: changed([{ text: ["one"] }, { text: ["two"] }], (event) => {
      for (const item of itemsIn(event)) item.id = "msg_1";
    }).slice(-1),
    blocks: [["text", "one"], ["text", "two"]],
  },
  "one place for all items": {
    events: changed([{ text: ["on", "e"] }, { text: ["tw", "o"] }], (event) => {
      if (event.output_index !== undefined) event.output_index = 0;
    }).filter(isNot(/item\.added/)),
    blocks: [["text", "one"], ["text", "two"]],
  },
  "one place for all items, and nothing whole": {
    events: changed([{ text: ["on", "e"] }, { text: ["tw", "o"] }], (event) => {
      if (event.output_index !== undefined) event.output_index = 0;
      if (isDone(event)) event.item.content = [];
      if (event.type === "response.completed") event.response.output = [];
    }).filter(isNot(/item\.added|text\.done|part/)),
    blocks: [["text", "one"], ["text", "two"]],
  },
  "neither IDs nor places nor beginnings, and nothing whole": {
    events: changed([{ text: ["on", "e"] }, { text: ["tw", "o"] }], (event) => {
      for (const item of itemsIn(event)) delete item.id;
      delete event.item_id;
      delete event.output_index;
      if (isDone(event)) event.item.content = [];
      if (event.type === "response.completed") event.response.output = [];
    }).filter(isNot(/added|text\.done|part/)),
    blocks: [["text", "one"], ["text", "two"]],
  },
  "neither IDs nor places nor beginnings": {
    events: changed([{ text: ["on", "e"] }, { text: ["tw", "o"] }], (event) => {
      for (const item of itemsIn(event)) delete item.id;
      delete event.item_id;
      delete event.output_index;
    }).filter(isNot(/added/)),
    blocks: [["text", "one"], ["text", "two"]],
  },
  "no IDs, and a message only at the end": {
    events: changed([{ text: ["on", "e"] }, { text: ["two"] }], (event) => {
      for (const item of itemsIn(event)) delete item.id;
      delete event.item_id;
    }).filter(({ output_index: index }) => index !== 1),
    blocks: [["text", "one"], ["text", "two"]],
  },
  "the items in another order at the end": {
    events: changed([{ text: ["one"] }, { text: ["two"] }], ({ type, response }) => {
      if (type === "response.completed") response.output.reverse();
    }),
    blocks: [["text", "one"], ["text", "two"]],
  },
  "an item's end before its deltas": {
    events: (() => {
      const events = eventsFor(TEXT);
      return [events.find(isDone)!, ...events.filter(isNot(/item\.done/))];
    })(),
    blocks: [["text", "Hello"]],
  },
  "deltas after the text was repeated": {
    events: eventsFor(TEXT).flatMap((event) =>
      event.type === "response.output_text.done"
        ? [event, { ...event, type: "response.output_text.delta", delta: "Hello" }]
        : [event]
    ),
    blocks: [["text", "Hello"]],
  },
  "all of it twice": {
    events: [...eventsFor(HELLO).slice(0, -1), ...eventsFor(HELLO)],
    blocks: BLOCKS,
  },
  "a response that is completed and in progress": {
    events: changed(HELLO, ({ type, response }) => {
      if (type === "response.completed") response.status = "in_progress";
    }),
    blocks: BLOCKS,
  },
  "a text that is cut within a character": {
    events: eventsFor([{ text: ["a\ud83d", "\ude00b", "\ud83d", "\ude00"] }]),
    blocks: [["text", "a😀b😀"]],
  },
  "arguments that are cut within a character": {
    events: eventsFor([{ name: "a", args: ['{"a":"\ud83d', '\ude00"}'] }]),
    blocks: [["a", '{"a":"😀"}']],
  },
};

for (const [name, { events, blocks }] of Object.entries(CARELESS)) {
  Deno.test(`careless upstream: ${name}; carried`, () => {
    const text = carried(events);
    const { status, output, ...rebuilt } = checkResponsesStream(text);
    assertEquals([status, plain(rebuilt)], ["completed", blocks]);
    assert(!text.includes("\\ud83d"), "strict clients cannot read half a character");
    checkOutput(output);
    for (const { data } of eventsOf(text)) if (data.item !== undefined) checkOutput([data.item]);
  });

  Deno.test(`careless upstream: ${name}; translated`, () => {
    const { blocks: all, stopReason } = checkChatStream(
      through(chatToResponses, ASKED, linesOf(events)),
    );
    const said = blocks.filter(([type]) => type === "text").map(([, text]) => text).join("\n\n");
    assertEquals(
      plain({ blocks: all, stopReason, failed: false }),
      [...blocks.filter(([type]) => type === "thinking")]
        .concat(said === "" ? [] : [["text", said]])
        .concat(blocks.filter(([type]) => type !== "text" && type !== "thinking")),
    );
  });

  const { response } = events.at(-1) as { response: JsonObject };
  if ((response.output as Wire[])?.length === 0 && !response.output_text) continue;
  Deno.test(`careless upstream: ${name}; whole`, () => {
    const reply = responsesToResponses.reply(
      { ...response, status: "completed" },
      contextOf(CARRIED, { id: "resp_1" }),
    );
    checkOutput(reply.body.output as Wire[]);
    assertEquals((reply.body.output as Wire[]).length, blocks.length);
  });
}

/** Items with all that SDKs' schemas demand, under names of their own. */
function checkOutput(output: readonly Wire[]): void {
  const ids = output.map(({ id }) => id);
  assert(ids.every((id) => typeof id === "string" && id !== ""), ids.join());
  assertEquals(new Set(ids).size, ids.length);
  const callIds = output.flatMap((item) => "name" in item ? [item.call_id] : []);
  assertEquals(new Set(callIds).size, callIds.length);
  for (const item of output) {
    assert(Object.values(item).every((value) => value !== null), JSON.stringify(item));
    if (item.type === "message") {
      assertEquals(item.role, "assistant");
      for (const part of item.content) assert(Array.isArray(part.annotations));
    } else if (item.type === "reasoning") assert(Array.isArray(item.summary));
    else {
      assert(typeof item.arguments === "string" && item.name !== "");
      assert(typeof item.call_id === "string" && item.call_id !== "");
    }
  }
}

/** The last event's response, of an upstream whose own is changed. */
function endOf(more: JsonObject, usage = countedUsage(5, 7), type = "response.completed"): Wire {
  const stream = responsesToResponses.stream(contextOf(CARRIED, { id: "resp_1" }));
  const events = eventsFor(TEXT);
  events[events.length - 1] = { type, response: responseOf(TEXT, more) };
  const out = events.map((event) => stream.push({ event: "", data: JSON.stringify(event) })).join(
    "",
  );
  return checkResponsesStream(out + stream.close(stream.usage ?? usage)).response;
}

Deno.test("careless upstream: a report of usage has all that clients demand; one that is none is replaced", () => {
  const own = {
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const counted = { input_tokens: 5, output_tokens: 7, total_tokens: 12, ...own };
  const bare = { input_tokens: 10, output_tokens: 20 };
  const full = { ...bare, total_tokens: 30, ...own };
  for (
    const [reported, shown] of [
      [USAGE, USAGE],
      [bare, full],
      [{ ...bare, input_tokens_details: null, total_tokens: -1, vendor: 1 }, {
        ...full,
        vendor: 1,
      }],
      [
        { ...bare, input_tokens_details: { cached_tokens: 99, audio_tokens: 1 } },
        { ...full, input_tokens_details: { cached_tokens: 10, audio_tokens: 1 } },
      ],
      [
        { ...bare, output_tokens_details: { reasoning_tokens: 99 } },
        {
          ...full,
          output_tokens: 119,
          total_tokens: 129,
          output_tokens_details: { reasoning_tokens: 99 },
        },
      ],
      [
        { ...bare, total_tokens: 30, output_tokens_details: { reasoning_tokens: 99 } },
        { ...full, output_tokens_details: { reasoning_tokens: 20 } },
      ],
      [null, counted],
      [[], counted],
      [{ input_tokens: "10", output_tokens: 19.5, total_tokens: "30" }, full],
      [{ input_tokens: "ten", output_tokens: -20 }, counted],
      [{ tokens: 10 }, counted],
      [{ prompt_tokens: 10, completion_tokens: 20 }, {
        prompt_tokens: 10,
        completion_tokens: 20,
        ...full,
      }],
    ] as const
  ) {
    const { usage } = endOf({ usage: reported as Wire });
    assertEquals<unknown>(usage, shown);
    const whole = responsesToResponses.reply(
      responseOf(TEXT, { usage: reported as Wire }),
      contextOf(CARRIED),
    );
    const body = whole.usage === undefined ? whole.withUsage(countedUsage(5, 7)) : whole.body;
    assertEquals<unknown>(body.usage, shown);
  }
  const stream = responsesToResponses.stream(contextOf(CARRIED, { id: "resp_1" }));
  let out = "";
  const huge = { input_tokens: 9e15, output_tokens: 9e15 };
  for (const event of eventsFor(TEXT, { usage: huge })) {
    out += stream.push({ event: "", data: JSON.stringify(event) });
  }
  out += stream.close(countedUsage(5, 7));
  assertEquals(
    checkResponsesStream(out).response.usage,
    counted,
    "what is not believed is not shown",
  );
});

Deno.test("careless upstream: an incomplete response says why in words that clients know", () => {
  for (
    const [details, reason] of [
      [{ reason: "content_filter" }, "content_filter"],
      [{ reason: "max_output_tokens" }, "max_output_tokens"],
      [{ reason: "max_tokens" }, "max_output_tokens"],
      [null, "max_output_tokens"],
      [{}, "max_output_tokens"],
    ] as const
  ) {
    for (const status of ["incomplete", "completed", null]) {
      const response = endOf(
        { status, incomplete_details: details },
        undefined,
        "response.incomplete",
      );
      assertEquals([response.status, response.incomplete_details], ["incomplete", { reason }]);
    }
  }
  const completed = endOf({ incomplete_details: { reason: "max_output_tokens" } });
  assertEquals([completed.status, completed.incomplete_details], ["completed", null]);
});

Deno.test("careless upstream: a field of another type than clients' schemas demand is not carried", () => {
  const wrong = { tools: "x", text: [], metadata: "z", temperature: "1", parallel_tool_calls: 1 };
  checkResponseObject({ ...endOf(wrong), output: [] });
  const vendor = { provider: "p", service_tier: "flex", temperature: 0.5 };
  const { provider, service_tier, temperature } = endOf(vendor);
  assertEquals({ provider, service_tier, temperature }, vendor);
});

Deno.test("careless upstream: what was encrypted only in the whole response is sealed there, and kept", () => {
  const events = changed(HELLO, (event) => {
    if (isDone(event)) delete event.item.encrypted_content;
  });
  const stream = responsesToResponses.stream(contextOf(CARRIED, { id: "resp_1" }));
  let out = "";
  for (const event of events) out += stream.push({ event: "", data: JSON.stringify(event) });
  out += stream.close(stream.usage!);
  const { response } = eventsOf(out).at(-2)!.data;
  const sealed = response.output[0].encrypted_content;
  assertEquals(SEALER.open("reasoning", sealed, "x")?.parts, [{ text: "", seal: "gAAAA-enc_1" }]);
  assertEquals(stream.outputItems?.[0]?.encrypted_content, sealed);
});

Deno.test("careless upstream: an error that is a text is one, whatever the response's status", () => {
  for (const status of ["completed", "incomplete", "in_progress"]) {
    const events = changed(TEXT, ({ type, response }) => {
      if (type === "response.completed") Object.assign(response, { status, error: "overloaded" });
    });
    assert(checkResponsesStream(carried(events)).failed);
  }
});

Deno.test("careless upstream: ids as they came where they are legal", () => {
  const { output } = checkResponsesStream(carried(eventsFor(HELLO.slice(1))));
  assertEquals<unknown>(output, itemsOf(HELLO.slice(1)));
});

Deno.test("careless upstream: blocks of a messages stream with one index are calls of their own", () => {
  const input = (partial_json: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "input_json_delta", partial_json },
  });
  const events: Wire[] = [
    { type: "message_start", message: { id: "m", role: "assistant", content: [] } },
    ...["a", "b"].flatMap((name) => [
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: name, name },
      },
      input(`{"${name}":`),
      input("1}"),
      { type: "content_block_stop", index: 0 },
    ]),
    { type: "message_delta", delta: { stop_reason: "tool_use" } },
    { type: "message_stop" },
  ];
  const rebuilt = checkResponsesStream(through(responsesToMessages, CARRIED, linesOf(events)));
  assertEquals(plain(rebuilt), [["a", '{"a":1}'], ["b", '{"b":1}']]);
});

Deno.test("careless upstream: what comes after the end of arguments or of an item is left out", () => {
  const [first] = CALLS;
  const events = eventsFor([first!]).flatMap((event) => {
    if (!isType(/arguments\.done|item\.done/)(event)) return [event];
    const late = { ...event, type: "response.function_call_arguments.delta", delta: "x" };
    return [event, late, { ...event, type: "response.function_call_arguments.done" }];
  });
  const text = carried(events);
  assertEquals(plain(checkResponsesStream(text)), CALL_BLOCKS.slice(0, 1));
  const ends = eventsOf(text).filter(({ event }) => /arguments\.done/.test(event!));
  assertEquals(ends.map(({ data }) => data.name), ["a"], "once, and named");
  const annotation = { type: "response.output_text.annotation.added", item_id: "msg_0" };
  const annotated = eventsFor(TEXT).flatMap((event) =>
    isDone(event) ? [event, { ...annotation, output_index: 0, annotation: { type: "x" } }] : [event]
  );
  assertEquals(plain(checkResponsesStream(carried(annotated))), [["text", "Hello"]]);
});

Deno.test("careless upstream: what was encrypted is never passed on as it came", () => {
  const events = changed(HELLO, (event) => {
    for (const item of itemsIn(event)) {
      if (item.type === "reasoning") item.encrypted_content = "gAAAA-enc_1";
    }
  });
  const text = carried(events);
  assertEquals(plain(checkResponsesStream(text)), BLOCKS);
  assert(!text.includes("gAAAA-enc_1"));
});

Deno.test("careless upstream: a seal that is repeated is one", () => {
  const reader = new OutputReader();
  const events = eventsFor(HELLO).flatMap((event) => isDone(event) ? [event, event] : [event]);
  const read = events.flatMap((event) => reader.event(event))
    .concat(reader.response(responseOf(HELLO)));
  assertEquals(read.filter(({ type }) => type === "seal").length, 1);
});

Deno.test("careless upstream: a custom tool without any input is called with an empty one", () => {
  const text = through(
    chatToResponses,
    ASKED,
    linesOf(eventsFor([{ name: "a", args: [], custom: true }])),
  );
  assertEquals(plain(checkChatStream(text)), [["a", '{"input":""}']]);
});

Deno.test("careless upstream: IDs of calls stay short when they are made different", () => {
  const { output } = checkResponsesStream(carried(changed(CALLS, (event) => {
    for (const item of itemsIn(event)) item.call_id = "c".repeat(64);
  })));
  checkOutput(output);
  assert(output.every(({ call_id: id }) => id.length <= 64));
});

Deno.test("careless upstream: parts are bounded", () => {
  const events = (count: number): JsonObject[] => [
    ...Array.from({ length: count }, (_, content_index) => ({
      type: "response.content_part.added",
      item_id: "msg_0",
      output_index: 0,
      content_index,
      part: { type: "output_text", text: "" },
    })),
    { type: "response.completed", response: responseOf([]) },
  ];
  assert(!checkResponsesStream(carried(events(4_096))).failed);
  assert(checkResponsesStream(carried(events(4_097))).failed);
});

Deno.test("careless upstream: output begins with the first text, not with what the request said", () => {
  const stream = responsesToResponses.stream(contextOf(CARRIED, { id: "resp_1" }));
  const begun = eventsFor(TEXT, { vendor: { note: "words that nobody has asked for" } });
  for (const event of begun) {
    stream.push({ event: "", data: JSON.stringify(event) });
    if (isType(/delta/)(event)) break;
    assert(!stream.hasOutput, String(event.type));
    assertEquals(stream.countedOutput, 0);
  }
  assert(stream.hasOutput);
});

Deno.test("careless upstream: half a call of a custom tool stays half, whatever its status", () => {
  const call = { name: "patch", args: ["rm -rf /home/a"], custom: true };
  for (const status of [null, "in_progress", "incomplete"]) {
    const output = itemsOf([call, call]).map((item, at) =>
      at === 0 ? { ...item, status: null } : { ...item, status }
    );
    const events = eventsFor([call, call], { status: "incomplete", output })
      .filter(isNot(/done$/));
    for (const one of [events, events.slice(-1)]) {
      const text = through(chatToResponses, ASKED, linesOf(one));
      const { blocks, stopReason } = checkChatStream(text);
      assertEquals([blocks.map(({ text }) => text), stopReason], [
        ['{"input":"rm -rf /home/a"}', '{"input":"rm -rf /home/a'],
        "length",
      ]);
    }
  }
});

Deno.test("careless upstream: a stream that calls an incomplete response completed is incomplete", () => {
  const { status, incomplete_details: details } = endOf({ status: "incomplete" });
  assertEquals([status, details], ["incomplete", { reason: "max_output_tokens" }]);
});

Deno.test("careless upstream: a call that goes far beyond the limit is cut off as a whole", () => {
  const long: Said = { name: "a", args: [JSON.stringify({ a: "word ".repeat(500) })] };
  const reply = responsesToResponses.reply(responseOf([...TEXT, long]), contextOf(CARRIED));
  const { body } = reply.truncated(20);
  assertEquals((body.output as Wire[]).map(({ type }) => type), ["message"]);
  assertEquals(body.status, "incomplete");
});

Deno.test("sealed reasoning is not sent to another upstream that serves a model of the same name", () => {
  const value = {
    route: "route",
    upstream: "up",
    model: "theirs",
    parts: [{ text: "", seal: "s" }],
  };
  const sealed = SEALER.seal("reasoning", value);
  const body = {
    input: [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: sealed }],
  };
  const opened = new Map([[sealed, value]]);
  const options = { model: "theirs", shaping: {} };
  const { input: own } = carriedInput({ body, opened }, { ...options, upstream: "up" });
  assertEquals((own as Wire[])[0].encrypted_content, "s");
  const { input: other, dropped } = carriedInput({ body, opened }, { ...options, upstream: "two" });
  assertEquals([JSON.stringify(other).includes('"s"'), dropped.length > 0], [false, true]);
});

Deno.test("careless upstream: a call without arguments has {} once it is whole, and a custom tool's input is one in all ways", () => {
  const tools = [{ type: "custom", name: "g" }];
  const request = parseResponses({ model: "m", input: "Hi", tools });
  const calls = [["f", ""], ["g", '{"input":"x"}']].map(([name, args], at) => ({
    type: "function_call",
    id: `fc_${at}`,
    call_id: `c${at}`,
    name: name!,
    arguments: args!,
  }));
  const response = {
    id: "r",
    object: "response",
    status: "completed",
    output: calls,
    usage: USAGE,
  };
  const events = calls.flatMap(({ arguments: args, ...item }, output_index) => [
    { type: "response.output_item.added", output_index, item: { ...item, arguments: "" } },
    {
      type: "response.function_call_arguments.delta",
      output_index,
      item_id: item.id,
      delta: args,
    },
  ]);
  const end = { type: "response.completed", response: { ...response, output: [] } };
  const context = contextOf(request, { id: "resp_1" });
  const whole = wholeOfStream("responses", "responses", context);
  for (const event of [...events, end]) whole.push({ event: "", data: JSON.stringify(event) });
  for (const body of [responsesToResponses.reply(response, context).body, whole.reply().body]) {
    const said = (body.output as JsonObject[]).map((
      item,
    ) => [item.name, item.arguments ?? item.input]);
    assertEquals(said, [["f", "{}"], ["g", "x"]]);
  }
});

Deno.test("careless upstream: an item whose type is the name of what all objects have is one of an unknown type", () => {
  const request = parseResponses({ model: "m", input: "Hi" });
  const item = { type: "constructor", x: 1 };
  const response = {
    id: "r",
    object: "response",
    status: "completed",
    output: [item],
    usage: USAGE,
  };
  const { output } =
    responsesToResponses.reply(response, contextOf(request, { id: "resp_1" })).body;
  assertEquals(output, [{ ...item, id: "item_1_0" }]);
});
