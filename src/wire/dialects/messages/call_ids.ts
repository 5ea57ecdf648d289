import { entryOf, type JsonObject, objects, text } from "../json.ts";
import { clientId, type IdOrigin, legalId, upstreamIds } from "../neutral/call_ids.ts";

/**
 * Makes the ids of a reply's tool calls legal in this dialect, and unique in the whole conversation. Some upstreams start numbering again in each
 * reply (`functions.Read:0`), and coding tools drop a call whose id they have seen before, with its result.
 */
export class MessagesCallIds {
  readonly #body: JsonObject;
  readonly #origin: IdOrigin;
  #used: Set<string> | undefined;
  readonly #counts = new Map<string, number>();

  /**
   * @param body The request, whose history is searched when the reply calls a tool.
   * @param origin The dialect of the upstream that replies.
   */
  constructor(body: JsonObject, origin: IdOrigin) {
    this.#body = body;
    this.#origin = origin;
  }

  /** Returns the id for one more call: as the upstream wrote it, unless that is taken or not legal. */
  unique(id: string): string {
    this.#used ??= usedIn(this.#body);
    let count = this.#counts.get(id) ?? 1;
    let unique = clientId(id, { origin: this.#origin, count });
    while (this.#used.has(unique)) {
      unique = clientId(id, { origin: this.#origin, count: ++count });
    }
    this.#counts.set(id, count);
    this.#used.add(unique);
    return unique;
  }
}

/** The id of a call to which its upstream gave none, by its place in the reply. */
export function madeCallId(replyId: string, place: number): string {
  return `toolu_${replyId.replace(/^msg_/, "")}_${place}`;
}

function usedIn({ messages }: JsonObject): Set<string> {
  const used = new Set<string>();
  for (const { content } of objects(messages)) {
    for (const { type, id } of objects(content)) {
      if (type === "tool_use" && typeof id === "string") used.add(id);
    }
  }
  return used;
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
      const ids = blocks.flatMap(({ type, id }) =>
        type === "tool_use" && typeof id === "string" ? [id] : []
      );
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
