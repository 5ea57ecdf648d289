import { jsonIn } from "../../platform/mod.ts";

/** PostgreSQL's texts cannot have U+0000: this noncharacter and a 0 stand for it there, and it and a 1 for itself. */
const MARK = "\ufdd0";

/** Escapes of JSON: of a whole surrogate pair, of one that lacks its other half, of U+0000, and any other. */
const ESCAPES = /\\ud[89ab]..\\ud[c-f]..|(\\ud[89a-f]..)|(\\u0000)|\\./gi;

/**
 * A text as PostgreSQL takes it. In JSON the escape `\u0000` becomes the same as the character elsewhere, so that a text is one whether
 * the database takes it out of JSON or is given it. So does half a surrogate pair: as UTF-8 it is the character U+FFFD.
 */
export function toPostgres(text: string): string {
  if (!/[\0\ufdd0]|\\u(?:0000|d[89a-f])/i.test(text)) return text;
  const marked = text.replace(/[\0\ufdd0]/g, (found) => `${MARK}${found === MARK ? 1 : 0}`);
  if (!isJson(marked)) return marked;
  return marked.replace(ESCAPES, (found, half?: string, nul?: string) => {
    if (half !== undefined) return "\ufffd";
    return nul === undefined ? found : `${MARK}0`;
  });
}

/** The text that {@linkcode toPostgres} was given. */
export function fromPostgres(text: string): string {
  if (!text.includes(MARK)) return text;
  const nul = isJson(text) ? "\\u0000" : "\0";
  return text.replace(/\ufdd0([01])/g, (_, which) => which === "0" ? nul : MARK);
}

/** Whether a text is an object or an array of JSON. */
function isJson(text: string): boolean {
  return /^[[{]/.test(text) && jsonIn(text) !== undefined;
}
