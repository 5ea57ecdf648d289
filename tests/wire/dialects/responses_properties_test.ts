/** What holds for every responses request: nothing is lost on the way to other dialects, and nothing breaks the gateway. */

import { assertGrowsLinearly } from "../../growth.ts";
import fc from "fast-check";
import {
  DIALECTS,
  EFFORTS,
  identifyConversation,
  type JsonObject,
  type RouteReasoning,
} from "../../../src/wire/dialects/mod.ts";
import { toolTable } from "../../../src/wire/dialects/responses/request/tools.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert } from "../../assert.ts";
import { PROOF, sized } from "../../tier.ts";
import {
  countInput,
  parseCompact,
  parseResponses,
  responsesToChat,
  responsesToMessages,
  SEALER,
} from "./ends.ts";

const OPTIONS = { model: "m", upstream: "up", permittedOutput: 500, shaping: {} };
const { front } = DIALECTS.responses;
const bridges = [responsesToChat, responsesToMessages];
const ROUTES: readonly RouteReasoning[] = [
  { reasoning: "none", efforts: [] },
  { reasoning: "thinking", efforts: [] },
  { reasoning: "always", efforts: [] },
  { reasoning: "effort", efforts: ["low", "high"], defaultEffort: "high" },
];

/** Stands for a text of its own, which {@linkcode numbered} makes of it. */
const TEXT = "§";
const text = fc.constant(TEXT);
const name = fc.constantFrom("f", "g", "read", "a.b", "n".repeat(70));
const namespace = fc.constantFrom(undefined, "s", "mail");
const image = fc.constantFrom("https://a.example/b.png", "data:image/png;base64,AAAA");

const parts = fc.oneof(
  text,
  fc.array(
    fc.oneof(
      text.map((one) => ({ type: "input_text", text: one })),
      image.map((url) => ({ type: "input_image", image_url: url, detail: "auto" })),
      text.map((one) => ({ type: "input_file", file_data: "JVBE", filename: one })),
    ),
    { minLength: 1, maxLength: 3 },
  ),
);

const said = fc.oneof(
  text,
  fc.array(
    fc.oneof(
      text.map((one) => ({ type: "output_text", text: one, annotations: [] })),
      text.map((one) => ({ type: "refusal", refusal: one })),
    ),
    { minLength: 1, maxLength: 2 },
  ),
);

const functionTool = fc.record({
  type: fc.constant("function"),
  name,
  description: text,
  parameters: text.map((one) => ({
    type: "object",
    properties: { a: { type: "string", description: one } },
  })),
});
const customTool = fc.record({
  type: fc.constant("custom"),
  name,
  description: text,
  format: text.map((definition) => ({ type: "grammar", syntax: "lark", definition })),
});
const tool = fc.oneof(
  functionTool,
  customTool,
  fc.record({
    type: fc.constant("namespace"),
    name: fc.constantFrom("s", "mail", "s__f"),
    description: text,
    tools: fc.array(fc.oneof(functionTool, customTool), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    type: fc.constant("tool_search"),
    execution: fc.constant("client"),
    description: text,
    parameters: fc.constant({ type: "object" }),
  }),
);
const tools = fc.array(tool, { maxLength: 4 });

/** Calls, and their results in another order. */
const calls = fc.array(
  fc.tuple(
    fc.oneof(
      fc.record({ type: fc.constant("function_call"), name, namespace, arguments: text })
        .map((one) => ({ ...one, arguments: JSON.stringify({ a: one.arguments }) })),
      fc.record({ type: fc.constant("custom_tool_call"), name, namespace, input: text }),
    ),
    parts,
  ),
  { minLength: 1, maxLength: 3 },
).map((all): JsonObject[] => {
  const own = all.map(([call, output], at) => ({ call, output, call_id: `c${at}` }));
  return [
    ...own.map(({ call, call_id }) => ({ ...call, call_id })),
    ...own.toReversed().map(({ call, output, call_id }) => ({
      type: `${call.type}_output`,
      call_id,
      output,
    })),
  ] as JsonObject[];
});

/** Items that belong together. */
const step: fc.Arbitrary<JsonObject[]> = fc.oneof(
  parts.map((content) => [{ role: "user", content }]),
  text.map((content) => [{ type: "message", role: "developer", content }]),
  text.map((one) => [{ role: "system", content: [{ type: "input_text", text: one }] }]),
  said.map((content) => [{ type: "message", id: "msg_1", role: "assistant", content }]),
  text.map((one) => [{ type: "reasoning", summary: [{ type: "summary_text", text: one }] }]),
  text.map((one) => [{
    type: "reasoning",
    summary: [],
    content: [{ type: "reasoning_text", text: one }],
    encrypted_content: "gAAAA",
  }]),
  text.map((one) => [{ type: "reasoning", summary: [], sealed: { parts: [{ text: one }] } }]),
  text.map((one) => [{ type: "compaction", sealed: { text: one } }]),
  calls,
  tools.map((own) => [{ type: "additional_tools", role: "developer", tools: own }]),
  tools.map((own) => [
    { type: "tool_search_call", call_id: "ts", execution: "client", arguments: { q: TEXT } },
    { type: "tool_search_output", call_id: "ts", tools: own },
  ]),
  fc.constantFrom(...EFFORTS).map((effort) => [
    { type: "configuration_update", reasoning: { effort } },
  ]),
  fc.constant([{ type: "web_search_call", id: "ws_1", status: "completed" }]),
) as fc.Arbitrary<JsonObject[]>;

const request = fc.record({
  model: fc.constant("m"),
  instructions: fc.option(text, { nil: undefined }),
  input: fc.oneof(
    text,
    fc.array(step, { minLength: 1, maxLength: 6 })
      .map((steps) => [{ role: "user", content: TEXT }, ...steps.flat()]),
  ),
  tools: fc.option(tools, { nil: undefined }),
  parallel_tool_calls: fc.option(fc.boolean(), { nil: undefined }),
  temperature: fc.option(fc.double({ min: 0, max: 2, noNaN: true }), { nil: undefined }),
  store: fc.option(fc.boolean(), { nil: undefined }),
  reasoning: fc.option(
    fc.record({ effort: fc.constantFrom(...EFFORTS), summary: fc.constant("auto") }),
    { nil: undefined },
  ),
}) as unknown as fc.Arbitrary<JsonObject>;

/** A copy with a different text in each place, and sealed what is to be sealed. */
function numbered(body: JsonObject): { readonly body: JsonObject; readonly texts: string[] } {
  const texts: string[] = [];
  const copy = (value: unknown): unknown => {
    if (typeof value === "string") {
      return value.replaceAll(TEXT, () => {
        texts.push(`text${texts.length}é`);
        return texts.at(-1)!;
      });
    }
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== "object" || value === null) return value;
    const { sealed, ...own } = Object.fromEntries(
      Object.entries(value).filter(([, one]) => one !== undefined)
        .map(([key, one]) => [key, copy(one)]),
    );
    if (sealed === undefined) return own;
    const encrypted_content = SEALER.seal(own.type as "reasoning", sealed as JsonObject);
    return { ...own, encrypted_content };
  };
  return { body: copy(body) as JsonObject, texts };
}

/** The first of several tools with the same name is offered. */
function withoutTwins(texts: readonly string[], body: JsonObject): string[] {
  const seen = new Set<string>();
  const lost = new Set<string>();
  const look = (tool: JsonObject, space?: JsonObject) => {
    if (tool.type === "namespace") {
      const inner = tool.tools as JsonObject[];
      // what a namespace is about comes with the first of its tools that is offered
      const isTwin = seen.has(`space ${tool.name}`) ||
        inner.every((one) => seen.has(JSON.stringify([one.type, one.name, tool.name])));
      if (isTwin) lost.add(tool.description as string);
      else seen.add(`space ${tool.name}`);
      return inner.forEach((one) => look(one, tool));
    }
    const key = JSON.stringify([tool.type, tool.name, space?.name]);
    if (seen.has(key)) {
      for (const one of texts) if (JSON.stringify(tool).includes(one)) lost.add(one);
    }
    seen.add(key);
  };
  const input = Array.isArray(body.input) ? body.input as JsonObject[] : [];
  for (const { tools } of [body, ...input]) {
    ((tools ?? []) as JsonObject[]).forEach((one) => look(one));
  }
  return texts.filter((one) => !lost.has(one));
}

Deno.test("responses: every text of a legal request is in what upstreams of both dialects get (property)", () => {
  fc.assert(
    fc.property(request, fc.constantFrom(...ROUTES), (generated, route) => {
      const { body, texts } = numbered(generated);
      const applied = front.applyReasoning(parseResponses(body), route).request;
      for (const bridge of bridges) {
        const written = JSON.stringify(bridge.request(applied, OPTIONS).body);
        for (const one of withoutTwins(texts, body)) {
          assert(written.includes(one), `${one} is not in ${written}`);
        }
      }
    }),
    { numRuns: sized(80, 1_000) },
  );
});

Deno.test("responses: every text of a conversation is in the request for its summary (property)", () => {
  fc.assert(
    fc.property(request, fc.boolean(), (generated, byTrigger) => {
      const { tools: _, ...rest } = generated;
      const input = Array.isArray(rest.input)
        ? (rest.input as JsonObject[]).filter(({ tools }) => tools === undefined)
        : [{ role: "user", content: TEXT }];
      // results without the calls that were filtered out
      const whole = input.filter(({ type }) => type !== "tool_search_call");
      const trigger = byTrigger ? [{ type: "compaction_trigger" }] : [];
      const { body, texts } = numbered({ ...rest, input: [...whole, ...trigger] });
      const parsed = byTrigger ? parseResponses(body) : parseCompact(body);
      for (const bridge of bridges) {
        const { body: sent } = bridge.request(parsed, OPTIONS);
        const written = JSON.stringify(sent);
        assert(sent.tools === undefined && !/"tool_calls"|"tool_use"/.test(written), written);
        for (const one of texts) assert(written.includes(one), `${one} is not in ${written}`);
      }
    }),
    { numRuns: sized(40, 500) },
  );
});

const scalar = fc.constantFrom<unknown>(
  ...["", "m", "user", "assistant", "developer", "auto", "required", "none", "f", "c1", "{}"],
  ...["function", "custom", "namespace", "tool_search", "web_search", "allowed_tools", "client"],
  ...["input_text", "output_text", "input_image", "input_file", "input_audio", "input_video"],
  ...["message", "function_call", "function_call_output", "custom_tool_call", "reasoning"],
  ...["custom_tool_call_output", "tool_search_call", "tool_search_output", "compaction"],
  ...["compaction_trigger", "additional_tools", "configuration_update", "item_reference"],
  ...["json_schema", "json_object", "__proto__", "constructor", "\ud800", "sl1.AAAAAAAA"],
  ...["data:image/png;base64,AAAA", "https://a.example/b.mp4"],
  ...[0, 1, -1, 0.5, 1e9, true, false, null, [], {}],
);
const key = fc.constantFrom(
  ...["type", "role", "content", "text", "name", "namespace", "id", "call_id", "arguments"],
  ...["input", "output", "tools", "tool_choice", "parameters", "format", "execution", "summary"],
  ...["encrypted_content", "image_url", "file_data", "file_id", "reasoning", "effort", "schema"],
  ...["__proto__", "constructor", "toString"],
);
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    scalar,
    fc.string(),
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.dictionary(key, tie("tree"), { maxKeys: 5 }),
  ),
}));
const FIELDS = [
  ...["instructions", "tools", "tool_choice", "reasoning", "text", "include", "stream", "store"],
  ...["metadata", "prompt_cache_key", "stream_options", "max_output_tokens", "temperature"],
  ...["truncation", "user", "background", "previous_response_id"],
];
const item = fc.dictionary(key, tree, { maxKeys: 6 });
const anyBody = fc.oneof(
  tree,
  fc.record(
    {
      model: fc.constant("m"),
      input: fc.oneof(fc.constant("Hi"), fc.array(fc.oneof(item, tree), { maxLength: 4 })),
      ...Object.fromEntries(FIELDS.map((field) => [field, tree])),
    },
    { requiredKeys: ["model", "input"] },
  ),
  // mostly legal, with one strange value
  fc.tuple(request, fc.constantFrom(...FIELDS), tree)
    .map(([body, field, value]) => ({ ...numbered(body).body, [field]: value })),
  fc.tuple(request, item, fc.nat())
    .map(([body, strange, at]) => {
      const own = numbered(body).body;
      const input = Array.isArray(own.input) ? own.input : [];
      return { ...own, input: input.toSpliced(at % (input.length + 1), 1, strange as JsonObject) };
    }),
);

/** Does everything with a body that the gateway does before it is sent. */
function process(body: unknown, routes = ROUTES, parsers = [parseResponses, parseCompact]): void {
  for (const parse of parsers) {
    try {
      const parsed = parse(body);
      identifyConversation(["a"], () => null, parsed.body);
      toolTable(parsed.body);
      countInput(parsed);
      for (const route of routes) {
        const { request } = front.applyReasoning(parsed, { ...route, id: "r" });
        for (const bridge of bridges) {
          try {
            bridge.request(request, OPTIONS);
          } catch (error) {
            if (!(error instanceof Refusal)) throw error;
          }
        }
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      assert(error.reason === "request_invalid" && error.message !== "", error.message);
    }
  }
}

Deno.test("responses: any JSON at all is a request or a refusal (property)", () => {
  // as it is read from a body: fast-check's own objects may be without a prototype
  const read = (body: unknown) => process(JSON.parse(JSON.stringify(body)));
  fc.assert(fc.property(anyBody, read), { numRuns: sized(200, 3_000) });
});

const ITEMS = 60_000;
let itemCount = ITEMS;
const many = (make: (at: number) => unknown) =>
  Array.from({ length: itemCount }, (_, at) => make(at));
const user = { role: "user", content: "Hi" };

/** Large bodies that are hard on what looks at them. */
const HOSTILE: readonly { name: string; body: () => JsonObject }[] = [
  { name: "messages", body: () => ({ input: many(() => user) } as JsonObject) },
  { name: "faulty items", body: () => ({ input: many(() => ({})) } as JsonObject) },
  { name: "empty kinds", body: () => ({ input: many(() => ({ type: "" })) } as JsonObject) },
  {
    name: "kinds of items",
    body: () => ({ input: [user, ...many((at) => ({ type: `kind ${at}` }))] } as JsonObject),
  },
  {
    name: "instructions after a message",
    body: () => ({
      input: [user, ...many(() => ({ role: "developer", content: "Be brief." }))],
    } as JsonObject),
  },
  {
    name: "calls of different tools",
    body: () => ({
      input: many((at) => ({
        type: "function_call",
        call_id: `c${at}`,
        namespace: "n".repeat(64),
        name: `f${at}`,
        arguments: "",
      })),
    } as JsonObject),
  },
  {
    name: "calls with one id, and their results",
    body: () => ({
      input: many((at) =>
        at < itemCount / 2
          ? { type: "function_call", call_id: "c", name: "f", arguments: "" }
          : { type: "function_call_output", call_id: "c", output: "" }
      ),
    } as JsonObject),
  },
  {
    name: "calls and results by turns",
    body: () => ({
      input: many((at) =>
        at % 2 === 0
          ? { type: "custom_tool_call", call_id: "c", name: "f", input: "" }
          : { type: "custom_tool_call_output", call_id: "c", output: "" }
      ),
    } as JsonObject),
  },
  {
    name: "reasoning",
    body: () => ({
      input: many((at) => ({ type: "reasoning", summary: [], encrypted_content: `sl1.A${at}` })),
    } as JsonObject),
  },
  {
    name: "updates",
    body: () => ({
      input: [
        user,
        ...many(() => ({ type: "configuration_update", reasoning: { effort: "ultra" } })),
      ],
    } as JsonObject),
  },
  {
    name: "tools that would have the same name",
    body: () => ({
      input: "Hi",
      tools: many((at) => ({ type: "function", name: `${"n".repeat(64)}${at}` })),
    } as JsonObject),
  },
  {
    name: "namespaces that would have the same names",
    body: () => ({
      input: "Hi",
      tools: many((at) => {
        const name = `a${"_".repeat(at % 200)}`;
        const inner = `${"_".repeat(200 - at % 200)}b${Math.floor(at / 200)}`;
        return { type: "namespace", name, tools: [{ type: "function", name: inner }] };
      }),
    } as JsonObject),
  },
  {
    name: "tools in many items",
    body: () => ({
      input: [
        user,
        ...many((at) => ({
          type: "additional_tools",
          role: "developer",
          tools: [{ type: "function", name: `f${at}` }],
        })),
      ],
    } as JsonObject),
  },
  {
    name: "allowed tools",
    body: () => ({
      input: "Hi",
      tools: many((at) => ({ type: "function", name: `f${at}` })),
      tool_choice: {
        type: "allowed_tools",
        mode: "auto",
        tools: many((at) => ({ type: "function", name: `f${at}` })),
      },
    } as JsonObject),
  },
  {
    name: "unknown fields",
    body: () => ({
      input: "Hi",
      ...Object.fromEntries(many((at) => [`field${at}`, 1]) as [string, number][]),
    } as JsonObject),
  },
  {
    name: "parts",
    body: () => ({
      input: [{ role: "user", content: many(() => ({ type: "input_text", text: "x" })) }],
    } as JsonObject),
  },
  {
    name: "included values",
    body: () => ({ input: "Hi", include: many((at) => `value ${at}`) } as JsonObject),
  },
];

for (const { name, body } of HOSTILE) {
  const hostile = (size: number) => {
    itemCount = size;
    const request = { model: "m", ...body() };
    return () => process(request, ROUTES.slice(-1), [parseResponses]);
  };

  Deno.test(`responses: thousands of ${name} are a request or a refusal`, () => hostile(10_000)());

  Deno.test(`responses: what ${ITEMS} ${name} take grows with their number only`, PROOF, () => {
    assertGrowsLinearly(ITEMS, hostile);
  });
}
