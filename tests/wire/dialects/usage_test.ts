import fc from "fast-check";
import { firstCount, withCounts } from "../../../src/wire/dialects/mod.ts";
import { readUsage } from "../../../src/wire/dialects/usage_names.ts";
import { UsageReports } from "../../../src/wire/dialects/usage_reports.ts";
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

/** The spellings of one name: OpenAI's, the AI SDK's and Bedrock's, Gemini's, and one of relays. */
function spellings(name: string): readonly string[] {
  const camel = name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  const count = camel.replace(/Tokens$/, "TokenCount");
  return [name, camel, count, name.replace(/tokens$/, "token_count")];
}

/** Names of each number in a report whose caches are part of its input, and the objects of details in which they may be. */
const NAMES: Readonly<Record<string, readonly (readonly [name: string, details?: string])[]>> = {
  inputTokens: [["prompt_tokens"], ["input_tokens"]],
  outputTokens: [["completion_tokens"], ["output_tokens"], ["candidates_tokens"]],
  cachedTokens: [
    ["cached_tokens", "prompt_tokens_details"],
    ["cached_tokens", "input_tokens_details"],
    ["cache_read_tokens", "prompt_tokens_details"],
    ["cached_tokens"],
    ["cached_content_tokens"],
    ["prompt_cache_hit_tokens"],
    ["cached_prompt_tokens"],
  ],
  cacheWrittenTokens: [["cache_write_tokens", "prompt_tokens_details"], ["cache_creation_tokens"]],
  reasoningTokens: [
    ["reasoning_tokens", "completion_tokens_details"],
    ["reasoning_tokens", "output_tokens_details"],
    ["thinking_tokens", "output_tokens_details"],
    ["thoughts_tokens"],
    ["reasoning_tokens"],
  ],
  totalTokens: [["total_tokens"]],
};

Deno.test("a report says the same under every name that services have for its numbers (property)", () => {
  const names = fc.record(
    Object.fromEntries(
      Object.entries(NAMES).map(([part, all]) => [
        part,
        fc.constantFrom(
          ...all.flatMap(([name, details]) =>
            spellings(name).map((one) => [one, details] as const)
          ),
        ),
      ]),
    ),
  );
  const numbers = fc.record({
    cachedTokens: fc.nat(100),
    cacheWrittenTokens: fc.nat(100),
    rest: fc.nat(100),
    outputTokens: fc.integer({ min: 100, max: 200 }),
    reasoningTokens: fc.nat(100),
  });
  fc.assert(fc.property(names, numbers, (named, { rest, ...said }) => {
    const inputTokens = said.cachedTokens + said.cacheWrittenTokens + rest;
    const report: Record<string, number> = {
      ...said,
      inputTokens,
      totalTokens: inputTokens + said.outputTokens,
    };
    const value: Record<string, unknown> = {};
    for (const [part, [name, details]] of Object.entries(named)) {
      const within = details === undefined ? value : (value[details] ??= {});
      (within as Record<string, unknown>)[name] = report[part];
    }
    const plain = { ...report, inputKinds: undefined, outputKinds: undefined };
    assertEquals<unknown>(readUsage(value), plain, JSON.stringify(value));
  }));
});

Deno.test("caches stand beside the input in Anthropic's and Bedrock's words, unless a number says otherwise", () => {
  const beside = (value: unknown, hasTotal = true) => readUsage(value, hasTotal)?.inputTokens;
  fc.assert(
    fc.property(fc.nat(100), fc.nat(100), fc.nat(100), fc.nat(100), (plain, read, made, output) => {
      const all = plain + read + made;
      for (
        const names of [
          [
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens",
          ],
          ["inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "outputTokens"],
          [
            "inputTokenCount",
            "cacheReadInputTokenCount",
            "cacheWriteInputTokenCount",
            "outputTokenCount",
          ],
        ]
      ) {
        const report = Object.fromEntries(
          names.map((name, at) => [name, [plain, read, made, output][at]]),
        );
        assertEquals(beside(report), all);
        assertEquals(beside({ ...report, total_tokens: 1 }, false), all);
        // LiteLLM has all of it as its prompt
        assertEquals(beside({ ...report, prompt_tokens: all, total_tokens: all + output }), all);
      }
    }),
  );
  const said = { input_tokens: 100, cache_read_input_tokens: 60, output_tokens: 5 };
  assertEquals(beside({ ...said, total_tokens: 105 }), 100);
  assertEquals(beside(said), 160);
});

Deno.test("a value without input and output is no report", () => {
  for (const value of [undefined, null, 5, "5", [], {}, { total_tokens: 5 }, { cost: 1 }]) {
    assertEquals(readUsage(value), undefined);
  }
  assertEquals(readUsage({ completion_tokens: 0 })?.outputTokens, 0);
});

Deno.test("of several reports the largest counts, with the reasoning that stands only in a total or beside the output", () => {
  const input = { inputTokens: 10, cachedTokens: undefined, cacheWrittenTokens: undefined };
  const zeros = { ...input, outputTokens: 0, reasoningTokens: 0, totalTokens: 0 };
  const reports = [
    { ...input, outputTokens: 5, reasoningTokens: undefined, totalTokens: 22 },
    { ...input, outputTokens: 5, reasoningTokens: 7, totalTokens: 22 },
    { ...input, outputTokens: 4, reasoningTokens: 8 },
    { ...input, outputTokens: 12, reasoningTokens: 7, totalTokens: 22 },
  ];
  for (const said of reports.flatMap((one) => [[one], [one, zeros], [zeros, one]])) {
    const all = new UsageReports();
    for (const report of said) all.add(report);
    assertEquals(all.outputTokens, 12, JSON.stringify(said));
    assert(all.reasoningTokens >= 7, JSON.stringify(said));
  }
});
