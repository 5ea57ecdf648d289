/** Characters of a name that are kept. */
const MAX_NAME_CHARS = 100;
/** Characters of all names together: clients reject header lines that are much longer. */
const MAX_CHARS = 1_900;

/**
 * Names that a caller chose, as a header and a record may hold them: each once, percent-encoded where it is
 * not plain ASCII, the first ones where there are too many.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { plainNames } from "./plain_names.ts";
 *
 * assertEquals(plainNames(["seed", "ключ"]), ["seed", "%D0%BA%D0%BB%D1%8E%D1%87"]);
 * ```
 */
export function plainNames(names: readonly string[]): string[] {
  const kept: string[] = [];
  if (names.length === 0) return kept;
  let chars = 0;
  for (const name of new Set(names)) {
    const plain = encodeURI(name.slice(0, MAX_NAME_CHARS).toWellFormed());
    chars += plain.length + 2;
    if (chars > MAX_CHARS) return [...kept, "..."];
    kept.push(plain);
  }
  return kept;
}
