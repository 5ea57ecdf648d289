import { entryOf, isObject, type JsonObject } from "./json.ts";
import { kindsIn, tokenCount } from "./usage.ts";
import type { UsageReport } from "./usage_reports.ts";

type Part =
  | "prompt"
  | "input"
  | "output"
  | "total"
  | "cached"
  | "read"
  | "written"
  | "made"
  | "reasoning"
  | "tools";

/**
 * What numbers of a report are called, as `wordOf` spells them: in OpenAI's two dialects, Anthropic's and Gemini's (`promptTokenCount`), by
 * Bedrock (`inputTokenCount`), the AI SDK (`promptTokens`), DeepSeek, Moonshot, LiteLLM and other relays.
 */
const PARTS: Readonly<Record<string, Part>> = {
  prompttoken: "prompt",
  inputtoken: "input",
  completiontoken: "output",
  outputtoken: "output",
  candidatestoken: "output",
  totaltoken: "total",
  cachedtoken: "cached",
  cachereadtoken: "cached",
  cachedinputtoken: "cached",
  cachedprompttoken: "cached",
  cachedcontenttoken: "cached",
  promptcachehittoken: "cached",
  cachereadinputtoken: "read",
  cachewritetoken: "written",
  cachecreationtoken: "written",
  cachewriteinputtoken: "made",
  cachecreationinputtoken: "made",
  reasoningtoken: "reasoning",
  thinkingtoken: "reasoning",
  thoughtstoken: "reasoning",
  tooluseprompttoken: "tools",
};

/** What parts are in objects of details, of a whole that contains them: `prompt_tokens_details`, `output_tokens_details` and others. */
const DETAILS: Partial<Record<Part, Part>> = {
  cached: "cached",
  read: "cached",
  written: "written",
  made: "written",
  reasoning: "reasoning",
};

/** What names stand for, as far as they were seen: reports have the same ones again and again. */
const SEEN = new Map<string, Part | undefined>();
/** Of names that a server makes up. */
const MAX_SEEN = 500;
const MAX_SEEN_CHARS = 64;

function partOf(name: string): Part | undefined {
  if (SEEN.has(name)) return SEEN.get(name);
  const part = entryOf(PARTS, wordOf(name));
  if (SEEN.size < MAX_SEEN && name.length <= MAX_SEEN_CHARS) SEEN.set(name, part);
  return part;
}

/** A name without case, underscores, `Count` and plural. */
function wordOf(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, "").replace(/count$/, "").replace(/s$/, "");
}

/**
 * What an upstream of any dialect reports, input, output or both, under whatever names; of several names for one number the
 * largest counts. Cached input adds to the input where Anthropic's names say so and no other number contradicts, else it is part of it.
 *
 * @param hasTotal Whether a total of the report can be believed to contain what was cached.
 * @returns undefined for a value that reports neither.
 */
export function readUsage(value: unknown, hasTotal = true): UsageReport | undefined {
  if (!isObject(value)) return undefined;
  const { input, total, cached, read, written, made, reasoning, tools = 0, ...parts } = partsOf(
    value,
  );
  // Gemini counts what its own tools put into a prompt beside the prompt, and names no number that is zero
  const prompt = parts.prompt === undefined ? undefined : parts.prompt + tools;
  const output = parts.output ?? (reasoning === undefined ? undefined : 0);
  const besides = (read ?? 0) + (made ?? 0);
  const isEmpty = read === undefined && made === undefined;
  const whole = prompt ?? input ?? (isEmpty ? undefined : 0);
  if (whole === undefined && output === undefined) return undefined;
  const inputTokens = whole === undefined ? undefined : Math.max(whole, input ?? 0);
  const isBeside = prompt === undefined && !(hasTotal && total === whole! + (output ?? 0));
  return {
    ...kindsIn(value),
    inputTokens: inputTokens !== undefined && (isBeside || besides > inputTokens)
      ? inputTokens + besides
      : inputTokens,
    cachedTokens: largest(cached, read),
    cacheWrittenTokens: largest(written, made),
    outputTokens: output,
    reasoningTokens: reasoning,
    totalTokens: hasTotal ? total : undefined,
  };
}

function partsOf(value: JsonObject): Partial<Record<Part, number | undefined>> {
  const parts: Partial<Record<Part, number | undefined>> = {};
  const add = (part: Part | undefined, said: unknown) => {
    if (part !== undefined) parts[part] = largest(parts[part], tokenCount(said));
  };
  for (const name in value) {
    const said = value[name];
    if (!isObject(said)) add(partOf(name), said);
    else if (/details$/i.test(name)) {
      for (const inner in said) {
        const part = partOf(inner);
        add(part && DETAILS[part], said[inner]);
      }
    }
  }
  return parts;
}

function largest(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.max(one, other);
}
