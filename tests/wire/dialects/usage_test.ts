import fc from "fast-check";
import { firstCount, withCounts } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

Deno.test("a count of tokens is read as a number or a text, rounded up", () => {
  const whole = fc.nat();
  fc.assert(fc.property(whole, fc.double({ min: 0, max: 1, noNaN: true }), (tokens, part) => {
    for (const value of [tokens, `${tokens}`, `${tokens}.0`]) {
      assertEquals(firstCount(value), tokens);
    }
    assertEquals(firstCount(tokens + part), Math.ceil(tokens + part));
    assertEquals(firstCount(`${tokens}.25`), tokens + 1);
  }));
});

Deno.test("what cannot be a count of tokens is none", () => {
  const nonsense = fc.oneof(
    fc.integer({ max: -1 }),
    fc.integer({ max: -1 }).map(String),
    fc.string().filter((text) => !/^\d+(\.\d+)?$/.test(text)),
    fc.constantFrom(
      NaN,
      Infinity,
      2 ** 53,
      `${2 ** 53}`,
      "9".repeat(400),
      "1e3",
      "0x10",
      true,
      null,
      [1],
      {},
    ),
  );
  fc.assert(fc.property(nonsense, (value) => assertEquals(firstCount(value), undefined)));
});

Deno.test("a report is passed on in whole numbers of tokens, and all else as it is", () => {
  const report = { prompt_tokens: "3", details: { cached_tokens: 1.5 }, cost: 0.25, id: "7" };
  assertEquals(withCounts(report), {
    prompt_tokens: 3,
    details: { cached_tokens: 2 },
    cost: 0.25,
    id: "7",
  });
  const usual = { prompt_tokens: 3, details: { cached_tokens: 1 }, cost: 0.25 };
  assert(withCounts(usual) === usual);
});
