import { isBase64 } from "./encoded_text.ts";
import { isObject, type JsonObject, text } from "./json.ts";
import type { Meter } from "./meter.ts";

/** Whether a piece of a chat response shows reasoning. */
export function saysReasoning(delta: JsonObject): boolean {
  return text(delta.reasoning_content) || text(delta.reasoning) ? true : false;
}

/** Fields of a chat response that its choices are not in. */
const CHAT_ENVELOPE = new Set(["id", "object", "created", "model", "choices", "usage"]);

/** Counts what a chat response says beside its choices. Returns whether it says anything. */
export function meterBeside(meter: Meter, response: JsonObject): boolean {
  let any = false;
  for (const key in response) {
    const value = response[key];
    // obfuscation pads events to the same length
    if (CHAT_ENVELOPE.has(key) || key === "obfuscation") continue;
    if (value !== undefined && value !== null) any = meter.addBeside(key, value) || any;
  }
  return any;
}

/** Counts what a choice of a chat response says: a delta or a whole message. Returns whether it says anything. */
export function meterChoice(meter: Meter, choice: JsonObject): boolean {
  // probabilities of tokens that are counted as text
  const { logprobs: _, ...said } = choice;
  return meter.addTexts(said);
}

/** Counts what an event of a messages response says. Returns whether it says anything. */
export function meterEvent(meter: Meter, event: JsonObject): boolean {
  const { delta, message } = event;
  // a signature seals what was said before it
  if (
    isObject(delta) && delta.type === "signature_delta" && isBase64(text(delta.signature) ?? "")
  ) {
    return false;
  }
  if (event.type !== "message_start" || !isObject(message)) return meter.addTexts(event);
  const { id: _id, model: _model, ...said } = message;
  return meter.addTexts({ ...event, message: said });
}
