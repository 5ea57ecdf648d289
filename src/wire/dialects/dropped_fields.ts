import type { JsonObject } from "./json.ts";

/** Collects the names of a request's fields that a translation leaves out. */
export class DroppedFields {
  readonly #names = new Set<string>();

  /** The names, each once, in the order in which they were met. */
  get names(): string[] {
    return [...this.#names];
  }

  /** Adds a name. */
  add(name: string): void {
    this.#names.add(name);
  }

  /**
   * Adds every field of an object that says something and is not translated, as `document.citations`. What a translation
   * understands is listed, and not what it drops, so that a field which is new tomorrow is named, too.
   *
   * @param at What the object is; empty for the request itself.
   * @param understood Names of the fields that are translated.
   */
  addOthers(object: JsonObject, at: string, understood: readonly string[]): void {
    for (const [field, value] of Object.entries(object)) {
      const isEmpty = value === undefined || value === null ||
        Array.isArray(value) && value.length === 0;
      if (isEmpty || understood.includes(field)) continue;
      // the same anywhere: hints for caches, of which a conversation has many
      this.#names.add(at === "" || field === "cache_control" ? field : `${at}.${field}`);
    }
  }
}
