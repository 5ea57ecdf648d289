import { unpackCharacters, unpackPairs } from "./packed.ts";
import { CHARACTERS, COSTS, PAIRS, RUNS } from "./weights.ts";

/** Lookup tables of the counter, unpacked from `weights.ts`. */
export interface Weights {
  /** Quarter tokens of a lone character: of each of the BMP and emoji, of 16 others each. */
  readonly characters: Uint8Array;
  /** How readily two neighbours merge into one token, 0 to 15, by `pairSlot`. */
  readonly pairs: Uint8Array;
  /** `UNIT`s of each further character of a run of one, indexed like `characters`. */
  readonly runs: Uint16Array;
  /** Cost of a quarter token in `UNIT`s, by state and level: `state << 4 | level`. */
  readonly costs: Int32Array;
  /** What `characters` and `pairs` hold of two neighbours in ASCII, by `first << 7 | second`: see `asciiPairs`. */
  readonly ascii: Uint16Array;
  /** Cost of two whole tokens in `UNIT`s and the state after them, by state and two levels: see `twoSteps`. */
  readonly steps: Uint32Array;
}

/** Counts are integers in units of 1/1024 token, so that sums are exact. */
export const UNIT = 1024;

/** Levels of a pair. A larger number means a more readily merged pair; 0 is one that no token has. */
export const PAIR_LEVELS = 14;

/** The level of a space after any character: it merges with what follows. */
export const SPACE = PAIR_LEVELS;

/** Levels that the fit distinguishes. */
export const LEVELS = PAIR_LEVELS + 1;

/** Contexts of a pair that the fit distinguishes, see `contextOf`. */
export const CONTEXTS = 9;

/** Characters since the last likely token boundary that a state distinguishes. */
const MAX_DEPTH = 8;
const STATES = 3 * (MAX_DEPTH + 1);

/** Slots of `Weights.pairs`. */
export const PAIR_SLOTS = (1 << 14) + (1 << 16);

/** `RUNS` are in this part of a token. */
export const RUN_UNIT = 256;

/** The first code point beyond the BMP. */
export const BMP = 0x10000;

/** Each emoji has its own entry; other characters beyond the BMP share one entry per 16. */
const EMOJI = 0x1f000;
const EMOJI_END = 0x20000;
const OTHERS = BMP + EMOJI_END - EMOJI;

/** Number of entries of `Weights.characters`. */
export const CHARACTER_ENTRIES = OTHERS + (0x11_0000 - BMP >> 4);

/** @returns where `Weights.characters` holds the code point. */
export function characterEntry(code: number): number {
  if (code < BMP) return code;
  return code >= EMOJI && code < EMOJI_END ? BMP + code - EMOJI : OTHERS + (code - BMP >> 4);
}

/** @returns where `Weights.pairs` holds two neighbouring code points. Beyond ASCII some share a slot. */
export function pairSlot(first: number, second: number): number {
  if ((first | second) < 128) return first << 7 | second;
  return (1 << 14) + ((Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b)) >>> 16);
}

/**
 * The state after a character: how well it merged (0 to 2), and how many characters ago the last
 * token probably began.
 */
export const NEXT_STATES = Uint8Array.from({ length: STATES << 4 }, (_, index) => {
  const [state, level] = [index >> 4, index & 15];
  const depth = level <= 1 || level === SPACE
    ? 1
    : Math.min(MAX_DEPTH, state % (MAX_DEPTH + 1) + 1);
  return (level <= 5 || level === SPACE ? 0 : level <= 9 ? 1 : 2) * (MAX_DEPTH + 1) + depth;
});

/** The context that a state belongs to: how well the last pair merged, and three sizes of depth. */
function contextOf(state: number): number {
  const depth = state % (MAX_DEPTH + 1);
  return Math.floor(state / (MAX_DEPTH + 1)) * 3 + (depth < 3 ? 0 : depth < MAX_DEPTH ? 1 : 2);
}

/**
 * @param costs Tokens for each token of a lone character, by context and level.
 * @returns the table that `Weights.costs` is.
 */
function expandCosts(costs: ArrayLike<number>): Int32Array {
  return Int32Array.from({ length: STATES << 4 }, (_, index) => {
    const level = Math.min(SPACE, index & 15);
    return Math.round(costs[contextOf(index >> 4) * LEVELS + level]! * UNIT / 4);
  });
}

/** Quarter tokens of a whole one, which each character in ASCII is on its own. */
export const WHOLE = 4;

/** Bits of a pair in `Weights.ascii`; below them are 4 of its level. */
const SAME = 1 << 4;
const BLANKS = 1 << 5;
/** A pair has to be looked at more closely if it has the first of these, or another and the one before it the bit 5 lower. */
export const CLOSER = 5;
export const ALWAYS = 1 << 8;
const SAME_AGAIN = SAME << CLOSER;
const AFTER_BLANKS = BLANKS << CLOSER;

/** Two neighbours in ASCII at one look: most text is that, and nearly all of its pairs need no more. */
function asciiPairs(characters: Uint8Array, pairs: Uint8Array): Uint16Array {
  return Uint16Array.from({ length: 1 << 14 }, (_, index) => {
    const [first, second] = [index >> 7, index & 127];
    let pair = second === 32 ? SPACE : pairs[index]!;
    const isDigit = second >= 48 && second <= 57;
    if (isDigit || characters[second] !== WHOLE) pair |= ALWAYS;
    if (first === second) pair |= SAME | SAME_AGAIN;
    if (isBlank(first)) pair |= isBlank(second) ? BLANKS : second > 32 ? AFTER_BLANKS : 0;
    return pair;
  });
}

/** A step in `Weights.steps`: the state is in 5 bits below the costs. */
export const STATE_BITS = 5;

/** Two characters in one step, since each step has to wait for the state that the last one ends in. */
function twoSteps(costs: Int32Array): Uint32Array {
  return Uint32Array.from({ length: STATES << 8 }, (_, index) => {
    const first = index >> 4;
    const second = NEXT_STATES[first]! << 4 | index & 15;
    return (costs[first]! + costs[second]!) * WHOLE << STATE_BITS | NEXT_STATES[second]!;
  });
}

/** Unpacks `RUNS`: code points, each with its tokens in 1/256, in base 36. */
function unpackRuns(packed: string, characters: Uint8Array): Uint16Array {
  const runs = Uint16Array.from(characters, (quarters) => quarters * UNIT / 4);
  const numbers = packed.trim().split(/\s+/).filter(Boolean).map((entry) => parseInt(entry, 36));
  for (let index = 1; index < numbers.length; index += 2) {
    runs[characterEntry(numbers[index - 1]!)] = numbers[index]! * UNIT / RUN_UNIT;
  }
  return runs;
}

/** Unpacks weights as `weights.ts` holds them. */
export function unpackWeights(
  packed: { characters: string; pairs: string; runs: string; costs: ArrayLike<number> },
): Weights {
  const characters = unpackCharacters(packed.characters, CHARACTER_ENTRIES);
  const pairs = unpackPairs(packed.pairs, PAIR_SLOTS);
  return {
    characters,
    pairs,
    runs: unpackRuns(packed.runs, characters),
    ascii: asciiPairs(characters, pairs),
    ...costTables(packed.costs),
  };
}

/** The tables that follow from the costs, see {@linkcode expandCosts}. */
export function costTables(packed: ArrayLike<number>): Pick<Weights, "costs" | "steps"> {
  const costs = expandCosts(packed);
  return { costs, steps: twoSteps(costs) };
}

/** The built-in weights. */
export const WEIGHTS = unpackWeights({
  characters: CHARACTERS,
  pairs: PAIRS,
  runs: RUNS,
  costs: COSTS,
});

/** Whether a code point is a space or a tab. */
export function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}
