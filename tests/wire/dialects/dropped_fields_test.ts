/**
 * Nothing is left out silently: every field of each wire format, as the SDKs declare them, and invented ones at every
 * level, is in what a target of another dialect is sent, or named, or the request is rejected.
 */

import {
  BACK_NAMES,
  type Bridge,
  bridgeBetween,
  DIALECT_NAMES,
  type DialectName,
  DIALECTS as WIRE,
  type JsonObject,
  type ParsedRequest,
} from "../../../src/wire/dialects/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals } from "../../assert.ts";
import { MARK, readFields, type WireField } from "../formats/fields.ts";
import { INVENTED_CHAT, INVENTED_MESSAGES } from "../formats/invented_fields.ts";
import {
  chatToMessages,
  messagesToChat,
  parseChat,
  parseMessages,
  parseResponses,
} from "./ends.ts";

const OPTIONS = { model: "upstream-model", upstream: "up", permittedOutput: 500, shaping: {} };
const TEXT = "zebra";
const HI = { role: "user", content: "Hi" };

/** Fields whose text need not go anywhere, and why. */
const LEFT_OUT: readonly { field: RegExp; from?: DialectName; why: string }[] = [
  { field: /^model$/, why: "the target's own name is sent" },
  { field: /\.signature$/, why: "only the upstream that wrote it can use it" },
  {
    field: /(^|\.)type$|\.role$|media_type$/,
    why: "a kind, which the other dialect has words of its own for",
  },
  { field: /^stream_options$/, why: "the gateway asks for usage itself" },
  { field: /(response_format.*|json_schema\)?)\.name$/, why: "a schema has no name there" },
  { field: /^metadata\.\*$/, from: "responses", why: "the reply repeats it" },
  {
    field: /^prompt_cache_key$/,
    from: "responses",
    why: "a hash of it is sent (cache_marks_test.ts)",
  },
  { field: /tool_use_id$|tool_call_id$|\.id$/, why: "ids are escaped (call_ids_test.ts)" },
];

interface Result {
  readonly sent: string;
  readonly dropped: readonly string[];
}

/** What becomes of a request; undefined if it is rejected, which names the field to the client. */
function translate(
  bridge: Bridge,
  parse: (body: JsonObject) => ParsedRequest,
  body: JsonObject,
): Result | undefined {
  try {
    const { body: sent, dropped } = bridge.request(parse(body), OPTIONS);
    return { sent: JSON.stringify(sent), dropped };
  } catch (error) {
    assert(error instanceof Refusal, `${error}`);
    assert(error.status === 400 && error.param !== undefined);
    return undefined;
  }
}

/** Whether a name says which field of a path is dropped. */
function isNamed(path: string, dropped: readonly string[]): boolean {
  const steps = path.split(/[.[\]()]+/).filter((step) => step !== "");
  return dropped.some((name) => steps.includes(name.split(".").at(-1)!) || steps.includes(name));
}

const DIALECTS = {
  chat: { bridge: chatToMessages, parse: parseChat },
  messages: {
    bridge: messagesToChat,
    parse: (body: JsonObject) => parseMessages({ max_tokens: 9, ...body }, { beta: true }),
  },
} as const;

const declared = await readFields();

/** A field's bodies, its messages in each role that they may have. */
function bodiesOf({ body }: WireField): JsonObject[] {
  const json = JSON.parse(JSON.stringify(body).replaceAll(MARK, TEXT)) as JsonObject;
  if (!("messages" in json)) {
    const { input = [] } = json;
    return [
      { model: "m", ...json, input: Array.isArray(input) ? [HI, ...input] as JsonObject[] : input },
    ];
  }
  const messages = json.messages as JsonObject[];
  return ["user", "assistant", "system"].map((role) => ({
    ...json,
    model: json.model ?? "m",
    messages: [
      HI,
      ...messages.map((message) => ({ ...message, ...(json.max_tokens ? { role } : {}) })),
    ],
  }));
}

const PARSERS = { ...DIALECTS, responses: { parse: parseResponses } };

for (const from of DIALECT_NAMES) {
  const { parse } = PARSERS[from];
  for (const to of BACK_NAMES.filter((one) => one !== from)) {
    Deno.test(`${from} → ${to}: each declared field is translated, named, or the request is rejected`, () => {
      const silent: string[] = [];
      let passed = 0;
      for (const field of declared[`${from}Request`]) {
        const isLeftOut = LEFT_OUT.some((one) =>
          one.field.test(field.path) && (one.from ?? from) === from
        );
        if (isLeftOut) continue;
        for (const body of bodiesOf(field)) {
          const result = translate(bridgeBetween(from, to), parse, body);
          if (result === undefined || result.sent.includes(TEXT)) continue;
          if (isNamed(field.path, result.dropped)) passed++;
          else silent.push(`${field.path}: ${result.dropped.join(", ")} ${JSON.stringify(body)}`);
        }
      }
      assertEquals([...new Set(silent)], []);
      assert(passed > 10, `the declarations were read: ${passed} named`);
    });
  }
}

for (const [name, { bridge, parse }] of Object.entries(DIALECTS)) {
  Deno.test(`${name}: invented fields at every level are named`, () => {
    const invented = name === "chat" ? INVENTED_CHAT : INVENTED_MESSAGES;
    const silent = invented.flatMap(({ name, body }) => {
      const result = translate(bridge, parse, { model: "m", ...body(TEXT) });
      const isSaid = result === undefined || result.sent.includes(TEXT) ||
        result.dropped.length > 0;
      return isSaid || /signature/.test(name) ? [] : [name];
    });
    assertEquals(silent, []);
  });
}

const cached = { cache_control: { type: "ephemeral" } };
const pdf = { type: "base64", media_type: "application/pdf", data: "JVBERi0=" };
const tool = { name: "f", input_schema: { type: "object" } };

/** Fields that hold no text, each with the name by which it is reported. */
const TYPED: readonly [keyof typeof DIALECTS, JsonObject, string][] = [
  ["messages", { ...cached }, "cache_control"],
  ["messages", { system: [{ type: "text", text: "x", ...cached }] }, "cache_control"],
  ["messages", { tools: [{ ...tool, ...cached }] }, "cache_control"],
  [
    "messages",
    { messages: [{ role: "user", content: [{ type: "text", text: "x", ...cached }] }] },
    "cache_control",
  ],
  [
    "messages",
    {
      messages: [HI, {
        role: "assistant",
        content: [{ type: "tool_use", id: "a", name: "f", input: {}, ...cached }],
      }],
    },
    "cache_control",
  ],
  [
    "messages",
    {
      messages: [{
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "a",
          content: [{ type: "text", text: "x", ...cached }],
        }],
      }],
    },
    "cache_control",
  ],
  [
    "messages",
    {
      messages: [{
        role: "user",
        content: [{
          type: "document",
          source: { type: "content", content: [{ type: "text", text: "x", ...cached }] },
        }],
      }],
    },
    "cache_control",
  ],
  [
    "messages",
    {
      messages: [{
        role: "user",
        content: [{ type: "document", source: pdf, citations: { enabled: true } }],
      }],
    },
    "document.citations",
  ],
  ["messages", { tools: [{ ...tool, input_examples: [{ a: 1 }] }] }, "tools.input_examples"],
  ["messages", { tools: [{ ...tool, defer_loading: true }] }, "tools.defer_loading"],
  [
    "messages",
    { tools: [{ ...tool, eager_input_streaming: true }] },
    "tools.eager_input_streaming",
  ],
  ["messages", { tools: [{ ...tool, allowed_callers: ["direct"] }] }, "tools.allowed_callers"],
  ["messages", { thinking: { type: "enabled", budget_tokens: 2_000 } }, "thinking.budget_tokens"],
  ["messages", { thinking: { type: "adaptive", display: "omitted" } }, "thinking.display"],
  ["messages", { output_config: { task_budget: { tokens: 1 } } }, "output_config.task_budget"],
  ["messages", { top_k: 3 }, "top_k"],
  ["messages", { speed: "fast" }, "speed"],
  ["messages", { metadata: { user_id: "x" } }, "metadata"],
  ["messages", { tags: ["x"] }, "tags"],
  ["messages", { context_management: { edits: [{ type: "clear" }] } }, "context_management"],
  [
    "messages",
    {
      messages: [
        HI,
        { role: "assistant", content: [{ type: "redacted_thinking", data: "x" }] },
        HI,
      ],
    },
    "messages.redacted_thinking",
  ],
  ["messages", { messages: [{ ...HI, clear_at: 1 }] }, "messages.clear_at"],
  ["chat", { seed: 0 }, "seed"],
  ["chat", { logprobs: true, top_logprobs: 2 }, "top_logprobs"],
  ["chat", { presence_penalty: 1 }, "presence_penalty"],
  [
    "chat",
    { stream_options: { include_obfuscation: false } },
    "stream_options.include_obfuscation",
  ],
  ["chat", { thinking: { type: "enabled", budget_tokens: 2 } }, "thinking"],
  ["chat", { thinking: { type: "disabled", budget_tokens: 2 } }, "thinking.budget_tokens"],
  ["chat", { prediction: { type: "content", content: "x" } }, "prediction"],
  ["chat", { user: "a", safety_identifier: "b" }, "user"],
  ["chat", { messages: [{ ...HI, name: "Ada" }] }, "messages.name"],
  [
    "chat",
    {
      messages: [{
        role: "user",
        content: [{
          type: "image_url",
          image_url: { url: "https://x.example/a.png", detail: "low" },
        }],
      }],
    },
    "image_url.detail",
  ],
  ["chat", { messages: [HI, { role: "assistant", audio: { id: "x" } }, HI] }, "messages.audio"],
  [
    "chat",
    { tools: [{ type: "function", function: { name: "f", x_cost: 1 } }] },
    "tools.x_cost",
  ],
];

for (const [name, body, field] of TYPED) {
  Deno.test(`${name}: ${JSON.stringify(body).slice(0, 100)} names ${field}`, () => {
    const { bridge, parse } = DIALECTS[name];
    const result = translate(bridge, parse, { model: "m", messages: [HI], ...body });
    assert(result?.dropped.includes(field), `${result?.dropped}`);
  });
}

Deno.test("fields that say nothing are not named", () => {
  const { dropped } = chatToMessages.request(
    parseChat({
      model: "m",
      messages: [HI, {
        role: "assistant",
        content: "x",
        refusal: null,
        annotations: [],
        audio: null,
      }, HI],
      seed: null,
    }),
    OPTIONS,
  );
  assertEquals(dropped, []);
});

Deno.test("reasoning that a strict upstream did not sign is named where it is left out", () => {
  const thinks = { role: "assistant", content: "x", reasoning_content: "R" };
  const request = parseChat({ model: "m", messages: [HI, thinks, HI] });
  const send = (signedReasoning: boolean) =>
    chatToMessages.request(request, { ...OPTIONS, shaping: { signedReasoning } }).dropped;
  assertEquals([send(true), send(false)], [["messages.reasoning_content"], []]);
  // OpenAI's chat interface takes none, from clients of any dialect
  const thought = { type: "thinking", thinking: "R", signature: "s" };
  const item = { type: "reasoning", summary: [{ type: "summary_text", text: "R" }] };
  const histories = {
    chat: [request, "messages.reasoning_content"],
    messages: [
      parseMessages({
        model: "m",
        max_tokens: 9,
        messages: [HI, { role: "assistant", content: [thought, { type: "text", text: "x" }] }, HI],
      }),
      "messages.thinking",
    ],
    responses: [parseResponses({ model: "m", input: [HI, item, HI] }), "input.reasoning"],
  } as const;
  for (const from of DIALECT_NAMES) {
    const [history, name] = histories[from];
    const write = (signedReasoning: boolean) =>
      bridgeBetween(from, "chat").request(history, { ...OPTIONS, shaping: { signedReasoning } });
    const signed = write(true);
    assertEquals([signed.dropped, write(false).dropped], [[name], []], from);
    assert(!JSON.stringify(signed.body).includes('"R"'));
    assert(JSON.stringify(write(false).body).includes('"R"'));
  }
});

Deno.test("a budget of reasoning that is sent is not named as dropped, and one that is lowered is named with its number", () => {
  for (
    const [budget, sent, adjusted] of [
      [2_000, 2_000, []],
      [20_000, 3_200, ["thinking.budget_tokens=3200"]],
    ] as const
  ) {
    const thinking = { type: "enabled", budget_tokens: budget };
    const written = chatToMessages.request(
      parseChat({ model: "m", messages: [HI], thinking }),
      { ...OPTIONS, permittedOutput: 4_000 },
    );
    assertEquals(written.body.thinking, { type: "enabled", budget_tokens: sent });
    assertEquals<unknown>([written.dropped, written.adjusted], [[], adjusted]);
  }
});

Deno.test("a JSON schema that is left out is any JSON object", () => {
  const response_format = { type: "json_schema", json_schema: { name: "x" } };
  const request = parseChat({ model: "m", messages: [HI], response_format });
  const send = (to: "messages" | "responses") =>
    bridgeBetween("chat", to).request(request, OPTIONS);
  assertEquals(send("responses").body.text, { format: { type: "json_object" } });
  assertEquals(send("messages").body.system, "Answer with a single JSON object and nothing else.");
});

Deno.test("thinking that a route cannot switch off is not sent, and named", () => {
  const { front } = WIRE.messages;
  const thinking = { type: "disabled" };
  const request = parseMessages({ model: "m", max_tokens: 9, messages: [HI], thinking });
  const route = { reasoning: "always", efforts: [] } as const;
  const applied = front.applyReasoning(request, route);
  assertEquals(applied.dropped, ["thinking"]);
  for (const to of DIALECT_NAMES) {
    const { body } = bridgeBetween("messages", to).request(applied.request, OPTIONS);
    assertEquals(body.thinking, undefined, to);
  }
});
