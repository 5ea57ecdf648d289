import { adjustForMoonshot } from "../../../../src/requests/upstreams/quirks/moonshot.ts";
import { moonshotSchema } from "../../../../src/requests/upstreams/quirks/moonshot_schema.ts";
import { withoutNullWords } from "../../../../src/requests/upstreams/quirks/null_words.ts";
import type { JsonObject } from "../../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../../assert.ts";

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

Deno.test("words that are null are left out of a schema, but those that are values", () => {
  const values = { default: null, const: null };
  assertEquals(withoutNullWords({ ...values, enum: null, type: null }), values);
  assertEquals(withoutNullWords(values) === values, true);
});
