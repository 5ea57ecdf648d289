/** Marks for prompt caches. Providers such as Anthropic cache nothing without them, and charge a tenth for what they find. */

import { isObject, type JsonObject, type JsonValue, text } from "../json.ts";
import type { CacheMark, Conversation, Markable } from "./conversation.ts";

export type { CacheMark };

/**
 * Fields of blocks, parts, messages, tools and requests that mark where a prompt cache may end: Anthropic's, which OpenRouter and others take in
 * the chat dialect as well, and OpenAI's.
 */
export const CACHE_MARKS = ["cache_control", "prompt_cache_breakpoint"];

/** Anthropic's service rejects a request with more (docs.anthropic.com, prompt caching). */
const MAX_MARKS = 4;

/** Whether a dropped field of this name is a mark: `cache_control`, `text.prompt_cache_breakpoint`. */
export function isMarkName(name: string): boolean {
  return CACHE_MARKS.includes(name.slice(name.lastIndexOf(".") + 1));
}

/** The mark of the first object that has one, to be spread into what is read from it. */
export function markOf(...marked: readonly (JsonValue | undefined)[]): Markable {
  for (const one of marked) {
    if (!isObject(one)) continue;
    for (const field of CACHE_MARKS) {
      const mark = one[field];
      if (!isObject(mark)) continue;
      const ttl = text(mark.ttl);
      return { cached: ttl === "5m" || ttl === "1h" ? { ttl } : {} };
    }
  }
  return {};
}

/** A mark as `cache_control`, to be spread into the block that it ends. */
export function writeMark(mark: CacheMark | undefined): JsonObject {
  return mark === undefined ? {} : { cache_control: { type: "ephemeral", ...mark } };
}

/** A list whose last element has the mark too. */
export function markLast<T extends object>(list: readonly T[], { cached }: Markable): T[] {
  const last = list.at(-1);
  return cached === undefined || last === undefined
    ? [...list]
    : [...list.slice(0, -1), { ...last, cached }];
}

/** The mark of a list: the last one in it. */
export function lastMark(list: readonly object[]): Markable {
  return list.findLast((one: Markable) => one.cached !== undefined) ?? {};
}

/** A piece of the instructions. */
export interface MarkedText extends Markable {
  readonly text: string;
}

/**
 * Joins the instructions of a request.
 *
 * @param messages The pieces of each message, which nothing separates; messages are separated by an empty line.
 */
export function joinInstructions(
  messages: readonly (readonly MarkedText[])[],
): Pick<Conversation, "instructions" | "instructionMarks"> {
  let instructions = "";
  const marks: { end: number; mark: CacheMark }[] = [];
  for (const message of messages) {
    const pieces = message.filter(({ text }) => text !== "");
    if (pieces.length > 0 && instructions !== "") instructions += "\n\n";
    for (const { text, cached } of pieces) {
      instructions += text;
      if (cached !== undefined) marks.push({ end: instructions.length, mark: cached });
    }
  }
  return { instructions, ...(marks.length === 0 ? {} : { instructionMarks: marks }) };
}

/**
 * The instructions in pieces that end at their marks.
 *
 * @param more Instructions to be appended, without a mark.
 */
export function splitInstructions(
  { instructions, instructionMarks = [] }: Conversation,
  more: readonly string[] = [],
): MarkedText[] {
  const pieces: MarkedText[] = [];
  let start = 0;
  for (const { end, mark } of instructionMarks) {
    pieces.push({ text: instructions.slice(start, end), cached: mark });
    start = end;
  }
  const rest = [instructions.slice(start), ...more].filter((one) => one !== "").join("\n\n");
  return [...pieces, { text: rest }].filter(({ text }) => text.trim() !== "");
}

/** Whether a client has marked anything. */
export function hasMarks(
  { cached, instructionMarks = [], tools, turns }: Conversation,
): boolean {
  const has = (one: object) => (one as Markable).cached !== undefined;
  return cached !== undefined || instructionMarks.length > 0 || tools.some(has) ||
    turns.some((turn) => has(turn) || "parts" in turn && turn.parts.some(has));
}

/** Marks the ends of the instructions and of the conversation, where the next turn finds them again. */
export function markEnds(conversation: Conversation): Conversation {
  const { instructions, tools, turns } = conversation;
  const cached = {};
  const last = turns.at(-1);
  const ends = last?.role === "user"
    ? [...turns.slice(0, -1), { ...last, parts: markLast(last.parts, { cached }) }]
    : markLast(turns, { cached });
  const end = instructions.length;
  return {
    ...conversation,
    ...(end > 0
      ? { instructionMarks: [{ end, mark: cached }] }
      : { tools: markLast(tools, { cached }) }),
    turns: ends,
  };
}

/** Takes all marks but the last ones out of blocks in the order of a prompt, as each covers what the ones before it cover. */
export function limitMarks(body: JsonObject, blocks: readonly JsonObject[]): void {
  const marked = blocks.filter((block) => block.cache_control !== undefined);
  const most = body.cache_control === undefined ? MAX_MARKS : MAX_MARKS - 1;
  for (const block of marked.slice(0, Math.max(0, marked.length - most))) {
    delete block.cache_control;
  }
}
