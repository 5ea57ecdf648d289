import type { JsonObject, JsonValue } from "../../json.ts";
import { type Citation, writeCitation } from "../../neutral/conversation.ts";
import { fullLogprobs } from "../items.ts";
import { GrowingText } from "./growing_text.ts";
import type { ItemEnd, ItemLines, WrittenItem } from "./item_lines.ts";

/** How parts of each kind are named. */
const KINDS = {
  text: { field: "text", events: "response.output_text" },
  refusal: { field: "refusal", events: "response.refusal" },
} as const;

/** A message with one part: text, or words in which the model declines. */
export class MessageItem implements WrittenItem {
  readonly kind: keyof typeof KINDS;
  readonly #lines: ItemLines;
  readonly #text = new GrowingText();
  readonly #logprobs: JsonValue[] = [];
  readonly #annotations: JsonObject[] = [];

  constructor(lines: ItemLines, kind: keyof typeof KINDS) {
    this.#lines = lines;
    this.kind = kind;
  }

  open(): string {
    return this.#lines.added(this.#message("in_progress", [])) +
      this.#write("response.content_part.added", { part: this.#part("") });
  }

  /** @param given Probabilities of the piece's tokens. */
  add(piece: string, given: readonly JsonValue[] = []): string {
    const logprobs = fullLogprobs([...given]);
    for (const one of logprobs) this.#logprobs.push(one); // may be many
    return this.#delta(this.#text.add(piece), logprobs);
  }

  /** Cites a source for the text so far. */
  cite(citation: Citation): string {
    const annotation = { type: "url_citation", ...writeCitation(citation) };
    const annotation_index = this.#annotations.push(annotation) - 1;
    return this.#write("response.output_text.annotation.added", { annotation_index, annotation });
  }

  close(end: ItemEnd): string {
    const rest = this.#delta(this.#text.end(), []);
    const { text } = this.#text;
    const { field, events } = KINDS[this.kind];
    return rest +
      this.#write(`${events}.done`, { [field]: text, ...this.#probabilities(this.#logprobs) }) +
      this.#write("response.content_part.done", { part: this.#part(text) }) +
      this.#lines.done(this.object(end));
  }

  object(status: ItemEnd): JsonObject {
    return this.#message(status, [this.#part(this.#text.text)]);
  }

  #message(status: string, content: JsonObject[]): JsonObject {
    return { id: this.#lines.id, type: "message", status, role: "assistant", content };
  }

  #delta(delta: string, logprobs: readonly JsonValue[]): string {
    if (delta === "") return "";
    return this.#write(`${KINDS[this.kind].events}.delta`, {
      delta,
      ...this.#probabilities(logprobs),
    });
  }

  /** A refusal has none. */
  #probabilities(logprobs: readonly JsonValue[]): JsonObject {
    return this.kind === "text" ? { logprobs: [...logprobs] } : {};
  }

  #part(text: string): JsonObject {
    if (this.kind === "refusal") return { type: "refusal", refusal: text };
    return {
      type: "output_text",
      text,
      annotations: [...this.#annotations],
      logprobs: [...this.#logprobs],
    };
  }

  #write(type: string, fields: JsonObject): string {
    return this.#lines.write(type, { content_index: 0, ...fields });
  }
}
