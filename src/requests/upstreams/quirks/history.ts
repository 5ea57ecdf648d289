/** How upstreams of the chat dialect want to see what was said before, where it departs from the dialect. */

import { isObject, type JsonObject, objects, text } from "../../../wire/dialects/mod.ts";

/**
 * Earlier reasoning under both of its names. vLLM and Ollama write and read `reasoning`, older releases of
 * vLLM `reasoning_content`, which is what clients send back; the newer ones drop that without a word.
 *
 * Sources: vllm-project/vllm#38488; openrouter.ai/docs (reasoning tokens).
 */
export function withBothNames(body: JsonObject): JsonObject {
  return eachAnswer(body, (message) => {
    const reasoning = text(message.reasoning) || text(message.reasoning_content);
    return reasoning
      ? { ...message, reasoning, reasoning_content: text(message.reasoning_content) || reasoning }
      : message;
  });
}

/** Every turn that calls tools has its reasoning, an empty one if the client did not keep it. */
export function withReasonedCalls(body: JsonObject): JsonObject {
  return eachAnswer(
    body,
    (message) =>
      objects(message.tool_calls).length > 0 && text(message.reasoning_content) === undefined
        ? { ...message, reasoning_content: text(message.reasoning) ?? "" }
        : message,
  );
}

/**
 * An assistant's message at the end is continued, not answered.
 *
 * Source: docs.vllm.ai (chat API, extra parameters).
 */
export function withContinuation(body: JsonObject): JsonObject {
  const last = objects(body.messages).at(-1);
  const isBegun = last?.role === "assistant" && (text(last.content) ?? "").trim() !== "" &&
    objects(last.tool_calls).length === 0;
  const isSaid = body.continue_final_message ?? body.add_generation_prompt;
  if (!isBegun || isSaid !== undefined) return body;
  return { ...body, continue_final_message: true, add_generation_prompt: false };
}

function eachAnswer(body: JsonObject, change: (message: JsonObject) => JsonObject): JsonObject {
  if (!Array.isArray(body.messages)) return body;
  const messages = body.messages.map((message) =>
    isObject(message) && message.role === "assistant" ? change(message) : message
  );
  return { ...body, messages };
}
