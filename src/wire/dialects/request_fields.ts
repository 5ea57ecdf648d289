import { isObject, type JsonObject, type JsonValue, objects, text } from "./json.ts";

/**
 * An object of a request as a translation reads it. What says something and was not read is named as dropped, so that a field
 * which is new tomorrow is named, too. An object that nobody looks into counts as read.
 */
export class RequestFields {
  /** As it came: what is read of it here counts as dropped. */
  readonly object: JsonObject;
  readonly #at: string;
  readonly #read: string[] = [];
  /** What else of it is dropped. */
  readonly #missed: string[] = [];
  #isDropped = false;
  /** It and what is inside, in the order in which they were opened. */
  readonly #all: RequestFields[];

  /** @param at What the object is, as in `tools.x`; empty for the request itself. */
  constructor(object: JsonObject, at = "", all: RequestFields[] = []) {
    this.object = object;
    this.#at = at;
    this.#all = all;
    all.push(this);
  }

  /** Its kind; empty if it has none. */
  get type(): string {
    return this.text("type") ?? "";
  }

  get(name: string): JsonValue | undefined {
    return this.use(name, this.object[name]);
  }

  text(name: string): string | undefined {
    return this.use(name, text(this.object[name]));
  }

  number(name: string): number | undefined {
    const value = this.object[name];
    return this.use(name, typeof value === "number" ? value : undefined);
  }

  boolean(name: string): boolean | undefined {
    const value = this.object[name];
    return this.use(name, typeof value === "boolean" ? value : undefined);
  }

  /** @param at What the object is, if not what this one is. */
  inner(name: string, at = this.#at): RequestFields | undefined {
    const value = this.object[name];
    return this.use(name, isObject(value) ? new RequestFields(value, at, this.#all) : undefined);
  }

  /** @param at What the objects of a list are, if not what their own types say. */
  list(
    name: string,
    at: (one: JsonObject) => string = ({ type }) => text(type) ?? "",
  ): RequestFields[] {
    if (Array.isArray(this.object[name])) this.#read.push(name);
    return objects(this.object[name]).map((one) => new RequestFields(one, at(one), this.#all));
  }

  /** The same where a text stands for a list of one. */
  textOrList(
    name: string,
    at?: (one: JsonObject) => string,
    make = (text: string): JsonObject => ({ type: "text", text }),
  ): RequestFields[] {
    const own = this.text(name);
    return own === undefined ? this.list(name, at) : [new RequestFields(make(own))];
  }

  /** What was read of a field: the field is named if that is nothing. */
  use<T>(name: string, value: T | undefined): T | undefined {
    if (value !== undefined) this.#read.push(name);
    return value;
  }

  /** Takes fields as read that nobody misses. */
  ignore(...names: readonly string[]): void {
    this.#read.push(...names);
  }

  /** Names something else that is dropped. */
  miss(name: string): void {
    this.#missed.push(name);
  }

  /** Leaves out the whole object under one name, or silently. */
  drop(name?: string): void {
    this.#isDropped = true;
    if (name !== undefined) this.miss(name);
  }

  /** Names of what was not read of it and what is inside, each once. */
  get dropped(): string[] {
    return [...new Set(this.#all.flatMap((one) => one.#names()))];
  }

  #names(): string[] {
    const unread = this.#isDropped
      ? []
      : Object.keys(this.object).filter((field) =>
        !this.#read.includes(field) && !isEmpty(this.object[field])
      );
    // the same anywhere: hints for caches, of which a conversation has many
    const isPlain = (field: string) => this.#at === "" || field === "cache_control";
    return [
      ...unread.map((field) => isPlain(field) ? field : `${this.#at}.${field}`),
      ...this.#missed,
    ];
  }
}

function isEmpty(value: JsonValue | undefined): boolean {
  return (value ?? undefined) === undefined || Array.isArray(value) && value.length === 0;
}

/** Ids of end users are this long at most in other dialects. */
const MAX_USER_CHARS = 256;

/** The ids of the end user in a request of OpenAI's dialects, as far as others accept them. */
export function readUserIds(body: RequestFields) {
  const read = (name: string) => {
    const id = text(body.object[name]) ?? "";
    return body.use(name, id === "" || id.length > MAX_USER_CHARS ? undefined : id);
  };
  return { user: read("user"), safetyId: read("safety_identifier") };
}
