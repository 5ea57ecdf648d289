/** Longer text is not a number. */
const MAX_NUMBER_CHARS = 1_000;

/** What the text that has come so far ends in. */
type Place = "between" | "string" | "numbers";

/**
 * Takes the arrays of numbers out of a JSON text as it arrives, so that millions of numbers are neither parsed at once nor
 * kept as text. In the text remain arrays with the index of what was taken out: `{"embedding":[0.1,0.2]}` becomes
 * `{"embedding":[0]}`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { NumberArrays } from "./number_arrays.ts";
 *
 * const arrays = new NumberArrays();
 * for (const piece of ['{"a":[1,', '2.5],"b":["[7]"],"c":[3]}']) arrays.push(piece);
 * assertEquals(arrays.text, '{"a":[0],"b":["[7]"],"c":[1]}');
 * assertEquals(arrays.taken, [new Float64Array([1, 2.5]), new Float64Array([3])]);
 * ```
 */
export class NumberArrays {
  /** What was taken out. */
  readonly taken: Float64Array[] = [];
  /** Numbers so far. */
  count = 0;
  /** Characters that are kept so far. */
  keptChars = 0;
  readonly #kept: string[] = [];
  #place: Place = "between";
  /** Text that is looked at again when more has come. */
  #pending = "";
  /** Whether the next character of a string is escaped. */
  #isEscaped = false;
  #parts: number[][] = [];

  /** The text without them. To be read at the end. */
  get text(): string {
    if (this.#place === "numbers") throw new SyntaxError("The text ends in an array of numbers");
    this.#keep(this.#pending);
    this.#pending = "";
    return this.#kept.join("");
  }

  /**
   * Adds the next piece of the text.
   *
   * @throws {SyntaxError} If an array begins with a number and holds anything else.
   */
  push(piece: string): void {
    const text = this.#pending + piece;
    this.#pending = "";
    let at = 0;
    while (at < text.length) {
      if (this.#place === "between") at = this.#between(text, at);
      else if (this.#place === "string") at = this.#string(text, at);
      else at = this.#numbers(text, at);
    }
  }

  #between(text: string, from: number): number {
    STRING_OR_ARRAY.lastIndex = from;
    const found = STRING_OR_ARRAY.exec(text)?.index ?? text.length;
    if (text[found] === '"') {
      this.#keep(text.slice(from, found + 1));
      this.#place = "string";
      return found + 1;
    }
    this.#keep(text.slice(from, found));
    if (found === text.length) return found;
    INK.lastIndex = found + 1;
    const first = INK.exec(text);
    if (first === null) {
      this.#pending = "["; // white space after it says nothing
      return text.length;
    }
    if (/[-\d]/.test(first[0])) {
      this.#place = "numbers";
      return found + 1;
    }
    this.#keep("[");
    return found + 1;
  }

  #string(text: string, from: number): number {
    let at = from;
    if (this.#isEscaped) {
      this.#isEscaped = false;
      at++;
    }
    while (at < text.length) {
      QUOTE_OR_ESCAPE.lastIndex = at;
      const found = QUOTE_OR_ESCAPE.exec(text);
      if (found === null) break;
      if (found[0] === '"') {
        this.#place = "between";
        this.#keep(text.slice(from, found.index + 1));
        return found.index + 1;
      }
      at = found.index + 2;
    }
    this.#isEscaped = at > text.length;
    this.#keep(text.slice(from));
    return text.length;
  }

  #numbers(text: string, from: number): number {
    const end = text.indexOf("]", from);
    if (end < 0) {
      const last = text.lastIndexOf(",");
      if (last >= from) this.#take(text.slice(from, last));
      const rest = text.slice(Math.max(from, last + 1));
      // of white space only that there is some matters
      const trimmed = rest.trim();
      this.#pending = trimmed === "" || /\S$/.test(rest) ? trimmed : `${trimmed} `;
      if (this.#pending.length > MAX_NUMBER_CHARS) throw new SyntaxError("A number is too long");
      return text.length;
    }
    this.#take(text.slice(from, end));
    this.#keep(`[${this.taken.push(joined(this.#parts)) - 1}]`);
    this.#parts = [];
    this.#place = "between";
    return end + 1;
  }

  /** @param list Numbers with commas between them. */
  #take(list: string): void {
    const numbers: unknown[] = JSON.parse(`[${list}]`);
    if (numbers.length === 0 || !numbers.every((one) => typeof one === "number")) {
      throw new SyntaxError("An array of numbers holds anything else");
    }
    this.#parts.push(numbers);
    this.count += numbers.length;
  }

  #keep(text: string): void {
    if (text === "") return;
    this.#kept.push(text);
    this.keptChars += text.length;
  }
}

const STRING_OR_ARRAY = /["[]/g;
const QUOTE_OR_ESCAPE = /["\\]/g;
const INK = /\S/g;

function joined(parts: readonly (readonly number[])[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
