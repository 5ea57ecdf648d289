import fc from "fast-check";
import { jsonExcess, JsonFindings, parseJson } from "../../../src/wire/json/mod.ts";
import { assertEquals } from "../../assert.ts";

/** What a parsed value has, counted by walking it. */
function measure(value: unknown, depth = 0): { depth: number; values: number; members: number } {
  const own = { depth, values: 1, members: 0 };
  if (typeof value !== "object" || value === null) return own;
  const parts = Object.values(value);
  const inner = parts.map((part) => measure(part, depth + 1));
  return {
    depth: Math.max(depth + 1, ...inner.map((one) => one.depth)),
    values: 1 + inner.reduce((sum, { values }) => sum + values, 0),
    members: Math.max(
      Array.isArray(value) ? 0 : parts.length,
      ...inner.map(({ members }) => members),
    ),
  };
}

Deno.test("jsonExcess: finds what walking the parsed value finds", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.integer({ min: 0, max: 2 }), (value, indent) => {
      const json = JSON.stringify(value, null, indent);
      const own = measure(JSON.parse(json));
      const wide = { depth: own.depth, values: own.values, members: own.members };
      assertEquals(jsonExcess(json, wide), undefined, json);
      if (own.values > 1) {
        assertEquals(jsonExcess(json, { ...wide, values: own.values - 1 }), "values", json);
      }
      if (own.depth > 0) {
        assertEquals(jsonExcess(json, { ...wide, depth: own.depth - 1 }), "depth", json);
      }
      const short = { depth: own.depth, values: json.length + 1, members: json.length + 1 };
      assertEquals(jsonExcess(json, short), undefined, json);
      if (own.depth > 0) {
        assertEquals(jsonExcess(json, { ...short, depth: own.depth - 1 }), "depth", json);
      }
      if (own.members > 0) {
        assertEquals(jsonExcess(json, { ...wide, members: own.members - 1 }), "members", json);
      }
    }),
  );
});

Deno.test("jsonExcess: brackets, commas and quotes inside of texts do not count", () => {
  const bounds = { depth: 1, values: 3, members: 1 };
  for (const text of ['[[[{"', "\\", '\\"[', ",,,,,", '{"a":{"b"', "\u2028,\n"]) {
    assertEquals(jsonExcess(JSON.stringify([text]), bounds), undefined, text);
  }
  assertEquals(jsonExcess('["', bounds), undefined); // breaks off
  assertEquals(jsonExcess("[1,2,3,4]", bounds), "values");
  assertEquals(jsonExcess('{"a":1,"b":2}', bounds), "members");
});

const WIDE = { depth: 100, values: 10_000, members: 1_000 };

/** What is found beside the limits. */
function find(json: string, minChars = 10): JsonFindings {
  const findings = new JsonFindings(minChars);
  jsonExcess(json, WIDE, findings);
  return findings;
}

Deno.test("jsonExcess finds numbers of 16 digits, and no other digits", () => {
  const many = "1".repeat(16);
  for (const json of [many, `[${many}]`, `{"a":-${many}.5e3}`, `[1,${many}2 ]`, `[0.${many}]`]) {
    assertEquals(find(json).longDigits, true, json);
  }
  const few = "1".repeat(15);
  const others = [`"${many}"`, `{"${many}":"\\"${many}"}`, `[${few},${few}]`, `-${few}.${few}e9`];
  for (const json of [...others, `[${few} ${few}]`, `${few}"1"2`, "[]", ""]) {
    assertEquals(find(json).longDigits, false, json);
  }
});

Deno.test("parseJson keeps every number that it keeps without being told of long digits (property)", () => {
  const number = fc.oneof(fc.bigInt().map(String), fc.double({ noNaN: true }).map(JSON.stringify));
  const piece = fc.oneof(number, fc.string().map((text) => JSON.stringify(text)));
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const json = `[${pieces.join(",")}]`;
      const told = parseJson(json, find(json).longDigits);
      assertEquals(JSON.stringify(told), JSON.stringify(parseJson(json)), json);
    }),
  );
});

Deno.test("jsonExcess finds long strings, keys and broken-off ones included", () => {
  const texts = (json: string) =>
    find(json, 4).texts.map(({ start, end }) => json.slice(start, end));
  assertEquals(texts('["abc","abcd","",{"fghij":"\\"\\""}]'), ["abcd", "fghij", '\\"\\"']);
  assertEquals(texts('["abc\\\\","abcd\\"]'), ["abc\\\\", 'abcd\\"]']);
  assertEquals(texts('"abcdef'), ["abcdef"]);
});
