import { eTag, ifNoneMatch, STATUS_CODE } from "../std/mod.ts";

/** Tags are compared in time that grows with the square of a run of spaces: a longer header names none. */
const MAX_TAGS_CHARS = 1_024;

/** A response body that clients may keep: it is sent again only if it has changed (RFC 9110, section 13). */
export class Entity {
  readonly #body: string;
  readonly #type: string;
  readonly #tag: string;

  private constructor(body: string, type: string, tag: string) {
    this.#body = body;
    this.#type = type;
    this.#tag = tag;
  }

  /** @param type The body's media type. */
  static async of(body: string, type: string): Promise<Entity> {
    return new Entity(body, type, await eTag(body));
  }

  static ofJson(value: unknown): Promise<Entity> {
    return Entity.of(JSON.stringify(value), "application/json");
  }

  /**
   * Responds with the body, or with 304 and without it if `If-None-Match` names its tag.
   *
   * @param headers What either response carries, `cache-control` among it.
   */
  respond(request: Request, headers: Readonly<Record<string, string>>): Response {
    const tags = request.headers.get("if-none-match");
    const own = { ...headers, etag: this.#tag };
    if (tags !== null && tags.length <= MAX_TAGS_CHARS && !ifNoneMatch(tags, this.#tag)) {
      return new Response(null, { status: STATUS_CODE.NotModified, headers: own });
    }
    return new Response(this.#body, { headers: { ...own, "content-type": this.#type } });
  }
}
