import { parseJson } from "../../json/mod.ts";
import { isObject, type JsonObject, objects, text } from "../json.ts";
import type { ReplyEvent, SealedReasoning } from "../neutral/conversation.ts";

/** Begins the seal of what an upstream wants back with a message or a call of it. */
const PREFIX = "extra_content.";

/**
 * What an upstream wants back beside a message, or a call of it, as a seal. Gemini's models sign their thoughts there, and reject results of
 * calls whose signature is missing (ai.google.dev, thought signatures).
 *
 * @param said A delta or a call of one.
 * @param call The number of the call in its message; undefined for the message itself.
 */
export function sealOf(said: JsonObject, call: number | undefined): ReplyEvent[] {
  const { extra_content: extra } = said;
  if (!isObject(extra) || Object.keys(extra).length === 0) return [];
  return [{ type: "seal", seal: PREFIX + JSON.stringify({ call, extra }), isOfCall: true }];
}

/** Begins the seal of a message's `reasoning_details`. */
const DETAILS = "reasoning_details.";
/** Fields of a detail that come piece by piece. */
const GROWING = ["text", "summary", "data", "signature"];

/**
 * Collects OpenRouter's `reasoning_details`, which it wants back unchanged with the message, in their order: they hold the signatures of
 * Claude's and Gemini's thoughts and what OpenAI encrypted (openrouter.ai/docs, reasoning tokens).
 */
export class ReasoningDetails {
  #details: JsonObject[] = [];
  /** By type and index. */
  readonly #known = new Map<string, JsonObject>();

  /** All since the last seal, each whole. */
  get all(): readonly JsonObject[] {
    return this.#details;
  }

  /** Takes the pieces of a delta, or all of a message. */
  add(said: JsonObject): void {
    for (const piece of objects(said.reasoning_details)) {
      const place = piece.index === undefined ? undefined : `${piece.type} ${piece.index}`;
      const known = place === undefined ? undefined : this.#known.get(place);
      if (known === undefined) {
        const detail = { ...piece };
        this.#details.push(detail);
        if (place !== undefined) this.#known.set(place, detail);
      } else {
        for (const [name, value] of Object.entries(piece)) {
          const before = GROWING.includes(name) ? text(known[name]) : undefined;
          known[name] = before === undefined ? value : before + (text(value) ?? "");
        }
      }
    }
  }

  /** What came since the last seal, once any of it is signed or encrypted. */
  seal(isOfCall: boolean): ReplyEvent[] {
    const details = this.#details;
    if (!details.some(({ signature, data }) => text(signature) || text(data))) return [];
    this.#details = [];
    this.#known.clear();
    return [{ type: "seal", seal: DETAILS + JSON.stringify(details), isOfCall }];
  }
}

/** What was sealed with a message, and with its calls by their numbers. */
export function extrasIn(
  sealed: readonly SealedReasoning[],
): { readonly message: JsonObject; readonly calls: ReadonlyMap<number, JsonObject> } {
  let message: JsonObject = {};
  const calls = new Map<number, JsonObject>();
  const details: JsonObject[] = [];
  for (const { seal } of sealed) {
    if (seal.startsWith(DETAILS)) details.push(...objects(parseJson(seal.slice(DETAILS.length))));
    const value = seal.startsWith(PREFIX) ? parseJson(seal.slice(PREFIX.length)) : undefined;
    if (!isObject(value) || !isObject(value.extra)) continue;
    const own = { extra_content: value.extra };
    if (typeof value.call === "number") calls.set(value.call, own);
    else message = own;
  }
  return {
    message: details.length === 0 ? message : { ...message, reasoning_details: details },
    calls,
  };
}
