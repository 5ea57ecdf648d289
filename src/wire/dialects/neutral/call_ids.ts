/**
 * Ids of tool calls, legal in every dialect and reversible without any state. Upstreams write ids that not every dialect
 * allows (`functions.Read:0`), and models are confused by other ids than their own.
 */

import { createHash } from "node:crypto";

/** Maximum length of an id in OpenAI's dialects (developers.openai.com, chat API and Responses API). */
export const MAX_ID_CHARS = 64;

/** An id as OpenAI's dialects accept it: a longer one, or none, is replaced by a hash, the same for the same id. */
export function shortId(id: string): string {
  if (id !== "" && id.length <= MAX_ID_CHARS) return id;
  return `call_${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
}

/** What the messages dialect allows; the chat dialect allows any text. */
const LEGAL = /^[A-Za-z0-9_-]+$/;
/** Suffix of an id that occurred earlier in the conversation. */
const REPEATED = /_again\d+$/;

/** Begins an escaped id: whose it is. No id that begins like this is left as it is. */
const PREFIXES = { chat: "sl-", messages: "slm-", responses: "slr-", client: "slx-" } as const;
const ESCAPED = /^sl[mrx]?-/;
/** An escaped id: `_` is doubled, a character that is not legal is `_hex_`. It can be read in one way only. */
const READABLE = /^(sl[mrx]?-)((?:[A-Za-z0-9-]|__|_[0-9a-f]{1,4}_)*)(?:_again\d+)?$/;

/** The dialect of the upstream that wrote an id. */
export type IdOrigin = "chat" | "messages" | "responses";

/**
 * An upstream's id as any client may get it: as it is if that is legal, else escaped. Different ids and counts never
 * become the same id.
 *
 * @param count How often the conversation has had the id, this time included.
 */
export function clientId(
  id: string,
  { origin, count }: { origin: IdOrigin; count: number },
): string {
  const isPlain = LEGAL.test(id) && !ESCAPED.test(id) && !REPEATED.test(id);
  const own = isPlain ? id : escaped(id, PREFIXES[origin]);
  return count === 1 ? own : `${own}_again${count}`;
}

/**
 * The id that an upstream wrote.
 *
 * @param id As the client has it.
 * @param origin The dialect of the upstream that is sent to. What upstreams of the messages dialect did not write is left as
 *   it is, since they are strict.
 */
export function upstreamId(id: string, origin: IdOrigin): string {
  const [, prefix, body] = READABLE.exec(id) ?? [];
  if (prefix === undefined) return id.replace(REPEATED, "");
  // the writers of other dialects cannot tell whose of the two that allow any text it was
  const isOwn = origin !== "messages" && prefix !== PREFIXES.client || prefix === PREFIXES[origin];
  return isOwn ? unescaped(body!) : id;
}

/** Any id as an upstream of the messages dialect accepts it. Different ids never become the same. */
export function legalId(id: string): string {
  return LEGAL.test(id) && !id.startsWith(PREFIXES.client) ? id : escaped(id, PREFIXES.client);
}

/** By UTF-16 units, so that halves of characters come back as well. */
function escaped(id: string, prefix: string): string {
  return prefix +
    id.replace(
      /[^A-Za-z0-9-]/g,
      (unit) => unit === "_" ? "__" : `_${unit.charCodeAt(0).toString(16)}_`,
    );
}

function unescaped(body: string): string {
  return body.replace(
    /__|_([0-9a-f]{1,4})_/g,
    (_, hex?: string) => hex === undefined ? "_" : String.fromCharCode(parseInt(hex, 16)),
  );
}

/**
 * Makes the ids of a reply's tool calls legal, and unique in the whole conversation. Some upstreams start numbering again in each reply
 * (`functions.Read:0`), and coding tools drop a call whose id they have seen before, with its result.
 */
export class UniqueCallIds {
  readonly #origin: IdOrigin;
  readonly #taken: () => Iterable<string>;
  readonly #fit: (id: string) => string;
  #used: Set<string> | undefined;
  /** How often the reply has had an id. */
  readonly #counts = new Map<string, number>();

  /**
   * @param origin The dialect of the upstream that replies.
   * @param taken Returns the ids in the request's history; called when the reply calls a tool.
   * @param fit Shortens an id that is too long.
   */
  constructor(
    origin: IdOrigin,
    taken: () => Iterable<string>,
    fit: (id: string) => string = (id) => id,
  ) {
    this.#origin = origin;
    this.#taken = taken;
    this.#fit = fit;
  }

  /** Returns the id for one more call: as the upstream wrote it, unless that is taken, too long or not legal. */
  unique(id: string): string {
    this.#used ??= new Set(this.#taken());
    for (let count = (this.#counts.get(id) ?? 0) + 1;; count++) {
      const unique = this.#fit(clientId(id, { origin: this.#origin, count }));
      if (this.#used.has(unique)) continue;
      this.#used.add(unique);
      this.#counts.set(id, count);
      return unique;
    }
  }
}

/**
 * Restores the ids of one message's calls to what their upstream wrote. An id that would then occur twice in the message is
 * left as it is.
 *
 * @param origin The dialect of the upstream that is sent to.
 */
export function upstreamIds(ids: readonly string[], origin: IdOrigin): string[] {
  const used = new Set(ids);
  return ids.map((id) => {
    const original = upstreamId(id, origin);
    if (original === id || used.has(original)) return id;
    used.add(original);
    return original;
  });
}
