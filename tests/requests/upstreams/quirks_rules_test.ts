/** Rules of services, on finished bodies: what they would refuse does not reach them, and what was changed is noted. */

import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../../src/wire/dialects/mod.ts";
import { QUIRKS } from "../../../src/requests/upstreams/quirks.ts";
import {
  outputSchema,
  toolSchema,
} from "../../../src/requests/upstreams/quirks/anthropic_schema.ts";
import { assert, assertEquals } from "../../assert.ts";
import { assertGrowsLinearly } from "../../growth.ts";
import { sized } from "../../tier.ts";

const RUNS = { numRuns: sized(100, 5_000) };

function adjusted(quirk: keyof typeof QUIRKS, body: JsonObject) {
  const notes: string[] = [];
  const sent = QUIRKS[quirk].adjust!(body, (change) => notes.push(change));
  return { sent, notes };
}

const user = { role: "user", content: "Hi" };
const asked = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] };
const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "1" }] };
const thinking = { type: "enabled", budget_tokens: 1_024 };
const thought = { type: "thinking", thinking: "", signature: "s" };

Deno.test("anthropic: a forced tool and thinking do not go together; the tool stays", () => {
  for (const type of ["any", "tool"]) {
    for (const one of [thinking, { type: "adaptive" }]) {
      const body = { messages: [user], thinking: one, tool_choice: { type, name: "f" } };
      const { sent, notes } = adjusted("anthropic", body);
      assertEquals(sent, { messages: [user], tool_choice: { type, name: "f" } });
      assertEquals(notes, ["thinking=disabled"]);
    }
  }
  const free = { messages: [user], thinking, tool_choice: { type: "auto" } };
  assertEquals(adjusted("anthropic", free), { sent: free, notes: [] });
});

Deno.test("anthropic: thinking is off where the turn of tools does not begin with it", () => {
  const without = { messages: [user, asked, result], thinking };
  assertEquals(adjusted("anthropic", without).notes, ["thinking=disabled"]);
  assertEquals(adjusted("anthropic", without).sent.thinking, undefined);
  const begun = { ...asked, content: [thought, ...asked.content] };
  for (const messages of [[user, begun, result], [user, asked, result, asked, user], [user]]) {
    assertEquals(adjusted("anthropic", { messages, thinking }).notes, []);
  }
  // a prefill begins a turn, too
  for (const content of ["A:", [{ type: "text", text: "A:" }]]) {
    const prefilled = [user, { role: "assistant", content }];
    assertEquals(adjusted("anthropic", { messages: prefilled, thinking }).notes, [
      "thinking=disabled",
    ]);
    assertEquals(adjusted("anthropic", { messages: [...prefilled, user], thinking }).notes, []);
  }
  // each call of the turn, not only the last
  const twice = [user, asked, result, begun, result];
  assertEquals(adjusted("anthropic", { messages: twice, thinking }).notes, ["thinking=disabled"]);
});

Deno.test("anthropic: a prefill does not end in white space, and is left out if it is nothing else", () => {
  const last = (content: JsonValue) =>
    (adjusted("anthropic", { messages: [user, { role: "assistant", content }] }).sent
      .messages as JsonObject[]).slice(1);
  assertEquals(last("A: "), [{ role: "assistant", content: "A:" }]);
  assertEquals(last(" \n"), []);
  assertEquals(last([{ type: "text", text: "A:\n" }, { type: "text", text: " " }]), [
    { role: "assistant", content: [{ type: "text", text: "A:" }] },
  ]);
  assertEquals(last([{ type: "text", text: " " }]), []);
  const blank = Array.from({ length: 60_000 }, () => ({ type: "text", text: "\n" }));
  assertEquals(
    last([{ type: "text", text: "A: " }, ...blank]),
    last([{ type: "text", text: "A:" }]),
  );
  assertEquals(last("A"), [{ role: "assistant", content: "A" }]);
});

Deno.test("anthropic: temperature and top_p are not both sent", () => {
  const { sent, notes } = adjusted("anthropic", { messages: [user], temperature: 0.2, top_p: 0.9 });
  assertEquals([sent.temperature, sent.top_p, notes], [0.2, undefined, ["top_p=default"]]);
});

Deno.test("anthropic: no text is empty, wherever it is, and no message without content (property)", () => {
  const texts = fc.constantFrom("", " ", "\n", "a").map((text) => ({ type: "text", text }));
  const results = fc.array(texts, { maxLength: 2 }).map((content) => ({
    type: "tool_result",
    tool_use_id: "a",
    content,
  }));
  const contents = fc.oneof(
    fc.constantFrom<JsonValue>("", " ", "a"),
    fc.array(fc.oneof(texts, results) as fc.Arbitrary<JsonValue>, { maxLength: 3 }),
  );
  const roles = fc.constantFrom("user", "assistant");
  const bodies = fc.record<JsonObject>({
    system: contents,
    messages: fc.array(fc.record({ role: roles, content: contents })).map((more) => [
      user,
      ...more,
      user,
    ]),
  });
  const isText = (one: JsonValue) => typeof one === "object" && "text" in one!;
  const saysNothing = (content: JsonValue | undefined): boolean =>
    typeof content === "string" ? content.trim() === "" : (content as JsonObject[])
      .some((one) =>
        isText(one) ? saysNothing(one.text) : one.content !== undefined && saysNothing(one.content)
      );
  fc.assert(
    fc.property(bodies, (body) => {
      const { sent } = adjusted("anthropic", body);
      assertEquals(sent.system !== undefined && saysNothing(sent.system), false);
      for (const { content } of sent.messages as JsonObject[]) {
        assertEquals(saysNothing(content), false);
        assert((content as JsonValue[]).length > 0);
      }
      const words = (one: JsonObject) => JSON.stringify(one).match(/"a"/g)?.length;
      assertEquals(words(sent), words(body));
      assertEquals(adjusted("anthropic", sent).sent, sent);
    }),
    RUNS,
  );
});

Deno.test("deepseek, moonshot: a forced tool and thinking do not go together, and what was asked for is noted", () => {
  const forced: readonly JsonValue[] = ["required", { type: "function", function: { name: "f" } }];
  const off = { type: "disabled" };
  const on = { type: "enabled" };
  for (const tool_choice of forced) {
    const of = (quirk: keyof typeof QUIRKS, more: JsonObject) => {
      const { sent, notes } = adjusted(quirk, { messages: [user], tool_choice, ...more });
      return [sent.tool_choice, sent.thinking, sent.reasoning_effort, ...notes];
    };
    assertEquals(of("deepseek", { model: "v" }), [tool_choice, off, undefined]);
    assertEquals(of("deepseek", { thinking: off }), [tool_choice, off, undefined]);
    for (const asked of [{ thinking: on }, { reasoning_effort: "high" }]) {
      assertEquals(of("deepseek", asked), [tool_choice, off, undefined, "thinking=disabled"]);
    }
    const free = ["auto", undefined, undefined, "tool_choice=auto"];
    assertEquals(of("deepseek", { model: "deepseek-reasoner" }), free);
    assertEquals(of("moonshot", { model: "kimi-k2-thinking" }), free);
  }
  for (const tool_choice of ["auto", "none"]) {
    const body = { messages: [user], tool_choice, thinking: on };
    assertEquals(adjusted("deepseek", body), { sent: body, notes: [] });
  }
});

/** Schemas with everything that the service refuses. */
function schemaOf(depth: number): fc.Arbitrary<JsonObject> {
  const inner = depth === 0 ? fc.constant<JsonObject>({ type: "string" }) : schemaOf(depth - 1);
  const branches = fc.array(inner, { maxLength: 2 });
  return fc.record({
    type: fc.constantFrom<JsonValue>("object", "string", "array", null, ["object", "null"]),
    properties: fc.dictionary(fc.constantFrom("a", "b", "__proto__", "minimum"), inner, {
      maxKeys: 2,
    }),
    required: fc.subarray(["a", "b"]),
    anyOf: branches,
    oneOf: branches,
    allOf: branches,
    items: inner,
    minimum: fc.integer(),
    maxLength: fc.nat(),
    minItems: fc.nat({ max: 3 }),
    pattern: fc.constant("^a"),
    format: fc.constantFrom("email", "own"),
    description: fc.string(),
    additionalProperties: fc.boolean(),
  }, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
}
const schemas = schemaOf(2);

const REFUSED = ["oneOf", "minimum", "maxLength", "pattern"];

/** The words of a schema and of all in it, names of properties left out. */
function wordsOf(schema: JsonValue | undefined): string[] {
  if (Array.isArray(schema)) return schema.flatMap(wordsOf);
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([word, value]) =>
    word === "properties"
      ? [word, ...Object.values(value as JsonObject).flatMap(wordsOf)]
      : [word, ...wordsOf(value)]
  );
}

Deno.test("anthropic: each word of an output's schema is taken as it is, translated, or told (table)", () => {
  const inner = { type: "string", minimum: 1 };
  const made = { type: "string", description: "{minimum: 1}" };
  const both = { a: inner, b: true };
  const bothMade = { a: made, b: true };
  type Case = readonly [JsonObject, JsonObject];
  const cases: readonly Case[] = [
    [{ items: inner }, { items: made }],
    [{ items: true }, { items: true }],
    [{ items: [inner] }, { items: [inner] }], // of a tuple nothing is known
    ...["$defs", "definitions"].map((word): Case => [{ [word]: both }, { [word]: bothMade }]),
    [{ properties: both }, { properties: bothMade, additionalProperties: false }],
    [{ properties: true }, { properties: true }],
    ...["anyOf", "allOf"].map((
      word,
    ): Case => [{ [word]: [inner, true] }, { [word]: [made, true] }]),
    [{ oneOf: [inner, true] }, { anyOf: [made, true] }],
    [{ minItems: 0 }, { minItems: 0 }],
    [{ minItems: 1 }, { minItems: 1 }],
    [{ minItems: 2 }, { description: "{minItems: 2}" }],
    [{ format: "email" }, { format: "email" }],
    [{ format: "own" }, { description: "{format: own}" }],
    [{ maxItems: 1 }, { description: "{maxItems: 1}" }],
    [{ pattern: "^a", description: "A." }, { description: 'A.\n\n{pattern: "^a"}' }],
    [{ $schema: "x", $id: "y", $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }],
    [{ type: "object" }, { type: "object", additionalProperties: false }],
    [{ type: "object", additionalProperties: inner }, {
      type: "object",
      additionalProperties: false,
    }],
    [{ enum: [1], const: 1, default: 1, title: "t", required: ["a"] }, {
      enum: [1],
      const: 1,
      default: 1,
      title: "t",
      required: ["a"],
    }],
  ];
  for (const [schema, sent] of cases) assertEquals(outputSchema(schema), sent);
});

Deno.test("anthropic: the schema of an output has no word that the service refuses, and tells them all the same (property)", () => {
  fc.assert(
    fc.property(schemas, (schema) => {
      const sent = outputSchema(schema);
      assertEquals(wordsOf(sent).filter((word) => REFUSED.includes(word)), []);
      assertEquals(outputSchema(sent), sent);
      if (schema.minimum !== undefined) {
        assert(String(sent.description).includes(`minimum: ${schema.minimum}`));
      }
    }),
    RUNS,
  );
});

Deno.test("anthropic: the schema of a tool is an object without a union at the top, with the properties of all branches (property)", () => {
  fc.assert(
    fc.property(schemas, (schema) => {
      const sent = toolSchema(schema);
      assertEquals(sent.type, "object");
      assertEquals(["anyOf", "oneOf", "allOf"].filter((word) => word in sent), []);
      const names = (one: JsonObject): string[] => [
        ...Object.keys(one.properties ?? {}),
        ...["anyOf", "oneOf", "allOf"].flatMap((word) =>
          (one[word] as JsonObject[] | undefined ?? []).flatMap(names)
        ),
      ];
      const kept = Object.keys(sent.properties ?? {});
      assertEquals(names(schema).filter((name) => !kept.includes(name)), []);
    }),
    RUNS,
  );
});

Deno.test("anthropic: what the schema of a tool refers to is in it, also from branch to branch (property)", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("$defs", "definitions"),
      fc.array(fc.nat(4), { minLength: 5, maxLength: 5 }),
      fc.array(fc.constantFrom("anyOf", "oneOf", "allOf"), { minLength: 5, maxLength: 5 }),
      (list, targets, words) => {
        // each definition has a property and a union in which it refers to another, or to itself
        const defs = Object.fromEntries(targets.map((target, at) => [`d${at}`, {
          type: "object",
          properties: { [`p${at}`]: { type: "string" } },
          [words[at]!]: [{ $ref: `#/${list}/d${target}` }, { properties: { [`q${at}`]: {} } }],
        }]));
        const sent = toolSchema({ $ref: `#/${list}/d0`, [list]: defs });
        const reached = new Set<number>();
        for (let at = 0; !reached.has(at); at = targets[at]!) reached.add(at);
        const expected = [...reached].flatMap((at) => [`p${at}`, `q${at}`]);
        assertEquals(Object.keys(sent.properties!).sort(), expected.sort());
        assertEquals([sent.type, sent.$ref, sent.anyOf, sent.oneOf, sent.allOf], [
          "object",
          ...Array(4).fill(undefined),
        ]);
      },
    ),
    RUNS,
  );
});

Deno.test("anthropic: the schema of a strict tool has no word that is refused in outputs (property)", () => {
  fc.assert(
    fc.property(schemas, fc.boolean(), (input_schema, strict) => {
      const { sent, notes } = adjusted("anthropic", {
        tools: [{ name: "f", strict, input_schema }],
      });
      const [tool] = sent.tools as JsonObject[];
      const schema = toolSchema(input_schema);
      const expected = strict ? outputSchema(schema) : schema;
      assertEquals(tool!.input_schema, expected);
      const isNoted = JSON.stringify(expected) !== JSON.stringify(schema);
      assertEquals(notes.includes("tools.input_schema"), isNoted);
    }),
    RUNS,
  );
});

Deno.test("openai, anthropic: a schema has no word that is null, but values (property)", () => {
  const nulls = fc.record(
    {
      type: fc.constantFrom<JsonValue>("object", null),
      required: fc.constant(null),
      properties: fc.constantFrom<JsonValue>(null, {
        required: { type: "string", enum: null, default: null },
        b: { type: "object", properties: null, items: { description: null } },
      }),
      anyOf: fc.constantFrom<JsonValue>(null, [{ properties: { c: { const: null, enum: null } } }]),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<JsonObject>;
  const nullsIn = (schema: JsonValue | undefined): string[] =>
    typeof schema !== "object" || schema === null
      ? []
      : Object.entries(schema).flatMap(([word, value]) =>
        value === null ? [word] : nullsIn(value as JsonValue)
      ).filter((word) => word !== "default" && word !== "const");
  fc.assert(fc.property(nulls, (schema) => {
    const ofChat = { type: "function", function: { name: "f", parameters: schema } };
    const ofResponses = { type: "function", name: "f", parameters: schema };
    for (
      const [quirk, tool] of [
        ["openai", ofChat],
        ["openai", ofResponses],
        ["anthropic", { name: "f", input_schema: schema }],
      ] as const
    ) {
      const [sent] = adjusted(quirk, { tools: [tool] }).sent.tools as JsonObject[];
      const own = sent!.input_schema ?? sent!.parameters ??
        (sent!.function as JsonObject).parameters;
      assertEquals(nullsIn(own), [], quirk);
    }
  }));
});

Deno.test("anthropic: a schema of many branches is linear work", () => {
  const named = (size: number) =>
    Object.fromEntries(Array.from({ length: size }, (_, at) => [`p${at}`, { type: "string" }]));
  const schemas: ((size: number) => JsonObject)[] = [
    (size) => ({
      anyOf: Array.from(
        { length: size },
        (_, at) => ({ properties: { a: { const: at } }, required: ["a"] }),
      ),
    }),
    (size) => ({
      $defs: { d: { properties: named(size) } },
      oneOf: Array.from({ length: size }, () => ({ $ref: "#/$defs/d" })),
    }),
  ];
  for (const schemaOf of schemas) {
    assertGrowsLinearly(16_000, (size) => {
      const schema = schemaOf(size);
      return () => void toolSchema(schema);
    });
  }
});

Deno.test("the role developer goes to those that know it only", () => {
  const body = { messages: [{ role: "developer", content: "x" }, user] };
  const roleAt = (quirk: keyof typeof QUIRKS) =>
    ((adjusted(quirk, body).sent.messages as JsonObject[])[0]!).role;
  for (const quirk of ["deepseek", "moonshot", "vllm", "ollama", "think_tags"] as const) {
    assertEquals(roleAt(quirk), "system", quirk);
  }
  for (const quirk of ["openai", "azure"] as const) assertEquals(roleAt(quirk), "developer", quirk);
});

Deno.test("openai: ids of items and their calls have 64 characters at most, the same in call and result", () => {
  const long = "x".repeat(65);
  const input = [
    { type: "message", id: long, role: "user", content: "Hi" },
    { type: "reasoning", id: long, summary: [] },
    { type: "function_call", id: long, call_id: long, name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: long, output: "1" },
    { type: "function_call", id: "fc_1", call_id: "b", name: "f", arguments: "{}" },
  ];
  const [said, thought, call, told, plain] = adjusted("openai", { input }).sent
    .input as JsonObject[];
  assertEquals([said!.id, thought!.id, call!.id, plain], [undefined, long, undefined, input[4]]);
  assertEquals(call!.call_id, told!.call_id);
  assert(String(call!.call_id).length <= 64);
});

Deno.test("openai: ids of calls have 64 characters at most, the same in call and result, and few stop sequences", () => {
  const id = "x".repeat(65);
  const { sent, notes } = adjusted("openai", {
    messages: [
      user,
      {
        role: "assistant",
        tool_calls: [{ id, type: "function", function: { name: "f" } }, { id: "b" }],
      },
      { role: "tool", tool_call_id: id, content: "1" },
    ],
    stop: ["1", "2", "3", "4", "5"],
  });
  const [, call, told] = sent.messages as JsonObject[];
  const [long, short] = call!.tool_calls as JsonObject[];
  assertEquals(long!.id, told!.tool_call_id);
  assert(String(long!.id).length <= 64);
  assertEquals(short!.id, "b");
  assertEquals([sent.stop, notes], [["1", "2", "3", "4"], ["stop=4 of 5"]]);
});
