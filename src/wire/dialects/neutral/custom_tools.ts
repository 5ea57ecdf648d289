/** Tools of OpenAI's dialects that take one free text: every upstream is offered a function with one argument instead. */

import { countTokens } from "../../tokens/mod.ts";
import { type JsonObject, text } from "../json.ts";
import { INPUT_PROPERTY, INPUT_SCHEMA } from "./custom_input.ts";
import type { Tool } from "./conversation.ts";

/** Tokens that frame a function's definition in other dialects. */
export const TOKENS_PER_TOOL = 5;
/** Tokens of the sentence in front of a grammar. */
const PER_GRAMMAR = 8;
let inputSchema: number | undefined;

/** Tokens that a custom tool takes as a function, beyond its own definition. */
export function addedByCustom(hasFormat: boolean): number {
  inputSchema ??= countTokens(JSON.stringify(INPUT_SCHEMA));
  return TOKENS_PER_TOOL + inputSchema + (hasFormat ? PER_GRAMMAR : 0);
}

/**
 * The grammar of a custom tool's input, in words.
 *
 * @param grammar Its `syntax` and `definition`; undefined where any text is an input.
 */
export function grammarWords(grammar: JsonObject | undefined): string | undefined {
  if (grammar === undefined) return undefined;
  const syntax = text(grammar.syntax);
  const kind = syntax === undefined ? "" : `${syntax} `;
  return `The input must match this ${kind}grammar:\n${text(grammar.definition) ?? ""}`;
}

/** A custom tool as the function that stands for it. */
export function functionFor(
  { name, description, grammar }: {
    readonly name: string;
    readonly description: string | undefined;
    readonly grammar: JsonObject | undefined;
  },
): Tool {
  const texts = [description, grammarWords(grammar)].filter((one) =>
    one !== undefined && one !== ""
  );
  return {
    name,
    description: texts.length === 0 ? undefined : texts.join("\n\n"),
    schema: INPUT_SCHEMA,
    strict: undefined,
  };
}

/** The input of a call of a custom tool as the arguments of that function. */
export function argsOfInput(input: string): string {
  return JSON.stringify({ [INPUT_PROPERTY]: input });
}
