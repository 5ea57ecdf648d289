import { jsonIn } from "../../../ground/platform/mod.ts";
import type { JsonObject } from "../json.ts";

/** The property of a custom tool's arguments that holds its input. */
export const INPUT_PROPERTY = "input";

/** The arguments of a function that stands for a custom tool. */
export const INPUT_SCHEMA: JsonObject = {
  type: "object",
  properties: {
    [INPUT_PROPERTY]: { type: "string", description: "The tool's whole input, as plain text." },
  },
  required: [INPUT_PROPERTY],
  additionalProperties: false,
};

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};
const SPACE = /\s/;
const HEX = /[0-9a-fA-F]/;

/** Where in the arguments the reader is. */
type Place =
  | "start"
  | "key or end"
  | "in key"
  | "colon"
  | "value"
  | "in other value"
  | "in input"
  | "after input"
  | "irregular";

/**
 * Takes the input of a custom tool out of the arguments of the function as which the tool was offered, `{"input": "…"}`, while
 * they come in. However they are cut, the same text comes out.
 *
 * Arguments that are no object with such a string are the input themselves, once they are complete. In the string anything goes
 * that a model may write: line breaks and unknown escapes stay as they are.
 */
export class CustomInput {
  #place: Place = "start";
  /** The arguments, until the input begins. */
  #raw = "";
  /** The key's text as it is written. */
  #key = "";
  #depth = 0;
  #inString = false;
  /** A backslash and what came after it, while the escape is incomplete. */
  #escape = "";

  /** Returns the part of the input that came with this piece. */
  add(piece: string): string {
    if (this.#place === "after input") return "";
    if (this.#place !== "in input") this.#raw += piece;
    let at = 0;
    while (at < piece.length && this.#place !== "in input") {
      if (this.#place === "irregular") return "";
      this.#step(piece[at++]!);
    }
    return at < piece.length || this.#place === "in input" ? this.#input(piece, at) : "";
  }

  /** Returns what is left of the input when the arguments are complete. */
  end(): string {
    return this.#raw;
  }

  /** Takes one character outside of the input. */
  #step(char: string): void {
    switch (this.#place) {
      case "start":
        if (!SPACE.test(char)) this.#place = char === "{" ? "key or end" : "irregular";
        break;
      case "key or end":
        if (char === '"') {
          this.#place = "in key";
          this.#key = "";
        } else if (char !== "," && !SPACE.test(char)) this.#place = "irregular";
        break;
      case "in key":
        if (char === '"' && this.#escape === "") this.#place = "colon";
        else {
          this.#escape = char === "\\" && this.#escape === "" ? char : "";
          this.#key += char;
        }
        break;
      case "colon":
        if (!SPACE.test(char)) this.#place = char === ":" ? "value" : "irregular";
        break;
      case "value":
        this.#beginValue(char);
        break;
      case "in other value":
        this.#skip(char);
    }
  }

  #beginValue(char: string): void {
    if (SPACE.test(char)) return;
    if (jsonIn(`"${this.#key}"`) === INPUT_PROPERTY) {
      this.#place = char === '"' ? "in input" : "irregular";
      if (char === '"') this.#raw = "";
      return;
    }
    this.#place = "in other value";
    this.#skip(char);
  }

  #skip(char: string): void {
    if (this.#inString) {
      if (this.#escape !== "") this.#escape = "";
      else if (char === "\\") this.#escape = char;
      else if (char === '"') this.#inString = false;
    } else if (char === '"') this.#inString = true;
    else if (char === "{" || char === "[") this.#depth++;
    else if ((char === "}" || char === "]") && this.#depth > 0) this.#depth--;
    else if (char === "}" || char === "]") this.#place = "irregular"; // the object ends without an input
    else if (char === "," && this.#depth === 0) this.#place = "key or end";
  }

  /** Unescapes the input from here to its end or the piece's. */
  #input(piece: string, from: number): string {
    let text = "";
    let at = from;
    while (at < piece.length) {
      if (this.#escape !== "") {
        const { done, taken } = this.#unescape(piece[at]!);
        text += done;
        at += taken;
        continue;
      }
      const begin = at;
      while (at < piece.length && piece[at] !== '"' && piece[at] !== "\\") at++;
      text += piece.slice(begin, at);
      if (at === piece.length) break;
      if (piece[at] === '"') {
        this.#place = "after input";
        return text;
      }
      this.#escape = "\\";
      at++;
    }
    return text;
  }

  /**
   * Takes one character of an escape.
   *
   * @returns The text that is complete with it, and whether the character belongs to it (1) or to what follows (0).
   */
  #unescape(char: string): { readonly done: string; readonly taken: 0 | 1 } {
    const begun = this.#escape;
    const isCode = begun.length > 1;
    if (isCode ? HEX.test(char) : char === "u") {
      this.#escape = begun + char;
      if (this.#escape.length < "\\uXXXX".length) return { done: "", taken: 1 };
      this.#escape = "";
      return { done: String.fromCharCode(parseInt(begun.slice(2) + char, 16)), taken: 1 };
    }
    this.#escape = "";
    if (isCode) return { done: begun, taken: 0 };
    return { done: ESCAPES[char] ?? begun + char, taken: 1 };
  }
}
