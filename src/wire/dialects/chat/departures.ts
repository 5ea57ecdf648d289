/** What chat upstreams write in another way than the dialect documents: said in the documented way, the same object where nothing departs. */

import { isObject, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import { inner, tokenCount } from "../usage.ts";
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

/** Where usage is reported beside the choices, and what there is to read of it. */
const REPORTS: readonly [string, (report: JsonObject) => readonly unknown[]][] = [
  // Cohere bills other numbers than its models read and write
  ["usage", (usage) => [usage, usage.billed_units, usage.tokens]],
  ["x_groq", ({ usage }) => [usage]],
  ["usageMetadata", (usage) => [usage]],
  ["amazon-bedrock-invocationMetrics", (usage) => [usage]],
  ["meta", ({ billed_units: billed, tokens }) => [billed, tokens]],
  ["timings", (timings) => [timed(timings)]],
];

/** What a completion, or a chunk of one, reports: beside its choices, or in a choice or its message. */
export function usageIn(body: JsonObject, choice: JsonObject | undefined): readonly unknown[] {
  const reports: unknown[] = [];
  for (const [name, read] of REPORTS) if (body[name]) reports.push(...read(inner(body, name)));
  const said = choice?.delta ?? choice?.message;
  if (choice?.usage) reports.push(choice.usage);
  if (isObject(said) && said.usage) reports.push(said.usage);
  return reports;
}

/** The timings of llama.cpp, whose servers send usage on demand only; those of the prompt leave out what was cached. */
function timed({ prompt_n: prompt, cache_n: cached, predicted_n: output }: JsonObject) {
  const read = tokenCount(prompt);
  if (read === undefined) return undefined;
  const known = tokenCount(cached) ?? 0;
  return {
    prompt_tokens: read + known,
    completion_tokens: output ?? null,
    prompt_tokens_details: { cached_tokens: known },
  };
}

/**
 * Gives the choices of a completion, or of a chunk of one, the places that the dialect documents, in the body itself: texts beside the
 * message (SillyTavern/SillyTavern#2122), calls as an object, and calls without `function` (acon96/home-llm#348).
 *
 * @param field Where the choices say something: `delta` in chunks.
 */
export function putInPlace(body: JsonObject, field: "message" | "delta"): void {
  for (const choice of objects(body.choices)) {
    if (typeof choice.text === "string") {
      const said = asObject(choice[field]);
      choice[field] = { ...said, content: textOf(said.content) || choice.text };
      delete choice.text;
    }
    for (const said of [choice.message, choice.delta]) {
      if (isObject(said) && said.tool_calls) putCallsInPlace(said);
    }
  }
}

function putCallsInPlace(said: JsonObject): void {
  const { tool_calls: calls } = said;
  if (isObject(calls)) {
    const isList = Object.keys(calls).every((key) => /^\d{1,9}$/.test(key));
    said.tool_calls = isList
      ? Object.entries(calls).map(([index, one]) => ({ index: Number(index), ...asObject(one) }))
      : [calls];
  }
  for (const call of objects(said.tool_calls)) {
    const { function: own, name, arguments: args } = call;
    if (own !== undefined || name === undefined && args === undefined || isOther(call)) continue;
    call.function = { ...(name === undefined ? {} : { name }), arguments: args ?? null };
    delete call.name;
    delete call.arguments;
  }
}

function asObject(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** Whether a call, or a piece of one, is of another kind than of a function. */
export function isOther({ type }: JsonObject): boolean {
  return typeof type === "string" && type !== "function" && type !== "";
}

/** The names of the functions that a request offers. */
export function offeredNames({ tools }: JsonObject): readonly string[] {
  return objects(tools).flatMap(({ function: own }) => isObject(own) ? text(own.name) ?? [] : []);
}
