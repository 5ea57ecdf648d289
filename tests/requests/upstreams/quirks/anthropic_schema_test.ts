import {
  toolSchema,
  unionsOf,
} from "../../../../src/requests/upstreams/quirks/anthropic_schema.ts";
import type { JsonObject } from "../../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../../assert.ts";

const S = { type: "string" };
const N = { type: "number" };

Deno.test("the schema of a tool is an object, in which the branches of unions at the top are one (table)", () => {
  const d = { properties: { a: S }, required: ["a"] };
  const cases: readonly (readonly [schema: JsonObject, sent: JsonObject])[] = [
    [{}, { type: "object" }],
    [{ type: "string", description: "x" }, { type: "object", description: "x" }],
    [{ type: "object", anyOf: "x" }, { type: "object", anyOf: "x" }],
    // what all branches of a union require is required, and of allOf what any does
    [
      {
        description: "x",
        required: ["z"],
        properties: { z: N },
        anyOf: [
          { properties: { a: S }, required: ["a", "b"] },
          { properties: { a: S, b: N }, required: ["a"] },
        ],
      },
      {
        description: "x",
        type: "object",
        properties: { z: N, a: S, b: N },
        required: ["z", "a"],
      },
    ],
    [{ anyOf: [{ required: ["a", "a"] }, {}] }, { type: "object", properties: {} }],
    [{ allOf: [{ required: ["a"] }, { required: ["b"] }] }, {
      type: "object",
      properties: {},
      required: ["a", "b"],
    }],
    [{ oneOf: [d, {}], allOf: [{ properties: { b: N } }] }, {
      type: "object",
      properties: { a: S, b: N },
    }],
    [{ anyOf: [{ type: "string" }, true, { properties: true }] }, {
      type: "object",
      properties: {},
    }],
    // a property may have the schemas that it has in any branch
    [{ anyOf: [{ properties: { a: S } }, { properties: { a: N } }] }, {
      type: "object",
      properties: { a: { anyOf: [S, N] } },
    }],
    [{ anyOf: [{ properties: { a: { anyOf: [S, N] } } }, { properties: { a: S } }] }, {
      type: "object",
      properties: { a: { anyOf: [S, N] } },
    }],
    [{ anyOf: [{ properties: { a: { anyOf: [] }, b: true, c: null } }] }, {
      type: "object",
      properties: { a: { anyOf: [] }, b: true, c: null },
    }],
    [{ anyOf: [{ properties: { a: { anyOf: [] } } }, { properties: { a: S } }] }, {
      type: "object",
      properties: { a: { anyOf: [{ anyOf: [] }, S] } },
    }],
    [
      {
        anyOf: [
          { properties: { a: { anyOf: [S], title: "t" } } },
          { properties: { a: { oneOf: [S] } } },
        ],
      },
      {
        type: "object",
        properties: { a: { anyOf: [{ anyOf: [S], title: "t" }, { oneOf: [S] }] } },
      },
    ],
    // what is referred to is in its place, if it is known
    [{ $ref: "#/$defs/d", $defs: { d }, title: "t" }, {
      ...d,
      $defs: { d },
      title: "t",
      type: "object",
    }],
    [{ $ref: "#/definitions/d", definitions: { d: { title: "its" } }, title: "own" }, {
      definitions: { d: { title: "its" } },
      title: "own",
      type: "object",
    }],
    ...["#/$defs/e", "#/other/d", "#/$defs/d/a", "d"].map((
      $ref,
    ): [JsonObject, JsonObject] => [{ $ref, $defs: { d } }, {
      $ref,
      $defs: { d },
      type: "object",
    }]),
    [{ $ref: "#/$defs/d", $defs: true }, { $ref: "#/$defs/d", $defs: true, type: "object" }],
    [{ $ref: "#/$defs/d", $defs: { d: { $ref: "#/$defs/e" } } }, {
      $ref: "#/$defs/d",
      $defs: { d: { $ref: "#/$defs/e" } },
      type: "object",
    }],
    [{ anyOf: [{ $ref: "#/$defs/d" }, { $ref: "#/$defs/d" }], $defs: { d } }, {
      $defs: { d },
      type: "object",
      properties: { a: S },
      required: ["a"],
    }],
    [{ anyOf: [{ $ref: "#/$defs/e" }], $defs: { d } }, {
      $defs: { d },
      type: "object",
      properties: {},
    }],
  ];
  for (const [schema, sent] of cases) {
    assertEquals(toolSchema(schema), sent, JSON.stringify(schema));
  }
  const object = { type: "object", properties: { a: S } };
  assertEquals(toolSchema(object) === object, true, "it is sent as it is");
});

Deno.test("unions are those that are lists", () => {
  assertEquals(unionsOf({ anyOf: [], allOf: {}, oneOf: [{}], type: "object" }), ["anyOf", "oneOf"]);
});
