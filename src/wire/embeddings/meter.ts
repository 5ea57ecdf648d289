import { meterInput } from "../dialects/mod.ts";
import { invalid, Refusal } from "../../ground/refusal.ts";
import { TokenCounter } from "../tokens/mod.ts";
import { MAX_INPUT_TOKENS } from "./endpoint.ts";
import type { EmbeddingsRequest, Input } from "./parse.ts";

/** Limits of the model that a request is for. */
export interface EmbeddingsLimits {
  /** Max tokens of each input. */
  readonly maxInput: number;
}

/** Characters that are counted before the limit is looked at. */
const PIECE_CHARS = 65_536;

/**
 * Counts the input tokens of a request: one for each token, texts as everywhere, and the text of unknown fields.
 *
 * @param limits Limits of the model.
 * @returns Tokens, of all inputs together.
 * @throws {Refusal} `context_exceeded` if one input is too long, `request_invalid` if all of them are together.
 */
export function meterEmbeddings(
  { body, model, inputs, isList }: EmbeddingsRequest,
  { maxInput }: EmbeddingsLimits,
): number {
  let total = 0;
  inputs.forEach((input, at) => {
    const tokens = tokensOf(input, MAX_INPUT_TOKENS);
    if (tokens > maxInput) {
      const param = isList ? `input[${at}]` : "input";
      throw new Refusal(
        "context_exceeded",
        `${param} is too long for the model '${model.slice(0, 100)}': ${
          told(tokens)
        } tokens > ${maxInput} maximum. Split it into shorter inputs.`,
        { param },
      );
    }
    total += tokens;
    if (total > MAX_INPUT_TOKENS) {
      const limit = MAX_INPUT_TOKENS.toLocaleString("en-US");
      throw invalid(
        "input",
        `input is too long: the limit is ${limit} tokens per request, over all inputs, and ` +
          `the first ${at + 1} have ${told(total)}. Send them in several requests.`,
      );
    }
  });
  return total + otherTokens(body);
}

/** Counts until there are more than `enough`. */
function tokensOf(input: Input, enough: number): number {
  if (typeof input !== "string") return input.tokens;
  const counter = new TokenCounter();
  for (let at = 0; at < input.length && counter.tokens <= enough; at += PIECE_CHARS) {
    counter.add(input.slice(at, at + PIECE_CHARS));
  }
  return counter.tokens;
}

/** A count that may have ended early. */
function told(tokens: number): string {
  return tokens > MAX_INPUT_TOKENS ? `more than ${MAX_INPUT_TOKENS}` : String(tokens);
}

/** What fields that are not known may add to the prompt. */
function otherTokens(body: EmbeddingsRequest["body"]): number {
  const { input: _, model: __, encoding_format: ___, dimensions: ____, ...others } = body;
  return Object.keys(others).length === 0 ? 0 : meterInput(others, []) - meterInput({}, []);
}
