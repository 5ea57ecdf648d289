import { createHash } from "node:crypto";
import { type JsonValue, objects, text } from "../json.ts";

/** Characters of a tool's name in the chat dialect; the messages dialect takes 128. */
const MOST_CHARS = 64;

/** A tool's name as chat upstreams take it; the same for the same name, so that prompt caches hold. */
export function shortName(name: string): string {
  if (name.length <= MOST_CHARS) return name;
  const mark = `_${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
  return name.slice(0, MOST_CHARS - mark.length) + mark;
}

/** The tools on offer whose names were shortened, by their short names; undefined when there are none. */
export function longNames(tools: JsonValue | undefined): ReadonlyMap<string, string> | undefined {
  let long: Map<string, string> | undefined;
  for (const { name } of objects(tools)) {
    const own = text(name) ?? "";
    if (own.length > MOST_CHARS) (long ??= new Map()).set(shortName(own), own);
  }
  return long;
}
