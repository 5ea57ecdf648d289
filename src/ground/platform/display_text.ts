/**
 * Characters that make a text show as something else than it is, on a page or in a terminal: controls, and
 * what is invisible or turns the direction of the text around it (Unicode Technical Report 36, 2.10). Joiners
 * are legal inside of words, where scripts and emoji need them.
 */
const MISLEADING =
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]|(?<![\p{L}\p{M}\p{Extended_Pictographic}\u{1f3fb}-\u{1f3ff}\ufe0f])[\u200c\u200d]|[\u200c\u200d](?![\p{L}\p{M}\p{Extended_Pictographic}])/gu;

/** Why a name or a note is rejected; undefined when it is not. */
export function misleading(text: string): string | undefined {
  return text.search(MISLEADING) < 0
    ? undefined
    : "must not contain control, bidirectional or zero-width characters";
}

/**
 * A text with misleading characters spelt out, for names that are in a database already.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { displayed } from "./display_text.ts";
 *
 * assertEquals(displayed("ad\u202emin"), "ad\\u202emin");
 * ```
 */
export function displayed(text: string): string {
  return text.replace(
    MISLEADING,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Colours of {@linkcode displayedLines}: they can hide nothing. */
// deno-lint-ignore no-control-regex -- colours begin with one
const COLOUR = /(\u001b\[3[1239]m)/;

/**
 * Lines for a terminal with misleading characters spelt out; line breaks and colours stay. JSON stays the same value.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { displayedLines } from "./display_text.ts";
 *
 * assertEquals(displayedLines("one\ntwo\u001b[2J"), "one\ntwo\\u001b[2J");
 * ```
 */
export function displayedLines(text: string): string {
  if (misleading(text.replaceAll("\n", "")) === undefined) return text;
  return text.split("\n").map((line) =>
    line.split(COLOUR).map((part, at) => at % 2 === 1 ? part : displayed(part)).join("")
  ).join("\n");
}
