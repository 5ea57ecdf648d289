import { TokenCounter } from "../tokens/mod.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/** Characters after which the count is looked at. */
const SLICE_CHARS = 16;

/** Output tokens that may still be delivered, by the gateway's own count. */
export class OutputBudget {
  readonly #counter = new TokenCounter();
  readonly #maxTokens: number;

  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens;
  }

  get #isSpent(): boolean {
    return this.#counter.tokens >= this.#maxTokens;
  }

  /** Takes as much of a text as fits. Returns it; empty once something did not fit. */
  take(text: string): string {
    let end = 0;
    while (end < text.length && !this.#isSpent) {
      this.#counter.add(text.slice(end, end + SLICE_CHARS));
      end += SLICE_CHARS;
    }
    if (end >= text.length) return text;
    const isHalf = /[\ud800-\udbff]$/.test(text.slice(0, end));
    return text.slice(0, isHalf ? end - 1 : end);
  }

  /** Takes a whole value, which cannot be cut. Returns whether it fits. */
  takeWhole(value: JsonValue): boolean {
    if (this.#isSpent) return false;
    this.#counter.add(JSON.stringify(value));
    return !this.#isSpent;
  }

  /** The fields of an object that fit: texts are cut, other values kept or dropped as a whole. */
  takeFields(object: JsonObject, isFree: (field: string) => boolean): JsonObject {
    const taken: JsonObject = {};
    for (const [field, value] of Object.entries(object)) {
      if (isFree(field) || value === null || value === undefined) taken[field] = value;
      else if (typeof value === "string") taken[field] = this.take(value);
      else if (this.takeWhole(value)) taken[field] = value;
    }
    return taken;
  }
}
