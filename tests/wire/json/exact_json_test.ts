import fc from "fast-check";
import { isLargeNumber, parseJson } from "../../../src/wire/json/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

for (
  const text of [
    '{"id":1234567890123456789,"list":[-9007199254740993,18446744073709551615]}',
    '{"in a text":"1234567890123456789 \\" \\\\","and":1234567890123456789}',
    '"1234567890123456789"',
    "12345678901234567890",
    '{"safe":9007199254740991,"digits":0.1234567890123456}',
  ]
) {
  Deno.test(`parseJson: what was read is written: ${text}`, () =>
    assertEquals(JSON.stringify(parseJson(text)), text));
}

Deno.test("parseJson: numbers that are no ids stay numbers", () => {
  const text = '{"a":1e300,"b":1234567890123456.5,"c":9007199254740991,"d":1234567890123456789}';
  const { a, b, c, d } = parseJson(text) as Record<string, unknown>;
  assertEquals([a, b, c], [1e300, 1234567890123456.5, 9007199254740991]);
  assert(isLargeNumber(d) && !isLargeNumber(c) && !isLargeNumber({}));
});

Deno.test("parseJson agrees with JSON.parse on everything else (property)", () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const own = JSON.parse(text);
      const held = `{"big":1234567890123456789,"own":${text}}`;
      assertEquals((parseJson(held) as { own: unknown }).own, own);
      assertEquals(parseJson(text), own);
    }),
    { numRuns: 500 },
  );
});

Deno.test("parseJson: beside more than 20,000 values numbers are rounded, as a reviver would be called for each", () => {
  const parsed = (zeros: number) =>
    JSON.stringify(parseJson(`[12345678901234567${",0".repeat(zeros)}]`)).slice(1, 18);
  assertEquals(parsed(19_000), "12345678901234567");
  for (const zeros of [20_001, 2_000_000]) assertEquals(parsed(zeros), "12345678901234568");
});
