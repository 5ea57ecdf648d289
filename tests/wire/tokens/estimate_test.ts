import fc from "fast-check";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { countTokens, TokenCounter } from "../../../src/wire/tokens/mod.ts";
import { unpackWeights } from "../../../src/wire/tokens/tables.ts";
import { CHARACTERS, COSTS, PAIRS, RUNS } from "../../../src/wire/tokens/weights.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { PROOF, sized } from "../../tier.ts";
import {
  blockSamples,
  heldOutSamples,
  languageSamples,
  letterSamples,
  mixSamples,
  notationSamples,
  patternSamples,
  proseSamples,
  runSamples,
  type Sample,
  sentenceSamples,
} from "./samples.ts";
import { errorTables, fitCosts, ratioOf, vocabularyTables } from "./weights.ts";

const read = (path: string) => Deno.readTextFileSync(new URL(`../../../${path}`, import.meta.url));
const times = (text: string) => text.repeat(20);

/** Texts that the weights are not fitted to, and by how much the count may be off. */
const TEXTS: readonly { what: string; text: string; within: number }[] = [
  { what: "English", text: read("CONTRIBUTING.md"), within: 0.1 },
  { what: "TypeScript", text: read("src/requests/relay/relay.ts"), within: 0.1 },
  { what: "a JSON file", text: read("deno.json"), within: 0.2 },
  {
    what: "German",
    text: times("Der schnelle braune Fuchs springt über den faulen Hund, während es regnet. "),
    within: 0.25,
  },
  {
    what: "French",
    text: times(
      "Le gouvernement a annoncé hier soir plusieurs mesures d'économie; l'opposition réclame. ",
    ),
    within: 0.45,
  },
  {
    what: "Chinese",
    text: times("今天天气很好，我们一起去公园散步，然后在附近的餐厅吃午饭。"),
    within: 0.25,
  },
  {
    what: "Japanese",
    text: times("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"),
    within: 0.25,
  },
  {
    what: "Russian",
    text: times("Быстрая коричневая лиса перепрыгивает через ленивую собаку. "),
    within: 0.25,
  },
  { what: "emoji", text: times("👋🏽 hello 🎉🎉 world 🚀 "), within: 0.25 },
  {
    what: "numbers",
    text: times("7919.13, 15838.26, 23757.39, 31676.52, 39595.65, "),
    within: 0.25,
  },
];

for (const { what, text, within } of TEXTS) {
  Deno.test(`countTokens is within ${within * 100} % of o200k_base: ${what}`, () => {
    const ratio = ratioOf(text);
    assert(Math.abs(ratio - 1) <= within, `${ratio}`);
  });
}

/** Fails with the samples whose count is out of bounds, and the seed that repeats them. */
function assertInBounds(samples: readonly Sample[], seed?: number, least = 0.6, most = 1.7): void {
  const faults = samples.map(({ name, text }) => ({ name, ratio: ratioOf(text) }))
    .filter(({ ratio }) => ratio < least || ratio > most)
    .map(({ name, ratio }) => `${name}: ${ratio.toFixed(2)}`);
  assertEquals(faults, [], seed === undefined ? "" : `SLUICE_TEST_SEED=${seed}`);
}

Deno.test("countTokens is 0.6 to 1.7 times o200k_base: text in each language", () => {
  assertInBounds(languageSamples());
});

Deno.test("countTokens is 0.6 to 1.7 times o200k_base: running prose in each language", () => {
  assertInBounds([...proseSamples(), ...heldOutSamples()]);
});

Deno.test("TokenCounter is 0.6 to 1.7 times o200k_base: random sentences of each language, in random pieces", () => {
  const first = testSeed();
  for (let seed = first; seed < first + sized(2, 100); seed++) {
    const random = new Random(seed);
    const samples = sentenceSamples(seed);
    assertInBounds(samples, seed);
    for (const { name, text } of samples) {
      const counter = new TokenCounter();
      const longest = random.pick([2, 12, 100]);
      for (let at = 0, end = 0; at < text.length; at = end) {
        end = at + random.integer(1, longest);
        counter.add(text.slice(at, end));
      }
      const whole = new TokenCounter();
      whole.add(text);
      const counts = ({ tokens, overcounted }: TokenCounter) => [tokens, overcounted];
      assertEquals(counts(counter), counts(whole), `${name}, SLUICE_TEST_SEED=${seed}`);
    }
  }
});

Deno.test("countTokens is 0.6 to 1.7 times o200k_base: random letters of each language", () => {
  const seed = testSeed();
  assertInBounds(letterSamples(seed), seed);
});

Deno.test("countTokens is 0.6 to 1.7 times o200k_base: random characters of each block", () => {
  const seed = testSeed();
  assertInBounds(blockSamples(seed), seed);
});

Deno.test("countTokens is 0.6 to 1.7 times o200k_base: notations, white space, emoji", () => {
  const seed = testSeed();
  assertInBounds(notationSamples(seed), seed);
});

Deno.test("countTokens is 0.6 to 1.7 times o200k_base: runs of one character", () => {
  assertInBounds(runSamples());
});

Deno.test("countTokens is 0.6 to 1.7 times o200k_base: random mixes of all of these", () => {
  const seed = testSeed();
  assertInBounds(mixSamples(seed, sized(100, 300)), seed);
});

Deno.test("countTokens is 0.2 to 8 times o200k_base: a short pattern repeated", () => {
  const seed = testSeed();
  const samples = patternSamples(seed, 500);
  // of all patterns of two characters the worst is "+-", with 7.5
  assertInBounds(samples, seed, 0.2, 8);
  const low = samples.filter(({ text }) => ratioOf(text) < 0.6).length;
  assert(low <= 25, `${low} of 500 are below 0.6, SLUICE_TEST_SEED=${seed}`);
});

Deno.test("TokenCounter gives the same count however a text is cut (property)", () => {
  fc.assert(fc.property(fc.array(fc.string({ unit: "grapheme" })), (pieces) => {
    const counter = new TokenCounter();
    for (const piece of pieces) counter.add(piece);
    assertEquals(counter.tokens, countTokens(pieces.join("")));
  }));
});

Deno.test("TokenCounter gives the same count unit by unit, surrogate pairs cut in two", () => {
  const seed = testSeed();
  const lone = ["\ud83d", "a\udc00b", "\ud83d\ud83d\ude00", "\ude00\ud83d", "😀\ud83d 1"];
  for (const text of [...lone, ...mixSamples(seed, 30).map((sample) => sample.text)]) {
    const counter = new TokenCounter();
    for (let index = 0; index < text.length; index++) counter.add(text[index]!);
    assertEquals(counter.tokens, countTokens(text), `SLUICE_TEST_SEED=${seed}`);
  }
});

Deno.test("TokenCounter counts text in ASCII several characters at a time as it counts them one by one (property)", () => {
  const weights = unpackWeights({ characters: CHARACTERS, pairs: PAIRS, runs: RUNS, costs: COSTS });
  const slow = { ...weights, ascii: weights.ascii.map(() => 1 << 8) }; // each pair is looked at more closely
  const rare = [
    " ",
    "\t",
    "\n",
    "a",
    "e",
    "T",
    "th",
    "aaa",
    "1",
    "23",
    "999",
    "\0",
    "\x7f",
    "\x80",
    "é",
    "漢",
    "😀",
  ]
    .concat(["\ud83d", "\ude00", "..", "   ", ",", "~", "_"]);
  const alphabet = fc.uniqueArray(fc.constantFrom(...rare), { minLength: 1 });
  const short = alphabet.chain((some) => fc.array(fc.constantFrom(...some), { maxLength: 40 }));
  const words = "the quick, Hello\n\t said: fox's    42".split(/(?=[ \n])/);
  const part = fc.oneof(
    { arbitrary: fc.constantFrom(...words), weight: 30 },
    { arbitrary: fc.constantFrom(...rare), weight: 1 },
  );
  const long = fc.array(part, { minLength: 100, maxLength: 900, size: "max" });
  const ascii = fc.array(fc.string({ unit: "binary-ascii" }));
  fc.assert(
    fc.property(fc.oneof(short, long, ascii), fc.nat(3_000), (parts, cut) => {
      const [one, other] = [new TokenCounter(weights), new TokenCounter(slow)];
      const whole = parts.join("");
      const at = cut % (whole.length + 1);
      for (const piece of [whole.slice(0, at), whole.slice(at)]) {
        one.add(piece);
        other.add(piece);
        assertEquals(one.tokens, other.tokens, JSON.stringify(whole));
      }
    }),
    { numRuns: sized(150, 2_000) },
  );
});

Deno.test("TokenCounter forgets digits and half an emoji before a long text in ASCII", () => {
  const fox = " brown fox".repeat(40);
  for (const before of ["4", "42", "420", "\ud800", "é", "  "]) {
    for (const text of [`${fox}7${fox}`, `a${fox}7${fox}`, fox, `a${fox}`]) {
      const [whole, cut] = [new TokenCounter(), new TokenCounter()];
      const pieces = [before, text, "\udc00"];
      for (const piece of pieces) whole.add(piece);
      for (const unit of pieces.join("").split("")) cut.add(unit);
      assertEquals(whole.tokens, cut.tokens, before + text);
    }
  }
});

Deno.test("TokenCounter counts each lone surrogate", () => {
  assert(countTokens("\ud83d".repeat(1000)) >= 1000);
  assert(countTokens("\ude00".repeat(1000)) >= 1000);
  assert(encode("\ud83d\ud83d").length <= countTokens("\ud83d\ud83d"));
});

Deno.test("weights.ts is what deno task weights generates", PROOF, () => {
  const tables = vocabularyTables();
  assert(tables.characters === CHARACTERS, "CHARACTERS");
  assert(tables.pairs === PAIRS, "PAIRS");
  assert(tables.runs === RUNS, "RUNS");
  assertEquals(fitCosts(tables), COSTS);
});

Deno.test("docs/counting.md shows the ratios of these weights: deno task weights", () => {
  assertStringIncludes(read("docs/counting.md"), errorTables());
});
