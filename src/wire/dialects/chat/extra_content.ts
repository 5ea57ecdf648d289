import { parseJson } from "../../json/mod.ts";
import { isObject, type JsonObject } from "../json.ts";
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

/** What was sealed with a message, and with its calls by their numbers. */
export function extrasIn(
  sealed: readonly SealedReasoning[],
): { readonly message: JsonObject; readonly calls: ReadonlyMap<number, JsonObject> } {
  let message: JsonObject = {};
  const calls = new Map<number, JsonObject>();
  for (const { seal } of sealed) {
    const value = seal.startsWith(PREFIX) ? parseJson(seal.slice(PREFIX.length)) : undefined;
    if (!isObject(value) || !isObject(value.extra)) continue;
    const own = { extra_content: value.extra };
    if (typeof value.call === "number") calls.set(value.call, own);
    else message = own;
  }
  return { message, calls };
}
