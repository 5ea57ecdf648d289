/**
 * Generates `src/wire/tokens/weights.ts` from o200k_base, and the table of `docs/counting.md` from what
 * they make of the samples. Run it with `deno task weights`.
 *
 * 1. `CHARACTERS`: the tokens of each character alone.
 * 2. `PAIRS`: for each two characters, how frequent the tokens are that have them side by side, compared
 *    with the characters, as a logarithm.
 * 3. `RUNS`: the tokens of one character more in a run of it.
 * 4. `COSTS`: how much of a character's tokens is left in each context, fitted to the samples so
 *    that the worst of them is as little off as possible.
 *
 * @module
 */

import {
  countTokens as o200k,
  decode,
  DEFAULT_MERGE_CACHE_SIZE,
  encode,
  setMergeCacheSize,
} from "gpt-tokenizer/encoding/o200k_base";
import {
  CHARACTER_ENTRIES,
  characterEntry,
  CONTEXTS,
  costTables,
  LEVELS,
  PAIR_LEVELS,
  PAIR_SLOTS,
  pairSlot,
  RUN_UNIT,
  unpackWeights,
  type Weights,
} from "../../../src/wire/tokens/tables.ts";
import { countTokens, TokenCounter } from "../../../src/wire/tokens/mod.ts";
import * as samples from "./samples.ts";

const VOCABULARY = 199_998;
const PLANES = 17;

/** Tokens of one code point on its own. */
function tokensOf(code: number): number {
  return encode(String.fromCodePoint(code)).length;
}

const isSurrogate = (code: number) => code >= 0xd800 && code <= 0xdfff;
const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Quarter tokens of each entry of `Weights.characters`. */
function characterValues(): Uint8Array {
  const values = new Uint8Array(CHARACTER_ENTRIES).fill(4);
  for (let block = 0; block < 0x10000; block += 64) {
    const codes = Array.from({ length: 64 }, (_, index) => block + index);
    if (isSurrogate(block)) continue;
    const tokens = codes.map(tokensOf);
    // of ideographs and Hangul syllables only those of one token are told apart from the others
    const average = block >= 0x3400 && block < 0xd7c0
      ? Math.round(4 * mean(tokens.filter((count) => count > 1)))
      : 0;
    for (const code of codes) {
      const count = tokens[code - block]!;
      values[code] = count > 1 && average > 0 ? average : 4 * count;
    }
  }
  for (let code = 0x1f000; code < 0x20000; code++) {
    values[characterEntry(code)] = 4 * tokensOf(code);
  }
  for (let code = 0x10000; code < PLANES << 16; code += 16) {
    if (code >= 0x1f000 && code < 0x20000) continue;
    const every = code < 0x20000 ? 1 : 8;
    const some = Array.from({ length: 16 / every }, (_, index) => tokensOf(code + index * every));
    values[characterEntry(code)] = Math.round(4 * mean(some));
  }
  return values;
}

/** Added to the rank of a token, as the first few thousand are about as frequent in the text of any one language. */
const FIRST_RANKS = 2_000;

/**
 * Pairs of characters, and the tokens of the vocabulary in which they stand side by side. A token is the more frequent the
 * lower its rank, and counts so: the last ones count 1, the first ones 100.
 */
function pairsOfVocabulary(): Map<string, number> {
  const pairs = new Map<string, number>();
  for (let id = 0; id < VOCABULARY; id++) {
    const token = decode([id]);
    if (token.includes("\ufffd")) continue; // part of a character
    const parts = [...token];
    for (let index = 1; index < parts.length; index++) {
      const pair = parts[index - 1]! + parts[index]!;
      pairs.set(pair, (pairs.get(pair) ?? 0) + VOCABULARY / (id + FIRST_RANKS));
    }
  }
  return pairs;
}

/** Raises the rarest pairs to level 1, and so the most frequent ones to the highest. */
const MIN_LEVEL_LOGARITHM = 7;

/** Levels of each slot of `Weights.pairs`. */
function pairLevels(pairs: ReadonlyMap<string, number>): Uint8Array {
  const levels = new Uint8Array(PAIR_SLOTS);
  const raise = (slot: number, level: number) => levels[slot] = Math.max(levels[slot]!, level);
  const [firsts, seconds] = [new Map<string, number>(), new Map<string, number>()];
  for (const [pair, frequency] of pairs) {
    const [first, second] = [...pair];
    firsts.set(first!, (firsts.get(first!) ?? 0) + frequency);
    seconds.set(second!, (seconds.get(second!) ?? 0) + frequency);
  }
  for (const [pair, frequency] of pairs) {
    if (pair === " \t" || pair === "\t ") continue;
    const [first, second] = [...pair];
    // a pair of frequent letters is frequent among random ones, too
    const expected = (firsts.get(first!)! * seconds.get(second!)!) ** 0.25;
    const level = Math.floor(MIN_LEVEL_LOGARITHM + Math.log2(frequency / expected));
    const slot = pairSlot(first!.codePointAt(0)!, second!.codePointAt(0)!);
    raise(slot, Math.min(PAIR_LEVELS - 1, Math.max(1, level)));
  }
  raise(pairSlot(32, 9), 1); // seldom in a vocabulary, yet they merge
  raise(pairSlot(9, 32), 1);
  return levels;
}

/** `RUNS`, packed. */
function packRuns(pairs: ReadonlyMap<string, number>): string {
  let packed = "";
  const codes = new Set(Array.from({ length: 0x1fb00 - 0x1f300 }, (_, index) => 0x1f300 + index));
  for (const pair of pairs.keys()) {
    const [first, second] = [...pair];
    if (first === second) codes.add(first!.codePointAt(0)!);
  }
  for (const code of codes) {
    const each = encode(String.fromCodePoint(code).repeat(256)).length / 256;
    if (each >= tokensOf(code)) continue;
    packed += code.toString(36) + " " + Math.round(each * RUN_UNIT).toString(36) + " ";
  }
  return lines(packed);
}

function lines(packed: string): string {
  return packed.replace(/(.{1,98})( |$)|.{1,98}/g, (line) => "\n" + line.trimEnd()) + "\n";
}

const letter = (value: number) => String.fromCharCode(64 + value);

function packCharacters(values: Uint8Array): string {
  let packed = "";
  for (let index = 0, from = 0; index <= values.length; index++) {
    if (index < values.length && values[index] === values[from]) continue;
    packed += letter(values[from]!) + (index - from > 1 ? (index - from).toString(36) : "");
    from = index;
  }
  return lines(packed);
}

function packPairs(levels: Uint8Array): string {
  let [packed, gap] = ["", 0];
  for (const level of levels) {
    if (level > 0) packed += (gap > 0 ? gap.toString(36) : "") + letter(level);
    gap = level > 0 ? 0 : gap + 1;
  }
  return lines(packed);
}

/** The tables that come from the vocabulary alone, packed. */
export function vocabularyTables(): { characters: string; pairs: string; runs: string } {
  setMergeCacheSize(0); // no text comes twice, and a cache that is full is slow
  try {
    const pairs = pairsOfVocabulary();
    return {
      characters: packCharacters(characterValues()),
      pairs: packPairs(pairLevels(pairs)),
      runs: packRuns(pairs),
    };
  } finally {
    setMergeCacheSize(DEFAULT_MERGE_CACHE_SIZE);
  }
}

/** What the fit goes by, with the weight of each text. */
function fittedSamples(): (samples.Sample & { weight: number })[] {
  const weighted = (weight: number, some: samples.Sample[]) =>
    some.map((sample) => ({ ...sample, weight }));
  return [
    ...weighted(250, samples.textSamples()),
    ...weighted(5, samples.languageSamples()),
    ...weighted(10, samples.proseSamples()),
    ...weighted(3, samples.proseSentences()),
    ...[1, 2].flatMap((seed) => [
      ...weighted(0.5, samples.letterSamples(seed)),
      ...weighted(0.5, samples.blockSamples(seed)),
      ...weighted(0.7, samples.notationSamples(seed)),
    ]),
    ...weighted(0.1, samples.runSamples()),
    ...weighted(0.05, samples.patternSamples(1, 1500)),
    ...weighted(0.3, samples.mixSamples(1, 300)),
  ];
}

/** What an error of the natural logarithm `error` costs the fit; beyond the bounds it costs much more. */
function penalty(error: number): number {
  const beyond = error < -0.4 ? error + 0.4 : error > 0.45 ? error - 0.45 : 0;
  return error * error + 30 * beyond * beyond;
}

/**
 * The least share of a character's tokens, whatever the samples say: what never merges in the
 * vocabulary is never nearly free, and nor is any long run of letters, as a token has an end.
 */
function minCost(context: number, level: number): number {
  if (level === PAIR_LEVELS) return 0.05; // a space
  const least = [0.9, 0.45, 0.3, 0.2, 0.1][level] ?? 0.03;
  return context % 3 === 2 ? Math.max(least, 0.2) : least;
}

/** Fits `COSTS` by coordinate descent. A count is linear in them. */
export function fitCosts(tables: ReturnType<typeof vocabularyTables>): number[] {
  const size = CONTEXTS * LEVELS;
  const fixed = unpackWeights({ ...tables, costs: new Array(size).fill(0) });
  const count = (text: string, weights: Weights) => {
    const counter = new TokenCounter(weights);
    counter.add(text);
    return counter.tokens;
  };
  const units = Array.from({ length: size }, (_, which) => ({
    ...fixed,
    ...costTables(Array.from({ length: size }, (_, index) => index === which ? 1 : 0)),
  }));
  const rows = fittedSamples().map(({ text, weight }) => {
    const base = count(text, fixed);
    const features = units.map((unit) => count(text, unit) - base);
    return { features, weight, base, tokens: o200k(text) };
  });
  const users = units.map((_, which) =>
    rows.flatMap((row, index) => row.features[which]! > 0 ? [index] : [])
  );
  const costs = units.map((_, index) =>
    Math.max(minCost(Math.floor(index / LEVELS), index % LEVELS), 1 - index % LEVELS / 12)
  );
  const counts = rows.map(({ features, base }) =>
    features.reduce((sum, feature, index) => sum + feature * costs[index]!, base)
  );
  /** Keeps neighbouring levels and contexts alike where the samples say little. */
  const roughness = (index: number) => {
    const [context, level] = [Math.floor(index / LEVELS), index % LEVELS];
    const to = (other: number) => (costs[index]! - costs[other]!) ** 2;
    return 0.3 *
        ((level > 0 && level < PAIR_LEVELS ? to(index - 1) : 0) +
          (level < PAIR_LEVELS - 1 ? to(index + 1) : 0)) +
      0.15 * ((context % 3 > 0 ? to(index - LEVELS) : 0) +
          (context % 3 < 2 ? to(index + LEVELS) : 0) +
          (context >= 3 ? to(index - 3 * LEVELS) : 0) +
          (context < 6 ? to(index + 3 * LEVELS) : 0));
  };
  const loss = (which: number, by: number) => {
    let sum = roughness(which);
    for (const index of users[which]!) {
      const { features, weight, tokens } = rows[index]!;
      sum += weight * penalty(Math.log((counts[index]! + features[which]! * by) / tokens));
    }
    return sum;
  };
  for (let step = 0.2; step > 0.002; step /= 2) {
    for (let round = 0, moved = true; moved && round < 200; round++) {
      moved = false;
      for (let which = 0; which < size; which++) {
        for (const direction of [step, -step]) {
          const old = costs[which]!;
          const cost = Math.min(
            1.3,
            Math.max(minCost(Math.floor(which / LEVELS), which % LEVELS), old + direction),
          );
          const before = loss(which, 0);
          costs[which] = cost;
          if (loss(which, cost - old) >= before - 1e-6) {
            costs[which] = old;
            continue;
          }
          for (const index of users[which]!) {
            counts[index]! += rows[index]!.features[which]! * (cost - old);
          }
          moved = true;
        }
      }
    }
  }
  return costs.map((cost) => Math.round(cost * 1000) / 1000);
}

/** @returns the count's ratio to o200k_base's. */
export function ratioOf(text: string): number {
  return countTokens(text) / o200k(text);
}

/** The seed of the random texts in the documentation, another one than those of the fit. */
const DOCUMENTED_SEED = 17;

/** @returns the tables of `docs/counting.md`. */
export function errorTables(): string {
  const table = (columns: readonly string[], rows: readonly (readonly string[])[]) =>
    [columns, columns.map((_, index) => index === 0 ? "---" : "--:"), ...rows]
      .map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  const row = ({ name, text }: samples.Sample) => [name, ratioOf(text).toFixed(2)];
  const held = samples.heldOutSamples();
  const prose = samples.proseSamples().map((sample, index) => [
    ...row(sample),
    row(held[index]!)[1]!,
  ]);
  const letters = samples.letterSamples(DOCUMENTED_SEED);
  const languages = samples.languageSamples().map((sample, index) => [
    ...row(sample),
    row(letters[index]!)[1]!,
  ]);
  const fixtures = samples.textSamples().map(row);
  return [
    "## Running prose\n",
    "Plain prose that the weights are fitted to, and other prose, held out.\n",
    table(["language", "fitted", "held out"], prose),
    "\n## Languages\n",
    "A short text, and words of random letters from that language's alphabet.\n",
    table(["language", "text", "random letters"], languages),
    "\n## Code, notations and adversarial text\n",
    table(["text", "ratio"], [...fixtures, ...samples.notationSamples(DOCUMENTED_SEED).map(row)]),
    "\n## Random characters by Unicode block\n",
    table(["block", "ratio"], samples.blockSamples(DOCUMENTED_SEED).map(row)),
  ].join("\n");
}

/** Writes `src/wire/tokens/weights.ts`. */
async function writeWeights(): Promise<void> {
  const tables = vocabularyTables();
  const costs = fitCosts(tables);
  const rows = Array.from(
    { length: CONTEXTS },
    (_, context) => "  " + costs.slice(context * LEVELS, (context + 1) * LEVELS).join(", ") + ",",
  );
  const file = new URL("../../../src/wire/tokens/weights.ts", import.meta.url);
  await Deno.writeTextFile(
    file,
    `// Generated from o200k_base by tests/wire/tokens/weights.ts: run \`deno task weights\`, do not edit.

/** Quarter tokens of single characters, packed: see \`unpackCharacters\`. */
export const CHARACTERS = \`${tables.characters}\`;

/** How readily pairs of characters merge, packed: see \`unpackPairs\`. */
export const PAIRS = \`${tables.pairs}\`;

/** Tokens of one character more in a run of it, packed: see \`unpackRuns\`. */
export const RUNS = \`${tables.runs}\`;

/** Share of a character's tokens that is left, a line for each context, by the level of its pair. */
// deno-fmt-ignore
export const COSTS: readonly number[] = [
${rows.join("\n")}
];
`,
  );
}

/** Writes the tables of `docs/counting.md`, as the weights that this process loaded count. */
async function writeTables(): Promise<void> {
  const page = new URL("../../../docs/counting.md", import.meta.url);
  const text = await Deno.readTextFile(page);
  const start = "<!-- deno-fmt-ignore-start -->\n";
  const end = "\n<!-- deno-fmt-ignore-end -->";
  const [head, tail] = [text.split(start)[0]!, text.split(end)[1]!];
  await Deno.writeTextFile(page, head + start + "\n" + errorTables() + "\n" + end + tail);
}

if (import.meta.main) {
  // the tables are written by a second run, which loads what the first one wrote
  if (Deno.args.includes("--tables")) await writeTables();
  else await writeWeights();
}
