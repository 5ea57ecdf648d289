import fc from "fast-check";
import { ChargedUsage } from "../../../src/requests/relay/charged_usage.ts";
import { assert, assertEquals } from "../../assert.ts";

const INPUT = 100;

/** Of `n` choices, of at most `limit` tokens each. */
function usageOf(choices: number, limit: number): ChargedUsage {
  return new ChargedUsage({
    inputTokens: INPUT,
    openInput: () => 0,
    choices,
    maxTokens: 1_000_000,
    maxOutput: () => choices * limit,
    onSettled() {},
  });
}

/** What is charged of a complete reply in several parts. */
function settled(choices: number, limit: number, reports: readonly number[]) {
  const parts = reports.map((outputTokens) => ({
    usage: {
      inputTokens: INPUT,
      cachedTokens: 0,
      cacheWrittenTokens: 0,
      outputTokens,
      reasoningTokens: 0,
    },
    countedOutput: 10,
  }));
  return usageOf(choices, limit).settled({
    usage: undefined,
    parts,
    countedOutput: 10 * parts.length,
    requests: parts.length,
  }).usage.outputTokens;
}

Deno.test("each of several replies is bounded by what its own choices may have", () => {
  fc.assert(fc.property(
    fc.integer({ min: 2, max: 8 }),
    fc.integer({ min: 20, max: 5_000 }),
    fc.array(fc.double({ min: 0.01, max: 4, noNaN: true }), { minLength: 2, maxLength: 8 }),
    (choices, limit, factors) => {
      const parts = factors.slice(0, choices);
      const first = choices - parts.length + 1;
      const reports = parts.map((factor) => Math.ceil(factor * limit));
      const believed = reports.map((tokens, at) => tokens <= limit * (at === 0 ? first : 1));
      const expected = reports.reduce((sum, tokens, at) => sum + (believed[at] ? tokens : 10), 0);
      assertEquals(settled(choices, limit, reports), expected);
    },
  ));
});

Deno.test("what is believed of all together is no more than was asked for", () => {
  assert(settled(2, 100, [100, 101]) <= 200);
  assertEquals(settled(3, 100, [200, 100]), 300);
});

Deno.test("what a reply that was cut short has told of its input counts, with what was read from a cache", () => {
  const input = { inputTokens: INPUT, cachedTokens: 96, cacheWrittenTokens: 0 };
  const { usage } = usageOf(1, 500).cutShort({
    usage: undefined,
    partialUsage: { input, outputTokens: undefined, outputAfter: 0 },
    countedOutput: 10,
    requests: 1,
  }, { heldOutput: 500 });
  assertEquals(usage, { ...input, outputTokens: 10, reasoningTokens: 0 });
});

Deno.test("a report departs when it is not believed; what is not reported departs from nothing (table)", () => {
  const input = (inputTokens: number) => ({ inputTokens, cachedTokens: 0, cacheWrittenTokens: 0 });
  const [inputs, outputs] = [[undefined, INPUT, 1e9], [undefined, 500, 501]];
  for (const inputTokens of inputs) {
    for (const outputTokens of outputs) {
      const reported = inputTokens === undefined ? undefined : input(inputTokens);
      const { departs, usage, usageSource } = usageOf(1, 500).settled({
        usage: undefined,
        partialUsage: { input: reported, outputTokens, outputAfter: 0 },
        countedOutput: 10,
        requests: 1,
      });
      const text = `${inputTokens} ${outputTokens}`;
      assertEquals(departs, inputTokens === 1e9 || outputTokens === 501, text);
      assertEquals(usage.inputTokens, INPUT, text);
      assertEquals(usage.outputTokens, outputTokens === 500 ? 500 : 10, text);
      const isAll = inputTokens === INPUT && outputTokens === 500;
      assertEquals(usageSource, isAll ? "upstream" : "counted", text);
    }
  }
});
