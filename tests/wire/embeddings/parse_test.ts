import fc from "fast-check";
import { MAX_INPUTS, meterEmbeddings, parseEmbeddings } from "../../../src/wire/embeddings/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { countTokens } from "../../../src/wire/tokens/mod.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "../../assert.ts";

const WIDE = { maxInput: 1_000_000 };
const token = fc.nat(200_000);
const word = fc.string({ minLength: 1, maxLength: 60, unit: "binary" });
const forms = fc.oneof(
  word,
  fc.array(word, { minLength: 1, maxLength: 20 }),
  fc.array(token, { minLength: 1, maxLength: 50 }),
  fc.array(fc.array(token, { minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 20 }),
);

/** The tokens of a form, counted one by one. */
function tokensIn(input: unknown): number {
  if (typeof input === "string") return countTokens(input);
  if (typeof input === "number") return 1;
  return (input as unknown[]).reduce<number>((sum, one) => sum + tokensIn(one), 0);
}

Deno.test("any input of the four forms is taken as it came, and counted one by one (property)", async () => {
  await fc.assert(
    fc.asyncProperty(forms, fc.string(), async (input, user) => {
      const body = { model: "m", input, user, vendor_field: null };
      const parsed = parseEmbeddings(body);
      assert(parsed.body === (body as unknown));
      const isList = Array.isArray(input) && typeof input[0] !== "number";
      assertEquals([parsed.inputs.length, parsed.isList], [isList ? input.length : 1, isList]);
      assertEquals(await meterEmbeddings(parsed, WIDE), tokensIn(input));
    }),
    { numRuns: 300 },
  );
});

/** What is wrong, the field that is named, and a part of the message. */
const FAULTS: readonly (readonly [Record<string, unknown>, string | undefined, string])[] = [
  [{ input: undefined }, "input", "is required"],
  [{ input: null }, "input", "is required"],
  [{ input: "" }, "input", "must not be empty"],
  [{ input: [] }, "input", "must not be empty"],
  [{ input: ["a", ""] }, "input[1]", "must not be empty"],
  [{ input: ["a", 1] }, "input[1]", "must be a string, like the first input: got 1"],
  [{ input: [1, "a"] }, "input[1]", "must be a token"],
  [{ input: [[1], "a"] }, "input[1]", "must be an array of tokens"],
  [{ input: [[1], []] }, "input[1]", "must not be empty"],
  [{ input: [[1], [2, -3]] }, "input[1][1]", "a whole number of at least 0: got -3"],
  [{ input: [1.5] }, "input[0]", "got 1.5"],
  [{ input: [[[1]]] }, "input[0][0]", "must be a token"],
  [{ input: { text: "a" } }, "input", "an array of tokens, or"],
  [{ input: [null] }, "input[0]", "got null"],
  [{ input: Array.from({ length: MAX_INPUTS + 1 }, () => "a") }, "input", "at most 2,048 items"],
  [{ input: Array.from({ length: MAX_INPUTS + 1 }, () => [1]) }, "input", "at most 2,048 items"],
  [{ model: "" }, "model", "must not be empty"],
  [{ model: undefined }, "model", "is required"],
  [{ dimensions: 0 }, "dimensions", "at least 1"],
  [{ dimensions: 1.5 }, "dimensions", "must be a whole number"],
  [{ dimensions: "9" }, "dimensions", "must be a number"],
  [{ encoding_format: "int8" }, "encoding_format", '"float" or "base64"'],
  [{ user: 7 }, "user", "must be a string"],
];

for (const [fields, param, says] of FAULTS) {
  const shown = JSON.stringify(fields).slice(0, 60);
  Deno.test(`parseEmbeddings() rejects ${shown}, naming ${param}`, () => {
    const refusal = assertThrows(
      () => parseEmbeddings({ model: "m", input: "a", ...fields }),
      Refusal,
    );
    assertEquals([refusal.reason, refusal.param], ["request_invalid", param]);
    assertStringIncludes(refusal.message, says);
  });
}

for (const body of [undefined, null, [], "a", 7]) {
  Deno.test(`parseEmbeddings() rejects ${JSON.stringify(body)}`, () => {
    assertThrows(() => parseEmbeddings(body), Refusal);
  });
}

Deno.test("parseEmbeddings() takes as many inputs as are allowed, and nulls for what is left out", () => {
  const input = Array.from({ length: MAX_INPUTS }, () => "a");
  const parsed = parseEmbeddings({ model: "m", input, dimensions: null, encoding_format: null });
  assertEquals(parsed.inputs.length, MAX_INPUTS);
  assertEquals([parsed.encoding, parsed.dimensions], ["float", undefined]);
});

Deno.test("meterEmbeddings() rejects an input over the context, and names it", async () => {
  const tokens = (count: number) => Array.from({ length: count }, () => 7);
  const meter = (input: unknown) =>
    meterEmbeddings(parseEmbeddings({ model: "m", input }), { maxInput: 100 });
  assertEquals(await meter([tokens(100), tokens(1)]), 101);
  const refusal = await assertRejects(() => meter([tokens(1), tokens(101)]), Refusal);
  assertEquals([refusal.reason, refusal.param], ["context_exceeded", "input[1]"]);
  assertStringIncludes(refusal.message, "101 tokens > 100 maximum");
  assertEquals((await assertRejects(() => meter(tokens(101)), Refusal)).param, "input");
  assertEquals((await assertRejects(() => meter("word ".repeat(200)), Refusal)).param, "input");
});

Deno.test("meterEmbeddings() rejects more than 300,000 tokens in all, and counts no further", async () => {
  const list = (count: number) => Array.from({ length: count }, () => new Array(1_000).fill(1));
  const meter = (input: unknown) =>
    meterEmbeddings(parseEmbeddings({ model: "m", input }), { maxInput: 1_000_000 });
  assertEquals(await meter(list(300)), 300_000);
  const refusal = await assertRejects(() => meter(list(301)), Refusal);
  assertEquals([refusal.reason, refusal.param], ["request_invalid", "input"]);
  assertStringIncludes(refusal.message, "300,000 tokens per request");
  await assertRejects(() => meter("word ".repeat(12_000_000)), Refusal); // 60 MB
});

Deno.test("meterEmbeddings() counts the text of fields that it does not know", async () => {
  const meter = (more: Record<string, unknown>) =>
    meterEmbeddings(parseEmbeddings({ model: "m", input: "a", ...more }), WIDE);
  assertEquals(
    await meter({ user: "u-1", dimensions: 8, encoding_format: "base64" }),
    await meter({}),
  );
  assert(await meter({ instruction: "many words ".repeat(100) }) > await meter({}) + 100);
  assert(await meter({ user: "many words ".repeat(100) }) > await meter({}) + 100);
});

Deno.test("meterEmbeddings() lets others have their turns while it counts megabytes", async () => {
  const spaces = " ".repeat(8_000_000);
  const many = Array.from({ length: 2_000 }, () => " ".repeat(4_000));
  for (const body of [{ input: spaces }, { input: many }, { input: "a", instruction: spaces }]) {
    let turns = 0;
    const other = setInterval(() => turns++, 0);
    await meterEmbeddings(parseEmbeddings({ model: "m", ...body }), WIDE);
    clearInterval(other);
    assert(turns >= 5, `${turns} turns`);
  }
});
