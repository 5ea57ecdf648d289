import { adjustForMoonshot } from "../../../../src/requests/upstreams/quirks/moonshot.ts";
import { moonshotSchema } from "../../../../src/requests/upstreams/quirks/moonshot_schema.ts";
import {
  withoutNullWords,
  withWholeSchemas,
} from "../../../../src/requests/upstreams/quirks/null_words.ts";
import type { JsonObject, JsonValue } from "../../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../../assert.ts";
import { check } from "./check.ts";

const user: JsonObject = { role: "user", content: "Hi" };
const SCHEMA = { properties: { a: { type: "string" } } };
const TAKEN = { type: "object", ...SCHEMA };
const toolOf = (name: string, parameters: JsonValue = TAKEN) => (
  { type: "function", function: { name, parameters } }
);
const forced = (name: string) => ({ type: "function", function: { name } });
const OFF = { type: "disabled" };
const ON = { type: "enabled" };

/** What is sent for a body with these fields, as far as it differs in them, and what is noted. */
function sent(body: JsonObject) {
  const notes: string[] = [];
  const all = { messages: [user], ...body };
  const { messages, ...rest } = adjustForMoonshot(all, (change) => notes.push(change));
  return { messages, rest, notes };
}

Deno.test("moonshot: a model that reasons is made to call one tool in its own way, or left to choose (table)", () => {
  const tools = [toolOf("f"), toolOf("g")];
  const rows: readonly (readonly [
    body: JsonObject,
    expected: JsonObject,
    ...notes: readonly string[],
  ])[] = [
    // k2 does not reason
    [{ model: "kimi-k2", tools, tool_choice: "required" }, {
      model: "kimi-k2",
      tools,
      tool_choice: "required",
    }],
    [{ model: "kimi-k2.5", tools, tool_choice: "auto" }, {
      model: "kimi-k2.5",
      tools,
      tool_choice: "auto",
    }],
    [{ model: "kimi-k2.5", tools }, { model: "kimi-k2.5", tools }],
    [{ model: "kimi-k3", tools, tool_choice: { type: "allowed_tools" } }, {
      model: "kimi-k3",
      tools,
      tool_choice: { type: "allowed_tools" },
    }],
    // k3 takes one tool alone
    [
      {
        model: "kimi-k3",
        tools: ["not a tool", { type: "x" }, ...tools],
        tool_choice: forced("g"),
      },
      {
        model: "kimi-k3",
        tools: [toolOf("g")],
        tool_choice: "required",
      },
    ],
    [{ model: "kimi-k3", tools, tool_choice: "required" }, {
      model: "kimi-k3",
      tools,
      tool_choice: "required",
    }],
    // k2.5 and k2.6 give up reasoning that nobody asked for
    ...["kimi-k2.5", "kimi-k2.6"].flatMap((model) =>
      ["required", forced("f")].flatMap((tool_choice) =>
        [
          [{ model, tools, tool_choice }, { model, tools, tool_choice, thinking: OFF }],
          [{ model, tools, tool_choice, thinking: OFF }, {
            model,
            tools,
            tool_choice,
            thinking: OFF,
          }],
          [
            { model, tools, tool_choice, thinking: ON },
            { model, tools, tool_choice: "auto", thinking: ON },
            "tool_choice=auto",
          ],
        ] as const
      )
    ),
    ...["kimi-k2.7-code", "kimi-k2-thinking"].map((model) =>
      [
        { model, tools, tool_choice: forced("f") },
        { model, tools, tool_choice: "auto" },
        "tool_choice=auto",
      ] as const
    ),
    [{ tools, tool_choice: "required", n: 3 }, { tools, tool_choice: "required" }],
  ];
  for (const [body, expected, ...notes] of rows) {
    const seen = sent(body);
    assertEquals([seen.rest, seen.notes], [expected, notes], JSON.stringify(body));
  }
});

Deno.test("moonshot: a model that reasons has its reasoning with its calls, and a beginning is marked as one (table)", () => {
  const called = { role: "assistant", content: null, tool_calls: [{ id: "a" }] };
  const reasoned = { ...called, reasoning_content: "" };
  const result = { role: "tool", tool_call_id: "a", content: "1" };
  for (
    const [model, thinking, expected] of [
      ["kimi-k2", undefined, called],
      ["kimi-k2.5", undefined, reasoned],
      ["kimi-k2.5", OFF, called],
      ["kimi-k2.5", ON, reasoned],
      ["kimi-k2.5", "disabled", reasoned],
      ["kimi-k3", OFF, reasoned],
      ["kimi-k2-thinking", undefined, reasoned],
    ] as const
  ) {
    const body = {
      model,
      messages: [user, called, result],
      ...(thinking !== undefined && { thinking }),
    };
    assertEquals(sent(body).messages, [user, expected, result], `${model} ${thinking}`);
  }
  const begun = { role: "assistant", content: "A" };
  const partial = { ...begun, partial: true };
  for (
    const [messages, response_format, expected] of [
      [[user], undefined, [user]],
      [[begun, user], undefined, [begun, user]],
      [[user, begun], undefined, [user, partial]],
      [[user, begun], { type: "json_schema" }, [user, partial]],
      [[user, begun], "json_object", [user, partial]],
      [[user, begun], { type: "json_object" }, [user, begun]],
    ] as const
  ) {
    const body = { messages: [...messages], ...(response_format && { response_format }) };
    assertEquals(sent(body).messages, [...expected], JSON.stringify(body));
  }
});

Deno.test("moonshot: schemas of tools and of the answer are in its form, and what is none stays (table)", () => {
  const format = (schema: JsonValue) => (
    { type: "json_schema", json_schema: { name: "a", schema } }
  );
  for (
    const [body, expected] of [
      [{ tools: [toolOf("f", SCHEMA)] }, { tools: [toolOf("f")] }],
      [{ tools: null }, { tools: null }],
      ...[
        "x",
        null,
        { type: "x" },
        { type: "x", function: "f" },
        toolOf("f", null),
        toolOf("f", "x"),
      ]
        .map((tool) => [{ tools: [tool] }, { tools: [tool] }] as const),
      [{ response_format: format(SCHEMA) }, { response_format: format(TAKEN) }],
      [{ response_format: format(true) }, { response_format: format(true) }],
      [{ response_format: null }, { response_format: null }],
    ] as const
  ) {
    assertEquals(sent(body as JsonObject).rest, expected as JsonObject, JSON.stringify(body));
  }
});

Deno.test("moonshot: a branch has the type that stood beside it, unless it says its own (table)", () => {
  const branches = [
    { enum: ["x"] },
    { type: "null" },
    { $ref: "#/$defs/a" },
    { anyOf: [] },
    true,
    null,
  ];
  assertEquals(moonshotSchema({ type: "string", anyOf: branches }), {
    anyOf: [{ type: "string", enum: ["x"] }, ...branches.slice(1)],
  });
  for (
    const [schema, taken] of [
      [{ anyOf: "x", type: "string" }, { anyOf: "x", type: "string" }],
      [{ definitions: { a: true }, $defs: { b: true } }, {
        type: "object",
        $defs: { a: true, b: true },
      }],
      [{ definitions: { a: true }, $defs: true }, { type: "object", $defs: { a: true } }],
      [{ definitions: true }, { type: "object", definitions: true }],
      [{ type: "array", items: [true, { items: [] }], additionalItems: false }, {
        type: "array",
        prefixItems: [true, { items: [] }].map((one) => one === true ? true : { prefixItems: [] }),
        items: false,
      }],
      [{ type: "array", items: { items: [] } }, { type: "array", items: { prefixItems: [] } }],
      [{ properties: { a: { anyOf: [{ enum: ["x"] }] } } }, {
        type: "object",
        properties: { a: { anyOf: [{ enum: ["x"] }] } },
      }],
      [{ type: "array", items: [true] }, { type: "array", prefixItems: [true] }],
      [{ properties: true, allOf: {}, not: null, $ref: 7 }, {
        properties: true,
        allOf: {},
        not: null,
        $ref: 7,
      }],
    ] as const
  ) {
    assertEquals(moonshotSchema(schema as JsonObject), taken as JsonObject, JSON.stringify(schema));
  }
});

Deno.test("moonshot: a format without a schema stays as it is, and a schema that refers to one", () => {
  const formats: readonly JsonObject[] = [
    { type: "json_object" },
    { type: "json_schema", json_schema: null },
    { type: "json_schema", json_schema: { name: "a" } },
  ];
  for (const response_format of formats) {
    const body = { model: "m", messages: [{ role: "user", content: "Hi" }], response_format };
    assertEquals(adjustForMoonshot(body, () => {}).response_format, response_format);
  }
  for (const root of [{ $ref: "#/$defs/a" }, { anyOf: [{ type: "object" }] }, { type: "string" }]) {
    assertEquals(moonshotSchema(root), root);
  }
  assertEquals(moonshotSchema({ $ref: "#/definitions/a" }), { $ref: "#/$defs/a" });
  assertEquals(moonshotSchema({}), { type: "object" });
});

Deno.test("words that are null are left out of a schema wherever schemas are, and what has none stays (table)", () => {
  const nothing = { type: null };
  // a property may have any name
  const named = (inner: JsonValue) => ({ a: inner, b: true, type: null });
  for (const word of ["properties", "patternProperties", "$defs", "definitions"]) {
    assertEquals(withoutNullWords({ [word]: named(nothing) }), { [word]: named({}) }, word);
    assertEquals(withoutNullWords({ [word]: true }), { [word]: true });
    assertEquals(withoutNullWords({ [word]: [nothing] }), { [word]: [nothing] });
  }
  for (
    const word of ["anyOf", "oneOf", "allOf", "items", "prefixItems", "additionalProperties", "not"]
  ) {
    assertEquals(withoutNullWords({ [word]: nothing }), { [word]: {} }, word);
    assertEquals(withoutNullWords({ [word]: [nothing, null, 1] }), { [word]: [{}, null, 1] }, word);
    assertEquals(withoutNullWords({ [word]: true }), { [word]: true });
  }
  const kept = {
    type: "object",
    properties: { a: { anyOf: [{ type: "string" }, true] } },
    enum: [null, { type: null }],
    default: { type: null },
  };
  assertEquals(withoutNullWords(kept) === kept, true);
});

Deno.test("words that are null are left out of a schema, but those that are values", () => {
  const values = { default: null, const: null };
  assertEquals(withoutNullWords({ ...values, enum: null, type: null }), values);
  assertEquals(withoutNullWords(values) === values, true);
});

Deno.test("openai: schemas of tools have no words that are null, in both dialects (table)", () => {
  const lacking = { type: "object", required: null };
  const whole = { type: "object" };
  const chat = (parameters: JsonValue) => toolOf("f", parameters);
  const own = (parameters: JsonValue) => ({ type: "function", name: "f", parameters });
  check(withWholeSchemas, [
    [{ tools: [chat(whole), own(whole), { type: "web_search" }, own(null)] }],
    [{}],
    [{ tools: [chat(lacking), own(whole)], n: 1 }, { tools: [chat(whole), own(whole)], n: 1 }],
    [{ tools: [own(whole), own(lacking)] }, { tools: [own(whole), own(whole)] }],
    [{ tools: [{ ...own(lacking), function: "f" }] }, {
      tools: [{ ...own(whole), function: "f" }],
    }],
  ]);
});
