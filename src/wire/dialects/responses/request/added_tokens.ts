import { countTokens } from "../../../tokens/mod.ts";
import type { Turn } from "../../neutral/conversation.ts";
import { REQUEST } from "./compaction.ts";
import { addedByCustom, TOKENS_PER_TOOL } from "../../neutral/custom_tools.ts";
import type { OfferedTool, ToolNames } from "./tools.ts";

/** Tokens of a schema without properties. */
const EMPTY_SCHEMA = 11;
/** Tokens of the words in front of a call or a result, beyond what frames each item. */
const PER_LINE = 4;

let request: number | undefined;

/**
 * Tokens that tools take as functions of another dialect, beyond their own definitions: the schema of a custom tool's input, the
 * namespace in each name.
 */
export function addedByTools(tools: readonly OfferedTool[], names: ToolNames): number {
  let added = 0;
  for (const tool of tools) {
    const { kind, namespace, definition: { parameters, format } } = tool;
    if (namespace !== undefined) added += countTokens(names.of(tool));
    if (kind === "custom") {
      added += addedByCustom((format ?? undefined) !== undefined);
      continue;
    }
    added += TOKENS_PER_TOOL;
    if ((parameters ?? undefined) === undefined) added += EMPTY_SCHEMA;
  }
  return added;
}

/** Tokens of what a request for a summary says around a conversation's own texts: each result names its tool. */
export function addedBySummary(turns: readonly Turn[]): number {
  const names = new Map<string, number>();
  let added = request ??= countTokens(REQUEST);
  for (const turn of turns) {
    if (turn.role === "tool") added += PER_LINE + (names.get(turn.callId) ?? 0);
    if (turn.role !== "assistant") continue;
    for (const { id, name } of turn.calls) {
      added += PER_LINE;
      names.set(id, countTokens(name));
    }
  }
  return added;
}
