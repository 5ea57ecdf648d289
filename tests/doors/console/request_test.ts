/** What a request's own page says of its time, its price and its failure. */

import { failureWords } from "../../../src/doors/console/failure_words.ts";
import {
  exactCredits,
  priceLines,
  roundedCredits,
} from "../../../src/doors/console/request_price.tsx";
import { speed, tokensPerSecond } from "../../../src/doors/console/request_rows.tsx";
import { timelineOf } from "../../../src/doors/console/waterfall.tsx";
import { toldApart } from "../../../src/ground/platform/mod.ts";
import { REASONS } from "../../../src/ground/refusal.ts";
import type { Key } from "../../../src/people/accounts/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";

const ATTEMPT = { upstream: "one", model: "m", key: undefined, outcome: "status 503" };

Deno.test("a waterfall draws what is recorded, within the request's time", () => {
  const base = {
    attempts: 1,
    attemptList: undefined,
    firstTokenMs: 300 as number | null,
    durationMs: 1_000,
    streamed: true,
    ending: "complete",
  };
  const steps = (more: Partial<Parameters<typeof timelineOf>[0]>) =>
    timelineOf({ ...base, ...more }).steps.map(({ name, fromMs, untilMs }) => [
      name,
      fromMs,
      untilMs,
    ]);
  assertEquals(steps({}), [["until the first output", 0, 300], ["streaming", 300, 1_000]]);
  assertEquals(steps({ streamed: false }).at(-1)![0], "reading the reply");
  assertEquals(steps({ firstTokenMs: null, ending: "upstream_failed" }), [[
    "sent, no output",
    0,
    1_000,
  ]]);
  assertEquals(steps({ firstTokenMs: null, streamed: false })[0]![0], "until the response");
  assertEquals(steps({ attempts: 0, firstTokenMs: null }), [["in the gateway", 0, 1_000]]);
  const retried = [{ ...ATTEMPT, durationMs: 100 }, {
    ...ATTEMPT,
    outcome: "replied",
    durationMs: 150,
  }];
  assertEquals(steps({ attempts: 2, attemptList: retried }), [
    ["in the gateway", 0, 50],
    ["1. one: status 503", 50, 150],
    ["2. one: replied", 150, 300],
    ["streaming", 300, 1_000],
  ]);
  // with no time before them
  const exact = [{ ...ATTEMPT, durationMs: 100 }, { ...ATTEMPT, durationMs: 200 }];
  assertEquals(steps({ attempts: 2, attemptList: exact, firstTokenMs: 300, durationMs: 300 }), [
    ["1. one: status 503", 0, 100],
    ["2. one: status 503", 100, 300],
  ]);
  // further choices are sent at the same time: their durations add up to more than there was
  const long = [{ ...ATTEMPT, durationMs: 900 }, { ...ATTEMPT, durationMs: 5_000 }];
  assertEquals(steps({ attempts: 3, attemptList: long }).slice(0, 2), [
    ["1. one: status 503", 0, 900],
    ["2. one: status 503", 0, 1_000],
  ]);
  assertStringIncludes(
    timelineOf({ ...base, attempts: 3, attemptList: long }).notes.join(" "),
    "1 more attempts are not listed",
  );
  for (const durationMs of [0, 1, 299]) {
    const { steps, totalMs } = timelineOf({ ...base, durationMs });
    assert(steps.every(({ fromMs, untilMs }) => fromMs <= untilMs && untilMs <= totalMs));
  }
});

Deno.test("the lines of a price add up to what was charged, whatever the prices", () => {
  const record = {
    inputTokens: 175_064,
    cachedTokens: 55_021,
    outputTokens: 3_051,
    priceCredits: 15,
    extraCredits: 0,
    chargedCredits: 15,
  };
  const prices = { input: 100, cached: 25, output: 400, minimum: 1 };
  const lines = (more: Partial<typeof record>, of = prices) => {
    const all = priceLines({ ...record, ...more }, of);
    const sum = all.slice(0, -1).reduce((total, { millionths }) => total + millionths, 0n);
    assertEquals(sum, all.at(-1)!.millionths);
    assertEquals(sum, BigInt({ ...record, ...more }.chargedCredits) * 1_000_000n);
    return all.slice(3, -1).map(({ what, millionths }) => `${what} ${exactCredits(millionths)}`);
  };
  assertEquals(lines({}), ["rounded up to whole credits 0.399775"]);
  assertEquals(
    lines({ chargedCredits: 9 }).at(-1),
    "beyond the balance or a budget, not collected −6",
  );
  assertEquals(
    lines({ priceCredits: 20, chargedCredits: 20 }, { ...prices, minimum: 20 }).at(-1),
    "up to the minimum of 20 5",
  );
  assertEquals(
    lines({ priceCredits: 4, chargedCredits: 4 }).at(-1),
    "not explained by the prices −11",
  );
  assertEquals(
    lines({ inputTokens: 0, cachedTokens: 0, outputTokens: 0, priceCredits: 1, chargedCredits: 1 }),
    ["up to the minimum of 1 1"],
  );
  assertEquals([0n, 1n, 1_500_000n, -12_000_000n].map(exactCredits), [
    "0",
    "0.000001",
    "1.5",
    "−12",
  ]);
});

Deno.test("the lines of a price are shown with three decimals and still add up", () => {
  const record = {
    inputTokens: 86_735,
    cachedTokens: 25_578,
    outputTokens: 1_579,
    extraCredits: 0,
  };
  const prices = { input: 10, cached: 2, output: 40, minimum: 1 };
  const texts = (more: { priceCredits: number; chargedCredits: number }, of = prices) =>
    roundedCredits(priceLines({ ...record, ...more }, of));
  const charged = { priceCredits: 1, chargedCredits: 1 };
  assertEquals(texts(charged), ["0.612", "0.051", "0.063", "0.274", "1"]);
  assertEquals(texts({ priceCredits: 0, chargedCredits: 0 }).slice(-2), ["−1", "0"]);
  assertEquals(
    roundedCredits([
      { what: "a", millionths: 1n },
      { what: "b", millionths: 999_999n },
      { what: "charged", millionths: 1_000_000n },
    ]),
    ["<0.001", "1", "1"],
  );
  for (let input = 0; input < 200; input++) {
    const lines = priceLines({ ...record, ...charged }, { ...prices, input: input * 7 });
    const sum = roundedCredits(lines).slice(0, -1).reduce(
      (all, text) =>
        all + Math.round(1_000 * Number(text.replace("−", "-").replace("<0.001", "0"))),
      0,
    );
    assertEquals(sum, 1_000, String(input));
  }
});

Deno.test("every reason is explained in words, with attempts, status and what to do", () => {
  const failed = {
    ending: "upstream_failed",
    reason: "upstream_unavailable" as string | null,
    status: 503,
    attempts: 3,
    attemptList: [
      { ...ATTEMPT, durationMs: 1 },
      { ...ATTEMPT, durationMs: 2 },
      { ...ATTEMPT, upstream: "two", outcome: "timed out", durationMs: 3 },
    ],
    chargedCredits: 0,
  };
  assertEquals(
    failureWords(failed),
    "No upstream that serves the model replied in full. Its 3 attempts: one (status 503, 2 times), " +
      "two (timed out). The client got status 503 Service Unavailable. Sending it again can succeed. Nothing was charged.",
  );
  const none = { ...failed, attempts: 0, attemptList: undefined };
  for (const reason of [...Object.keys(REASONS), "client_disconnected", "client_slow"]) {
    const words = failureWords({ ...none, reason })!;
    assert(words.length > 60 && !words.includes(reason), words);
    assertStringIncludes(words, "It was not sent to an upstream.");
  }
  for (const reason of ["client_disconnected", "client_slow"]) {
    const left = failureWords({ ...none, reason, chargedCredits: 4 })!;
    assert(!/status|Nothing was charged/.test(left), left);
  }
  assert(!failureWords({ ...failed, attemptList: [] })!.includes("attempts"));
  assertStringIncludes(
    failureWords({ ...none, reason: "a_later_one" })!,
    "It failed: a_later_one.",
  );
  assertEquals(failureWords({ ...none, reason: null }), undefined);
  assertEquals(failureWords({ ...none, ending: "complete" }), undefined);
});

Deno.test("two keys of one name are told apart in filters and tables", () => {
  const keys = [["key_1", "laptop", "sk-aaa…1"], ["key_2", "laptop", "sk-bbb…2"], [
    "key_3",
    "",
    "sk-ccc…3",
  ]];
  const names = toldApart(keys.map(([id, name, hint]) => ({ id, name, hint }) as Key));
  assertEquals([...names.values()], ["laptop (sk-aaa…1)", "laptop (sk-bbb…2)", "sk-ccc…3"]);
});

Deno.test("speed is that of the stream, or of the whole request", () => {
  const of = (
    outputTokens: number,
    streamed: boolean,
    firstTokenMs: number | null,
    durationMs: number,
  ) => speed(tokensPerSecond({ outputTokens, streamed, firstTokenMs, durationMs }));
  assertEquals(of(90, true, 100, 1_000), "100");
  assertEquals(of(90, true, 950, 1_000), "90"); // all at once
  assertEquals([of(90, true, 900, 1_000), of(90, true, 901, 1_000)], ["900", "90"]);
  assertEquals([of(10, false, null, 1_000), of(99, false, null, 10_000)], ["10", "9.9"]);
  assertEquals([of(90, true, null, 1_000), of(9, true, null, 99)], ["90", "91"]);
  assertEquals(of(5, false, 900, 1_000), "5.0");
  assertEquals([of(0, true, 1, 5), of(5, true, null, 0)], ["–", "–"]);
});
