import { type JsonObject, objects, text } from "../json.ts";

/** What is put behind an id that was there before. */
const AGAIN = /_again\d+$/;

/**
 * Ids of an answer's tool calls, each its own in the whole conversation. Some upstreams number them anew in each
 * turn (`functions.Read:0`), and coding tools drop a call whose id they have seen before, with its result.
 */
export class CallIds {
  readonly #body: JsonObject;
  #used: Set<string> | undefined;
  readonly #counts = new Map<string, number>();

  /** @param body The request, whose history is looked through when the answer calls a tool. */
  constructor(body: JsonObject) {
    this.#body = body;
  }

  /** The id for one more call: as the upstream wrote it, unless that is taken. */
  own(id: string): string {
    this.#used ??= usedIn(this.#body);
    let own = id;
    let count = this.#counts.get(id) ?? 1;
    while (this.#used.has(own)) own = `${id}_again${++count}`;
    this.#counts.set(id, count);
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

/**
 * Ids of one turn's calls as their upstream wrote them: models that number their calls are confused by another
 * form. One that would then stand twice in the turn stays as it is.
 */
export function upstreamsIds(ids: readonly string[]): string[] {
  const own = new Set(ids);
  return ids.map((id) => {
    const theirs = id.replace(AGAIN, "");
    if (theirs === id || own.has(theirs)) return id;
    own.add(theirs);
    return theirs;
  });
}

/** Messages with the ids of their calls as the upstream wrote them; the same ones where they are. */
export function withUpstreamsIds(messages: readonly JsonObject[]): JsonObject[] {
  /** The ids of the last turn's calls that are written otherwise. */
  let changed: ReadonlyMap<string, string> = new Map();
  return messages.map((message) => {
    const blocks = objects(message.content);
    if (message.role === "assistant") {
      const ids = blocks.flatMap(({ type, id }) =>
        type === "tool_use" && typeof id === "string" ? [id] : []
      );
      const theirs = ids.some((id) => AGAIN.test(id)) ? upstreamsIds(ids) : ids;
      changed = new Map(ids.flatMap((id, at) => (theirs[at] === id ? [] : [[id, theirs[at]!]])));
    }
    return changed.size === 0 ? message : { ...message, content: blocks.map(renamed) };
  });

  function renamed(block: JsonObject): JsonObject {
    const field = FIELDS[text(block.type) ?? ""];
    const id = field === undefined ? undefined : changed.get(text(block[field]) ?? "");
    return id === undefined ? block : { ...block, [field!]: id };
  }
}

/** Where a block names a call. */
const FIELDS: Readonly<Record<string, string>> = { tool_use: "id", tool_result: "tool_use_id" };
