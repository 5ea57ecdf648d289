import { parseJson } from "../../json/mod.ts";
import { isObject, type JsonObject, type JsonValue, text } from "../json.ts";

/**
 * The input of a call as JSON, whatever form an upstream of the dialect gave it: an object, or JSON as a text.
 *
 * @returns `{}` for none.
 */
export function inputText(input: JsonValue | undefined): string {
  return isObject(input) ? JSON.stringify(input) : text(input)?.trim() || "{}";
}

/** A block of a whole message; the input of a call is an object. */
export function repairBlock(block: JsonObject): JsonObject {
  if (block.type !== "tool_use" || isObject(block.input)) return block;
  try {
    const input = parseJson(inputText(block.input));
    if (isObject(input)) return { ...block, input };
  } catch {
    // cut off, or no JSON
  }
  return { ...block, input: {} };
}

/** A message that calls tools ends with `tool_use`: agents stop at `end_turn`. */
export function repairedStop(reason: JsonValue | undefined, calls: boolean): JsonValue | undefined {
  return calls && reason === "end_turn" ? "tool_use" : reason;
}

/**
 * Repairs the events of calls: Claude Code and Anthropic's SDKs take the input of a call from its deltas alone, and some upstreams send it
 * with the start of the block.
 */
export class CallRepair {
  #calls = false;
  /** Input that came with the start of the open block, as long as no delta has come. */
  #input = "{}";

  /** Returns the events to send instead of one. */
  repair(event: JsonObject): JsonObject[] {
    const { type, index, content_block: block, delta } = event;
    if (type === "content_block_start") {
      const isCall = isObject(block) && block.type === "tool_use";
      this.#input = isCall ? inputText(block.input) : "{}";
      if (!isCall) return [event];
      this.#calls = true;
      return [{ ...event, content_block: { ...block, input: {} } }];
    }
    if (type === "content_block_delta" && isObject(delta) && text(delta.partial_json)) {
      this.#input = "{}";
    }
    if (type === "content_block_stop" && this.#input !== "{}") {
      const input = { type: "input_json_delta", partial_json: this.#input };
      this.#input = "{}";
      return [{ type: "content_block_delta", index: index ?? 0, delta: input }, event];
    }
    if (type !== "message_delta" || !isObject(delta)) return [event];
    const reason = repairedStop(delta.stop_reason, this.#calls);
    return reason === delta.stop_reason
      ? [event]
      : [{ ...event, delta: { ...delta, stop_reason: reason ?? null } }];
  }
}
