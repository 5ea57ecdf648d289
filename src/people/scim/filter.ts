import { withoutCore } from "./attributes.ts";
import { ScimError, type ScimType } from "./error.ts";

/** A comparison for equality, the only one that directories ask for to find what they sent. */
export interface Term {
  /** Name of the attribute in lower case: `username`, `members.value`. */
  readonly attribute: string;
  readonly value: string | number | boolean | null;
}

const MAX_CHARS = 2_000;
const TERM =
  /\s*([A-Za-z$][\w$.:-]*)\s+([A-Za-z]+)\s+("(?:[^"\\]|\\.)*"|[\w.+-]+)\s*(?:$|and(?=\s))/iy;

/**
 * Parses a filter (RFC 7644, section 3.4.2.2): `userName eq "ada"`, and several of them with `and`.
 *
 * @param fault The kind of error if it is invalid, which within a path is another.
 * @throws {ScimError} If it has another operator, or is not a filter.
 */
export function parseFilter(text: string, fault: ScimType = "invalidFilter"): Term[] {
  const terms: Term[] = [];
  const invalid = () =>
    new ScimError(
      fault,
      `Invalid filter ${
        JSON.stringify(text.slice(0, 200))
      }: use comparisons such as userName eq "ada", and "and".`,
    );
  if (text.length > MAX_CHARS) throw invalid();
  TERM.lastIndex = 0;
  for (let at = 0; at < text.length; at = TERM.lastIndex) {
    TERM.lastIndex = at;
    const [, attribute, operator, literal] = TERM.exec(text) ?? [];
    if (operator?.toLowerCase() !== "eq") throw invalid();
    try {
      const value = JSON.parse(literal!.startsWith('"') ? literal! : literal!.toLowerCase());
      terms.push({ attribute: withoutCore(attribute!).toLowerCase(), value });
    } catch {
      throw invalid();
    }
  }
  // a filter that ends with "and" lacks a term
  if (terms.length === 0 || /\sand\s*$/i.test(text)) throw invalid();
  return terms;
}
