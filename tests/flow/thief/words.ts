import { encode } from "gpt-tokenizer/encoding/o200k_base";
import type { Random } from "../../fake/random.ts";

/** What all text in a run of the thief is made of, so that it is recognised in any field. */
const WORDS = ["river", "table", "seven", "green", "under", "paper", "music", "quick", "zebra"];
const EACH_WORD = new RegExp(WORDS.join("|"), "g");

/** Random words. */
export function randomWords(random: Random, count: number): string {
  return Array.from({ length: count }, () => random.pick(WORDS)).join(" ");
}

/** How many of the words are in a text. */
export function countWords(text: string): number {
  return (text.match(EACH_WORD) ?? []).length;
}

/** Tokens, by o200k, of the words in a text. */
export function countTokens(text: string): number {
  return encode((text.match(EACH_WORD) ?? []).join(" ")).length;
}
