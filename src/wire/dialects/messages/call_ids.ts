import { entryOf, type JsonObject, objects, text } from "../json.ts";
import { type IdOrigin, legalId, UniqueCallIds, upstreamIds } from "../neutral/call_ids.ts";

/** The ids of a reply's calls, of which none is in the request's history. */
export function replyCallIds(body: JsonObject, origin: IdOrigin): UniqueCallIds {
  return new UniqueCallIds(origin, () => usedIn(body));
}

/** The id of a call to which its upstream gave none, by its place in the reply. */
export function madeCallId(replyId: string, place: number): string {
  return `toolu_${replyId.replace(/^msg_/, "")}_${place}`;
}

function usedIn({ messages }: JsonObject): string[] {
  return objects(messages).flatMap(({ content }) => objects(content).flatMap(idOfCall));
}

function idOfCall({ type, id }: JsonObject): string[] {
  return type === "tool_use" && typeof id === "string" ? [id] : [];
}

/**
 * Gives the ids of calls back to the upstream as it wrote them; those of others, or of the client's own, as the dialect
 * allows them. Unchanged messages are returned as they are.
 */
export function withUpstreamIds(messages: readonly JsonObject[]): JsonObject[] {
  /** The ids of the last message's calls that differ. */
  let changed: ReadonlyMap<string, string> = new Map();
  return messages.map((message) => {
    const blocks = objects(message.content);
    if (message.role === "assistant") {
      const ids = blocks.flatMap(idOfCall);
      const originals = upstreamIds(ids, "messages").map((original, at) =>
        original === ids[at] ? legalId(original) : original
      );
      changed = new Map(
        ids.flatMap((id, at) => (originals[at] === id ? [] : [[id, originals[at]!]])),
      );
    }
    // a content that is a text names no call
    return changed.size === 0 || !Array.isArray(message.content)
      ? message
      : { ...message, content: blocks.map(renamed) };
  });

  function renamed(block: JsonObject): JsonObject {
    const field = entryOf(FIELDS, text(block.type) ?? "");
    const id = field === undefined ? undefined : changed.get(text(block[field]) ?? "");
    return id === undefined ? block : { ...block, [field!]: id };
  }
}

/** Where a block names a call. */
const FIELDS: Readonly<Record<string, string>> = { tool_use: "id", tool_result: "tool_use_id" };
