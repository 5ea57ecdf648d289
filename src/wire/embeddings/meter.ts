import { meterInput, meterInTurns } from "../dialects/mod.ts";
import { endOfTurn } from "../../ground/platform/mod.ts";
import { invalid, Refusal } from "../../ground/refusal.ts";
import { TokenCounter } from "../tokens/mod.ts";
import { MAX_INPUT_TOKENS } from "./endpoint.ts";
import type { EmbeddingsRequest } from "./parse.ts";

/** Limits of the model that a request is for. */
export interface EmbeddingsLimits {
  /** Max tokens of each input. */
  readonly maxInput: number;
}

/** Characters that are counted before the limit is looked at, and before others have a turn: 1 to 4 ms. */
const PIECE_CHARS = 65_536;
const TURN_CHARS = 262_144;

/**
 * Counts the input tokens of a request: one for each token, texts as everywhere, and the text of unknown fields. With turns of the event
 * loop in between: a body of megabytes must not hold up the requests of others.
 *
 * @param limits Limits of the model.
 * @returns Tokens, of all inputs together.
 * @throws {Refusal} `context_exceeded` if one input is too long, `request_invalid` if all of them are together.
 */
export async function meterEmbeddings(
  { body, model, inputs, isList }: EmbeddingsRequest,
  { maxInput }: EmbeddingsLimits,
): Promise<number> {
  const counting = new Counting();
  let total = 0;
  for (const [at, input] of inputs.entries()) {
    const tokens = typeof input === "string"
      ? await counting.tokensOf(input, MAX_INPUT_TOKENS)
      : input.tokens;
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
  }
  return total + await otherTokens(body);
}

/** Counts the texts of one request. */
class Counting {
  #chars = 0;

  /** Counts until there are more than `enough`. */
  async tokensOf(text: string, enough: number): Promise<number> {
    const counter = new TokenCounter();
    for (let at = 0; at < text.length && counter.tokens <= enough; at += PIECE_CHARS) {
      const piece = text.slice(at, at + PIECE_CHARS);
      counter.add(piece);
      this.#chars += piece.length;
      if (this.#chars < TURN_CHARS) continue;
      this.#chars = 0;
      await endOfTurn();
    }
    return counter.tokens;
  }
}

/** A count that may have ended early. */
function told(tokens: number): string {
  return tokens > MAX_INPUT_TOKENS ? `more than ${MAX_INPUT_TOKENS}` : String(tokens);
}

/** What fields that are not known may add to the prompt. */
async function otherTokens(body: EmbeddingsRequest["body"]): Promise<number> {
  const { input: _, model: __, encoding_format: ___, dimensions: ____, ...others } = body;
  return Object.keys(others).length === 0
    ? 0
    : (await meterInTurns(others, [])).tokens - meterInput({}, []);
}
