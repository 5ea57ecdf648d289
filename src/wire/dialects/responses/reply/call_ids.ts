import { type JsonObject, objects } from "../../json.ts";
import { clientId, shortId } from "../../neutral/call_ids.ts";

/**
 * Makes the ids of a reply's tool calls legal, and unique in the whole conversation: some upstreams start numbering again in each
 * reply (`functions.Read:0`).
 */
export class ResponsesCallIds {
  readonly #used = new Set<string>();
  /** How often the reply has had an id. */
  readonly #counts = new Map<string, number>();

  /** @param body The request, whose history is searched; it is not kept. */
  constructor({ input }: JsonObject) {
    for (const { call_id: id } of objects(input)) if (typeof id === "string") this.#used.add(id);
  }

  /** Returns the id for one more call: as the upstream wrote it, unless that is taken, too long or not legal. */
  unique(id: string): string {
    for (let count = (this.#counts.get(id) ?? 0) + 1;; count++) {
      const unique = shortId(clientId(id, { origin: "chat", count }));
      if (this.#used.has(unique)) continue;
      this.#used.add(unique);
      this.#counts.set(id, count);
      return unique;
    }
  }
}
