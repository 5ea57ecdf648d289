import { isObject, type JsonObject, objects, text } from "../json.ts";

/** What is put behind an id that was there before. */
const AGAIN = /_again\d+$/;

/**
 * Ids of an answer's tool calls, each its own in the whole conversation. Some upstreams number them anew in each
 * turn (`functions.Read:0`), and coding tools drop a call whose id they have seen before, with its result.
 */
export class CallIds {
  readonly #body: JsonObject;
  #used: Set<string> | undefined;

  /** @param body The request, whose history is looked through when the answer calls a tool. */
  constructor(body: JsonObject) {
    this.#body = body;
  }

  /** The id for one more call: as the upstream wrote it, unless that is taken. */
  own(id: string): string {
    this.#used ??= usedIn(this.#body);
    let own = id;
    for (let count = 2; this.#used.has(own); count++) own = `${id}_again${count}`;
    this.#used.add(own);
    return own;
  }
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

/** An id as its upstream wrote it: models that number their calls are confused by another form. */
export function upstreamsId(id: string): string {
  return id.replace(AGAIN, "");
}

/** A message with its ids as the upstream wrote them; the same message when they are. */
export function withUpstreamsIds(message: JsonObject): JsonObject {
  if (!Array.isArray(message.content)) return message;
  let changed = false;
  const content = message.content.map((block) => {
    if (!isObject(block)) return block;
    const field = block.type === "tool_use"
      ? "id"
      : block.type === "tool_result"
      ? "tool_use_id"
      : "";
    const id = text(block[field]);
    if (id === undefined || !AGAIN.test(id)) return block;
    changed = true;
    return { ...block, [field]: upstreamsId(id) };
  });
  return changed ? { ...message, content } : message;
}
