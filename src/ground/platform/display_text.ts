/** Flags that Unicode recommends, whose tags cannot be seen apart from them: England, Scotland, Wales. */
const FLAGS =
  /\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}/gu;

/**
 * Characters that make a text show as something else than it is, on a page or in a terminal: controls, half characters, and
 * what is invisible or turns the direction of the text around it (Unicode Technical Report 36, 2.10; UAX 44,
 * Default_Ignorable_Code_Point). Joiners are legal inside of words, where scripts and emoji need them, and one variation
 * selector is behind what it varies.
 */
const MISLEADING =
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb\p{Surrogate}]|(?![\u200c\u200d\u180b-\u180d\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}])\p{Default_Ignorable_Code_Point}|(?<![\p{L}\p{M}\p{Extended_Pictographic}\u{1f3fb}-\u{1f3ff}\ufe0f])[\u200c\u200d]|[\u200c\u200d](?![\p{L}\p{M}\p{Extended_Pictographic}])|(?<!(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{N}\p{P}\p{S}])[\u180b-\u180d\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;

const FLAG_OR_MISLEADING = new RegExp(`${FLAGS.source}|${MISLEADING.source}`, "gu");

/** Why a name or a note is rejected; undefined when it is not. */
export function misleading(text: string): string | undefined {
  return text.replaceAll(FLAGS, "\u{1f3f4}").search(MISLEADING) < 0
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
  return text.replaceAll(
    FLAG_OR_MISLEADING,
    (found) => found.length > 2 ? found : found.split("").map(spelt).join(""),
  );
}

/** A UTF-16 code unit as JSON escapes it. */
function spelt(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
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
  if (misleading(text.replaceAll("\n", " ")) === undefined) return text;
  return text.split("\n").map((line) =>
    line.split(COLOUR).map((part, at) => at % 2 === 1 ? part : displayed(part)).join("")
  ).join("\n");
}
