import type { Random } from "../fake/random.ts";

/** What all text is made of: each is one token with the space before it, so that words are tokens. */
const WORDS = ["river", "table", "seven", "green", "under", "paper", "music", "quick"];
const EACH_WORD = new RegExp(WORDS.join("|"), "g");

/** Random words, each with a space before it. */
export function randomWords(random: Random, count: number): string {
  let text = "";
  for (let at = 0; at < count; at++) text += ` ${random.pick(WORDS)}`;
  return text;
}

/** The numbers of runs in a text: of a request, its own is the last one. */
export function numbersIn(text: string): number[] {
  return [...text.matchAll(/#(\d+)#/g)].map(([, number]) => Number(number));
}

/** How many of the words are in a text. */
export function countWords(text: string): number {
  return text.match(EACH_WORD)?.length ?? 0;
}
