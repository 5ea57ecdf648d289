import { createHash } from "node:crypto";
import type { Tool } from "./conversation.ts";

/** Maximum length of a tool's name in the chat and responses dialects. */
const MAX_CHARS = 64;
/** The same in the messages dialect. */
export const MAX_CHARS_OF_MESSAGES = 128;
/** What names consist of in every dialect (platform.openai.com, docs.anthropic.com). */
const ILLEGAL = /[^A-Za-z0-9_-]/g;

/** A tool's name as upstreams accept it; always the same for the same name, so that prompt caches hold. */
export function legalName(name: string, maxChars: number = MAX_CHARS): string {
  if (name.search(ILLEGAL) < 0 && name.length <= maxChars) return name;
  return markedName(name, name, maxChars);
}

/** A legal name that is shortened where it is too long, with a mark of what it stands for. */
export function markedName(name: string, key: string, maxChars: number = MAX_CHARS): string {
  const mark = `_${createHash("sha256").update(key).digest("hex").slice(0, 8)}`;
  return name.slice(0, maxChars - mark.length).replace(ILLEGAL, "_") + mark;
}

/** The tools whose names are changed, by their legal names; undefined when there are none. */
export function changedNames(
  tools: readonly Tool[],
  maxChars: number = MAX_CHARS,
): ReadonlyMap<string, string> | undefined {
  let changed: Map<string, string> | undefined;
  for (const { name } of tools) {
    const legal = legalName(name, maxChars);
    if (legal !== name) (changed ??= new Map()).set(legal, name);
  }
  return changed;
}
