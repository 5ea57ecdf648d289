/** One answer that is spread over several choices, as GitHub Copilot sends it: the text in one, the call in another (SecretiveShell/MCP-Bridge#48). */

import { isObject, type JsonObject, type JsonValue, text } from "../json.ts";
import { documentedFinish } from "../neutral/finish.ts";

/** Reasons to end, the later the more they say. */
const REASONS = ["stop", "tool_calls", "length", "content_filter"];

/** Of several choices, the one whose reason to end says most of why the answer ended; undefined if none has one. */
export function endingChoice(choices: readonly JsonObject[]): JsonObject | undefined {
  return choices.filter((one) => reasonOf(one) !== "")
    .toSorted((one, other) => weightOf(other) - weightOf(one))[0];
}

/** The documented reason that a choice ends for; empty for none. */
export function reasonOf({ finish_reason: reason }: JsonObject): string {
  return text(documentedFinish(reason)) ?? "";
}

function weightOf(choice: JsonObject): number {
  return REASONS.indexOf(reasonOf(choice));
}

/**
 * A chunk's choice with the index that it has for the client.
 *
 * @param choices Number of choices that the client asked for.
 */
export function ownIndex(choice: JsonObject, choices: number): JsonObject {
  const { index } = choice;
  return choices > 1 || index === 0 || typeof index !== "number" ? choice : { ...choice, index: 0 };
}

/**
 * The choices of a whole reply as the one choice that was asked for: texts and lists are joined, of anything else the first counts.
 *
 * @param choices At least one.
 */
export function asOneChoice(choices: readonly JsonObject[]): JsonObject {
  const [first, ...others] = choices as [JsonObject, ...JsonObject[]];
  const message: JsonObject = isObject(first.message) ? { ...first.message } : {};
  for (const { message: more } of others) {
    for (const [field, value] of Object.entries(isObject(more) ? more : {})) {
      message[field] = joined(field, message[field], value);
    }
  }
  const finish_reason = (endingChoice(choices) ?? first).finish_reason;
  return { ...first, index: 0, message, ...(finish_reason === undefined ? {} : { finish_reason }) };
}

function joined(
  field: string,
  before: JsonValue | undefined,
  value: JsonValue | undefined,
): JsonValue | undefined {
  if ((before ?? undefined) === undefined) return value;
  if (Array.isArray(before) && Array.isArray(value)) return [...before, ...value];
  const isText = typeof before === "string" && typeof value === "string" && field !== "role";
  return isText ? before + value : before;
}
