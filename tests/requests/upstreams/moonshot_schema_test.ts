import { assertEquals } from "../../assert.ts";
import type { JsonObject } from "../../../src/wire/dialects/mod.ts";
import { moonshotSchema } from "../../../src/requests/upstreams/quirks/moonshot_schema.ts";

const CASES: readonly { why: string; schema: JsonObject; taken: JsonObject }[] = [
  {
    why: "what is in that form already",
    schema: { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
    taken: { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
  },
  { why: "no type at the root", schema: {}, taken: { type: "object" } },
  {
    why: "a type beside anyOf, and the schema's own name",
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: {
        a: {
          type: "string",
          description: "d",
          anyOf: [{ enum: ["x"] }, { type: "null" }, { $ref: "#/definitions/B" }, true],
        },
      },
      definitions: { B: { type: "string" } },
    },
    taken: {
      type: "object",
      properties: {
        a: {
          description: "d",
          anyOf: [{ type: "string", enum: ["x"] }, { type: "null" }, { $ref: "#/$defs/B" }, true],
        },
      },
      $defs: { B: { type: "string" } },
    },
  },
  {
    why: "tuples, within each other",
    schema: {
      type: "object",
      properties: {
        pair: {
          type: "array",
          items: [{ type: "number" }, { type: "array", items: [{ type: "string" }] }],
          additionalItems: false,
        },
        list: { type: "array", items: { type: "array", items: [{ type: "number" }] } },
      },
      additionalProperties: false,
    },
    taken: {
      type: "object",
      properties: {
        pair: {
          type: "array",
          prefixItems: [{ type: "number" }, { type: "array", prefixItems: [{ type: "string" }] }],
          items: false,
        },
        list: { type: "array", items: { type: "array", prefixItems: [{ type: "number" }] } },
      },
      additionalProperties: false,
    },
  },
  {
    why: "properties that are named like keywords",
    schema: {
      type: "object",
      properties: { items: { type: "string" }, type: { type: "string" }, definitions: {} },
    },
    taken: {
      type: "object",
      properties: { items: { type: "string" }, type: { type: "string" }, definitions: {} },
    },
  },
];

for (const { why, schema, taken } of CASES) {
  Deno.test(`a schema for moonshot: ${why}`, () => {
    const before = structuredClone(schema);
    assertEquals(moonshotSchema(schema), taken);
    assertEquals(schema, before, "the caller's own is left as it was");
  });
}
