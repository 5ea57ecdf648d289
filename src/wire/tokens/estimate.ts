import {
  ALWAYS,
  BMP,
  characterEntry,
  CLOSER,
  isBlank,
  NEXT_STATES,
  pairSlot,
  SPACE,
  STATE_BITS,
  UNIT,
  WEIGHTS,
  type Weights,
  WHOLE,
} from "./tables.ts";

/**
 * Scripts of which `o200k_base` knows hardly a word and other tokenizers do, Gemma's and Gemini's above all: Syriac and Thaana, Lao and Tibetan,
 * Ethiopic to Canadian Aboriginal, Mongolian.
 */
const FEWER: readonly (readonly [first: number, last: number])[] = [
  [0x700, 0x7bf],
  [0xe80, 0xfff],
  [0x1200, 0x167f],
  [0x1800, 0x18af],
];
const [FEWER_FIRST, FEWER_LAST] = [FEWER[0]![0], FEWER.at(-1)![1]];
/** Part of the tokens of such text that those may not need. */
const OVERCOUNT = 1 / 2;

/** UTF-16 units that are counted together. */
const MAX_PART = 1 << 10;

/** Shorter parts are counted unit by unit. */
const MIN_BYTES = 256;

/** A part in ASCII. */
const BYTES = new Uint8Array(MAX_PART);
const encoder = new TextEncoder();

/** Units after a pair that has to be looked at more closely, at first: others are likely to be near. */
const MIN_STRETCH = 8;

/**
 * Counts the tokens of a stream of text, without a tokenizer's vocabulary.
 *
 * Each character costs the tokens it takes on its own, minus what it saves by merging with the previous one. The
 * saving depends on how frequent tokens of o200k_base contain both characters, and on the length of the current token.
 * The count is within about 10 % of o200k_base for English prose and TypeScript, and 0.6 to 1.7 times it for text
 * in any script, random text included (`docs/counting.md`).
 *
 * Memory is constant, and the count does not depend on how the text is split.
 */
export class TokenCounter {
  readonly #weights: Weights;
  /** In `UNIT`s. */
  #count = 0;
  /** What of it is of scripts in `FEWER`. */
  #fewer = 0;
  #state = 0;
  /** The last code point and the one before it. */
  #last = 0;
  #beforeLast = 0;
  /** Length of a run of digits, modulo 3. */
  #digits = 0;
  /** A high surrogate that waits for its low one, or 0. */
  #high = 0;

  /** @param weights Other weights than the built-in ones, for `deno task weights`, which fits them. */
  constructor(weights: Weights = WEIGHTS) {
    this.#weights = weights;
  }

  /**
   * Adds a piece of text.
   *
   * @param text Any piece; it may begin or end within a surrogate pair.
   */
  add(text: string): void {
    // in parts whose counts fit into 32 bits, which V8 adds faster
    for (let start = 0; start < text.length; start += MAX_PART) {
      const end = Math.min(text.length, start + MAX_PART);
      if (end - start >= MIN_BYTES && isAscii(text, start, end)) this.#addBytes(text, start, end);
      else this.#add(text, start, end);
    }
  }

  /** Adds what `BYTES` holds, two characters at a time where no pair has to be looked at more closely. */
  #addBytes(text: string, start: number, end: number): void {
    const { ascii, steps } = this.#weights;
    const lastTwo = end - start - 2;
    let stretch = MIN_STRETCH;
    let at = 0;
    while (start + at < end) {
      const from = at;
      let count = 0;
      let state = this.#state;
      let last = this.#last;
      let before = this.#beforeLast < 128 && last < 128 ? ascii[this.#beforeLast << 7 | last]! : 0;
      for (; last < 128 && at <= lastTwo; at += 2) {
        const middle = BYTES[at]!;
        const code = BYTES[at + 1]!;
        const one = ascii[last << 7 | middle]!;
        const two = ascii[middle << 7 | code]!;
        const closer = one & (before << CLOSER | ALWAYS) | two & (one << CLOSER | ALWAYS);
        if (closer >= ALWAYS) break;
        const step = steps[state << 8 | (one & 15) << 4 | two & 15]!;
        count = count + (step >>> STATE_BITS) | 0;
        state = step & 31;
        last = code;
        before = two;
      }
      if (at > from) {
        this.#count += count;
        this.#state = state;
        this.#last = last;
        this.#beforeLast = BYTES[at - 2]!;
        this.#digits = 0;
        this.#high = 0;
      }
      stretch = at - from < stretch ? 2 * stretch : MIN_STRETCH;
      const closerEnd = Math.min(end, start + at + stretch);
      this.#add(text, start + at, closerEnd);
      at = closerEnd - start;
    }
  }

  #add(text: string, start: number, end: number): void {
    const { characters, pairs, runs, costs, ascii } = this.#weights;
    const nextStates = NEXT_STATES;
    let count = 0;
    let fewer = 0;
    let state = this.#state;
    let last = this.#last;
    let beforeLast = this.#beforeLast;
    let digits = this.#digits;
    let high = this.#high;
    text: for (let index = start; index < end; index++) {
      let code = text.charCodeAt(index);
      if ((code | last) < 128 && code !== last) {
        let pair = ascii[last << 7 | code]!;
        let before = pair < ALWAYS || beforeLast > 127 ? 0 : ascii[beforeLast << 7 | last]!;
        while ((pair & (before << CLOSER | ALWAYS)) < ALWAYS) {
          const entry = state << 4 | pair & 15;
          count = count + costs[entry]! * WHOLE | 0;
          state = nextStates[entry]!;
          digits = 0;
          high = 0;
          beforeLast = last;
          last = code;
          before = pair;
          if (++index === end) break text;
          code = text.charCodeAt(index);
          if (code > 127) break;
          pair = ascii[last << 7 | code]!;
        }
      }
      if (code >= 0xd800 && code <= 0xdfff) {
        if (code < 0xdc00) { // counted as a lone one until the other half arrives
          count = count + UNIT | 0;
          high = code;
          continue;
        }
        if (high === 0) {
          count = count + UNIT | 0;
          continue;
        }
        count = count - UNIT | 0;
        code = BMP + ((high & 0x3ff) << 10) + (code & 0x3ff);
      }
      high = 0;
      if (code <= 57) {
        if (code >= 48) { // digits are counted by threes
          if (last <= 32 && isBlank(last) && isBlank(beforeLast)) count = count + UNIT | 0;
          if (digits === 0) count = count + UNIT | 0;
          digits = digits === 2 ? 0 : digits + 1;
          state = 0;
          beforeLast = last;
          last = code;
          continue;
        }
      }
      digits = 0;
      if (code === last && code === beforeLast) {
        count = count + runs[code < BMP ? code : characterEntry(code)]! | 0;
        continue;
      }
      // the last one of several blanks is a token of its own, or begins the next word
      if (last <= 32 && code > 32 && isBlank(last) && isBlank(beforeLast)) count = count + UNIT | 0;
      const entry = state << 4 | (code === 32 ? SPACE : pairs[pairSlot(last, code)]!);
      const cost = costs[entry]! * characters[code < BMP ? code : characterEntry(code)]!;
      count = count + cost | 0;
      if (code <= FEWER_LAST && code >= FEWER_FIRST && isFewer(code)) fewer = fewer + cost | 0;
      state = nextStates[entry]!;
      beforeLast = last;
      last = code;
    }
    this.#count += count;
    this.#fewer += fewer;
    this.#state = state;
    this.#last = last;
    this.#beforeLast = beforeLast;
    this.#digits = digits;
    this.#high = high;
  }

  /** Tokens counted so far, rounded up. */
  get tokens(): number {
    return Math.ceil(this.#count / UNIT);
  }

  /** Tokens of them that a tokenizer may not need that knows the words of a script which `o200k_base` spells. */
  get overcounted(): number {
    return Math.floor(this.#fewer * OVERCOUNT / UNIT);
  }
}

function isFewer(code: number): boolean {
  return FEWER.some(([first, last]) => code >= first && code <= last);
}

/** Whether a part of a text is in ASCII; if so, `BYTES` holds it. */
function isAscii(text: string, start: number, end: number): boolean {
  if ((text.charCodeAt(start) | text.charCodeAt(end - 1)) > 127) return false; // most others end here
  const { read, written } = encoder.encodeInto(text.slice(start, end), BYTES);
  return read === end - start && written === read;
}

/**
 * Counts the tokens of a whole text.
 *
 * @returns The number of tokens, rounded up; see {@linkcode TokenCounter} for the accuracy.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { countTokens } from "./mod.ts";
 *
 * assertEquals(countTokens("How many tokens is this?"), 7);
 * ```
 */
export function countTokens(text: string): number {
  const counter = new TokenCounter();
  counter.add(text);
  return counter.tokens;
}
