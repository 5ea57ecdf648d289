import { createHash } from "node:crypto";
import type { Tool } from "./conversation.ts";

/** Maximum length of a tool's name in the chat and responses dialects; the messages dialect allows 128 characters. */
const MAX_CHARS = 64;

/** A tool's name as chat and responses upstreams accept it; always the same for the same name, so that prompt caches hold. */
export function shortName(name: string): string {
  if (name.length <= MAX_CHARS) return name;
  const mark = `_${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
  return name.slice(0, MAX_CHARS - mark.length) + mark;
}

/** The tools whose names are shortened, by their short names; undefined when there are none. */
export function longNames(tools: readonly Tool[]): ReadonlyMap<string, string> | undefined {
  let long: Map<string, string> | undefined;
  for (const { name } of tools) {
    if (name.length > MAX_CHARS) (long ??= new Map()).set(shortName(name), name);
  }
  return long;
}
