/** Characters that mean something in a pattern of SQLite's GLOB (https://sqlite.org/lang_expr.html#like). */
const SPECIAL = /[*?[]/;

/**
 * Returns the pattern, for `isLike()`, of texts that contain another in any case. Functions of SQLite know only the case of ASCII.
 *
 * @param text Up to some hundred characters.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { containing } from "./search_pattern.ts";
 *
 * assertEquals(containing("É*1"), "*[Éé][*]1*");
 * ```
 */
export function containing(text: string): string {
  const parts = Array.from(text, (character) => {
    // of a letter whose other case has two, such as ß, only this one
    const cases = new Set([character, character.toLowerCase(), character.toUpperCase()]
      .filter((one) => [...one].length === 1));
    return cases.size > 1 || SPECIAL.test(character) ? `[${[...cases].join("")}]` : character;
  });
  return `*${parts.join("")}*`;
}
