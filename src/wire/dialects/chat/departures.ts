/** What chat upstreams write in another way than the dialect documents: said in the documented way, the same object where nothing departs. */

import { isObject, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import type { ThinkTags } from "./think_tags.ts";

/**
 * A message or delta with its text in `content` and its reasoning in `reasoning_content`. Mistral's models send both as parts of the content
 * (docs.mistral.ai, reasoning), servers without a parser for reasoning leave it between tags in the text, and vLLM and OpenRouter call it
 * `reasoning` (vllm-project/vllm#27755), which stays beside it, GitHub Copilot `reasoning_text`, and servers near Ollama `thinking`.
 *
 * @param tags Takes reasoning out of the text, where an upstream is known to leave it there.
 */
export function withOwnReasoning(said: JsonObject, tags?: ThinkTags): JsonObject {
  const other = text(said.reasoning_content) ||
    text(said.reasoning) || text(said.reasoning_text) || text(said.thinking);
  const own = other && other !== said.reasoning_content
    ? { ...said, reasoning_content: other }
    : said;
  const parted = Array.isArray(own.content) ? fromParts(own, objects(own.content)) : own;
  const content = text(parted.content);
  if (tags === undefined || content === undefined) return parted;
  const taken = tags.take(content);
  if (taken.text === content && taken.reasoning === "") return parted;
  return { ...parted, content: taken.text, ...reasoned(parted, taken.reasoning) };
}

/** Parts that are text for clients: those of the responses dialect, and references of Mistral's, which have none. */
const TEXT_PARTS = new Set<JsonValue | undefined>(["text", "output_text", "reference", undefined]);

function fromParts(said: JsonObject, parts: readonly JsonObject[]): JsonObject {
  if (!parts.every(({ type }) => type === "thinking" || TEXT_PARTS.has(type))) return said;
  const reasoning = parts.map((part) => part.type === "thinking" ? textOf(part.thinking) : "");
  const content = parts.map((part) => part.type === "thinking" ? "" : text(part.text) ?? "").join(
    "",
  );
  return {
    ...said,
    content: content === "" ? null : content,
    ...reasoned(said, reasoning.join("")),
  };
}

function reasoned(said: JsonObject, reasoning: string): JsonObject {
  const all = (text(said.reasoning_content) ?? "") + reasoning;
  return all === "" ? {} : { reasoning_content: all };
}

/** A text, or the texts of parts. */
export function textOf(content: JsonValue | undefined): string {
  return text(content) ?? objects(content).map((part) => text(part.text) ?? "").join("");
}

/** What a completion, or a chunk of one, reports: in its own field, in Groq's, Gemini's or Bedrock's, or in a choice. */
export function usageIn(body: JsonObject, choice: JsonObject | undefined): readonly unknown[] {
  const groq = isObject(body.x_groq) ? body.x_groq.usage : undefined;
  return [
    body.usage,
    groq,
    choice?.usage,
    body.usageMetadata,
    body["amazon-bedrock-invocationMetrics"],
  ];
}
