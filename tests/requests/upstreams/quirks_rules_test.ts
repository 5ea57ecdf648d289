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

const RUNS = { numRuns: sized(100, 5_000) };
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
