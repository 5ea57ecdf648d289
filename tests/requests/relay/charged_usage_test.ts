import fc from "fast-check";
import {
  ChargedUsage,
  type CutShort,
  type MeteredReply,
} from "../../../src/requests/relay/charged_usage.ts";
import type { MeteredPart } from "../../../src/wire/dialects/mod.ts";
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

const inputOf = (inputTokens: number) => ({ inputTokens, cachedTokens: 0, cacheWrittenTokens: 0 });
const outputOf = (outputTokens: number | undefined, outputAfter = 0) => ({
  input: inputOf(INPUT),
  outputTokens,
  outputAfter,
});

Deno.test("input is charged as reported up to four times the count, or 1,000 tokens more for each request, and what was left open (table)", () => {
  const rows: readonly (readonly [
    reported: number,
    charged: number,
    of?: { counted?: number; requests?: number; openInput?: number; maxTokens?: number },
  ])[] = [
    [1_100, 1_100],
    [1_101, 100],
    [4_000, 4_000, { counted: 1_000 }],
    [4_001, 1_000, { counted: 1_000 }],
    [2_200, 2_200, { requests: 2 }],
    [2_201, 200, { requests: 2 }],
    // no report is believed that goes beyond the context window, unless that much was reserved
    [900, 900, { maxTokens: 900 }],
    [901, 100, { maxTokens: 900 }],
    [5_100, 5_100, { openInput: 5_000, maxTokens: 900 }],
    [5_101, 5_100, { openInput: 5_000, maxTokens: 900 }],
    [10_200, 10_200, { openInput: 5_000, requests: 2 }],
    [10_201, 10_200, { openInput: 5_000, requests: 2 }],
  ];
  for (const [reported, charged, of = {}] of rows) {
    const { counted = INPUT, requests = 1, openInput = 0, maxTokens = 1_000_000 } = of;
    const { usage, departs, counted: count } = new ChargedUsage({
      inputTokens: counted,
      openInput: () => openInput,
      choices: 1,
      maxTokens,
      maxOutput: () => 500,
      onSettled() {},
    }).settled({
      usage: undefined,
      partialUsage: { ...outputOf(1), input: inputOf(reported) },
      countedOutput: 1,
      requests,
    });
    const text = JSON.stringify([reported, of]);
    assertEquals([usage.inputTokens, departs], [charged, charged !== reported], text);
    assertEquals(count, { inputTokens: counted * requests, outputTokens: 1 }, text);
  }
});

Deno.test("input that only the upstream counts is charged by the calls that there were, if its report cannot come any more (table)", () => {
  const calls = (count: number) => new Map([["search", count - 1], ["fetch", 1]]);
  const charged = (
    maxCalls: number | undefined,
    part: Partial<MeteredReply>,
    cut?: Partial<CutShort>,
  ) => {
    const usage = new ChargedUsage({
      inputTokens: INPUT,
      openInput: (count) => 1_000 * count,
      maxCalls,
      choices: 1,
      maxTokens: 1_000_000,
      maxOutput: () => 500,
      onSettled() {},
    });
    const reply = { usage: undefined, countedOutput: 1, requests: 1, ...part };
    return (cut === undefined
      ? usage.settled(reply)
      : usage.cutShort(reply, { heldOutput: 9, ...cut }))
      .usage.inputTokens;
  };
  // no report: one call is likely where any were allowed, unless it is known how many there were
  assertEquals(charged(3, {}, {}), 1_100);
  assertEquals(charged(0, {}, {}), 100);
  assertEquals(charged(undefined, {}, {}), 100);
  assertEquals(charged(3, { hostedCalls: calls(5) }, {}), 5_100);
  assertEquals(charged(3, { hostedCalls: new Map() }, {}), 100);
  assertEquals(charged(3, { requests: 2 }, {}), 2_200);
  assertEquals(charged(3, {}, { isRead: true }), 100, "it had none");
  assertEquals(charged(3, {}), 100, "a complete reply had none");
  // a report is believed as far as calls were reserved, or were made
  const partialUsage = { ...outputOf(1), input: inputOf(1e9) };
  assertEquals(charged(3, { partialUsage, hostedCalls: calls(2) }), 3_100);
  assertEquals(charged(3, { partialUsage, hostedCalls: calls(5) }), 5_100);
});

Deno.test("output is what was reported and what came after that; without a report what was counted, of a cut reply what it may hide too (table)", () => {
  const rows: readonly (readonly [
    part: Partial<MeteredReply>,
    cut: CutShort | undefined,
    charged: number,
    source: "upstream" | "counted",
    mayReason?: boolean,
  ])[] = [
    [{ partialUsage: outputOf(40) }, undefined, 40, "upstream"],
    [{ partialUsage: outputOf(40, 3) }, undefined, 43, "counted"],
    [{ partialUsage: outputOf(499, 3) }, undefined, 500, "counted"],
    // seals tell how much a reply hides, which counts when it is cut short
    [{ hiddenTokens: 7 }, undefined, 10, "counted"],
    [{ hiddenTokens: 7 }, { heldOutput: 90 }, 17, "counted"],
    [{ hiddenTokens: 7, partialUsage: outputOf(12) }, { heldOutput: 90 }, 12, "upstream"],
    [{ hidesReasoning: true }, undefined, 10, "counted"],
    [{ hidesReasoning: true }, { heldOutput: 90 }, 90, "counted"],
    [{ hidesReasoning: true }, { heldOutput: 9 }, 10, "counted"],
    [{ hidesReasoning: true }, { heldOutput: 501 }, 500, "counted"],
    [{ hidesReasoning: false }, { heldOutput: 90 }, 10, "counted", true],
    [{}, { heldOutput: 90 }, 90, "counted", true],
    [{}, { heldOutput: 90 }, 10, "counted"],
    [{}, undefined, 10, "counted", true],
    [{ countedOutput: 600 }, undefined, 500, "counted"],
  ];
  for (const [part, cut, charged, source, mayReason] of rows) {
    const usage = new ChargedUsage({
      inputTokens: INPUT,
      openInput: () => 0,
      choices: 1,
      maxTokens: 1_000_000,
      maxOutput: () => 500,
      mayReason,
      onSettled() {},
    });
    const input = { input: inputOf(INPUT), outputTokens: undefined, outputAfter: 0 };
    const reply = {
      usage: undefined,
      partialUsage: input,
      countedOutput: 10,
      requests: 1,
      ...part,
    };
    const settled = cut === undefined ? usage.settled(reply) : usage.cutShort(reply, cut);
    assertEquals(
      [settled.usage.outputTokens, settled.usageSource],
      [charged, source],
      JSON.stringify([part, cut, mayReason]),
    );
  }
});

Deno.test("a reply that is cut off at its limit costs what is held, and hides nothing", () => {
  const cutOff = (countedOutput: number) =>
    usageOf(1, 500).cutOff({
      usage: undefined,
      countedOutput,
      hidesReasoning: false,
      hiddenTokens: 70,
      requests: 1,
      parts: [{ usage: undefined, countedOutput: 400 }],
    }, 90).usage.outputTokens;
  assertEquals([cutOff(50), cutOff(90), cutOff(91)], [50, 90, 90]);
});

Deno.test("what a report says of reasoning and of kinds counts only if it is believed; the record has it as it was reported", () => {
  const kinds = { audioOutput: 5 };
  const told = { model: "m-1" };
  const settledOf = (inputTokens: number | undefined, outputTokens: number | undefined) =>
    usageOf(1, 500).settled({
      usage: {
        ...inputOf(inputTokens ?? 0),
        outputTokens: outputTokens ?? 0,
        reasoningTokens: 4,
      },
      partialUsage: {
        input: inputTokens === undefined ? undefined : inputOf(inputTokens),
        outputTokens,
        outputAfter: 0,
        kinds,
        told,
      },
      countedOutput: 10,
      requests: 1,
    });
  for (const inputTokens of [undefined, INPUT, 1e9]) {
    for (const outputTokens of [undefined, 500, 501]) {
      const settled = settledOf(inputTokens, outputTokens);
      const isAll = inputTokens === INPUT && outputTokens === 500;
      const text = `${inputTokens} ${outputTokens}`;
      assertEquals(settled.kinds, isAll ? kinds : undefined, text);
      assertEquals(settled.usage.reasoningTokens, outputTokens === 500 ? 4 : 0, text);
      assertEquals(settled.told, told, text);
      const reported = {
        ...(inputTokens === undefined ? {} : { inputTokens }),
        ...(outputTokens === undefined ? {} : { outputTokens }),
      };
      assertEquals(settled.reported, reported, text);
    }
  }
});

Deno.test("what several replies are charged by is the sum, unless one is missing or the sum is more than was asked for", () => {
  const of = (choices: number, maxOutput: number) =>
    new ChargedUsage({
      inputTokens: INPUT,
      openInput: () => 0,
      choices,
      maxTokens: 1_000_000,
      maxOutput: () => maxOutput,
      onSettled() {},
    });
  const part = (
    outputTokens: number | undefined,
    more: Partial<MeteredPart> = {},
  ): MeteredPart => ({
    usage: undefined,
    partialUsage: { ...outputOf(outputTokens), kinds: { audioOutput: 2 }, told: { model: "m-1" } },
    countedOutput: 10,
    ...more,
  });
  const reply = (parts: readonly MeteredPart[], requests = parts.length) => (
    { usage: undefined, countedOutput: 25, requests, parts }
  );
  const both = of(2, 200).settled(reply([part(40), part(50)]));
  assertEquals(both, {
    usage: { ...inputOf(2 * INPUT), outputTokens: 90, reasoningTokens: 0 },
    usageSource: "upstream",
    counted: { inputTokens: 2 * INPUT, outputTokens: 20 },
    reported: { inputTokens: 2 * INPUT, outputTokens: 90 },
    departs: false,
    hostedCalls: undefined,
    kinds: { audioOutput: 4 },
    told: { model: "m-1" },
    requests: 2,
  });
  const half = of(2, 200).settled(reply([part(40), part(undefined)]));
  assertEquals(
    [half.usage.outputTokens, half.usageSource, half.reported, half.kinds],
    [50, "counted", { inputTokens: 2 * INPUT }, { audioOutput: 2 }],
  );
  const lacking = of(3, 300).settled(reply([part(40), part(50)], 3));
  assertEquals(lacking.usage.outputTokens, 25, "the gateway's count of all");
  // a third of 100, rounded up, three times
  const rounded = of(3, 100).settled(reply([part(34), part(34), part(34)]));
  assertEquals(rounded.usage.outputTokens, 25);
  // each part of a reply that was cut short may have taken its share of what is held
  const hides = part(undefined, { hidesReasoning: true });
  const cut = of(2, 200).cutShort(reply([hides, hides]), { heldOutput: 101 });
  assertEquals(cut.usage.outputTokens, 100);
});

Deno.test("no output above the context window is believed, whatever was asked for", () => {
  const usage = (outputTokens: number) =>
    new ChargedUsage({
      inputTokens: INPUT,
      openInput: () => 0,
      choices: 1,
      maxTokens: 300,
      maxOutput: () => 500,
      onSettled() {},
    }).settled({
      usage: undefined,
      partialUsage: outputOf(outputTokens),
      countedOutput: 10,
      requests: 1,
    })
      .usage.outputTokens;
  assertEquals([usage(300), usage(301)], [300, 10]);
});
