import type { JsonObject } from "../json.ts";
import { GrowingText } from "./growing_text.ts";
import type { ItemEnd, ItemLines, WrittenItem } from "./item_lines.ts";

/** A message with one part of text. */
export class MessageItem implements WrittenItem {
  readonly #lines: ItemLines;
  readonly #text = new GrowingText();

  constructor(lines: ItemLines) {
    this.#lines = lines;
  }

  open(): string {
    return this.#lines.added(this.#message("in_progress", [])) +
      this.#write("response.content_part.added", { part: partOf("") });
  }

  add(piece: string): string {
    return this.#delta(this.#text.add(piece));
  }

  close(end: ItemEnd): string {
    const rest = this.#delta(this.#text.end());
    const { text } = this.#text;
    return rest +
      this.#write("response.output_text.done", { text, logprobs: [] }) +
      this.#write("response.content_part.done", { part: partOf(text) }) +
      this.#lines.done(this.object(end));
  }

  object(status: ItemEnd): JsonObject {
    return this.#message(status, [partOf(this.#text.text)]);
  }

  #message(status: string, content: JsonObject[]): JsonObject {
    return { id: this.#lines.id, type: "message", status, role: "assistant", content };
  }

  #delta(delta: string): string {
    return delta === "" ? "" : this.#write("response.output_text.delta", { delta, logprobs: [] });
  }

  #write(type: string, fields: JsonObject): string {
    return this.#lines.write(type, { content_index: 0, ...fields });
  }
}

function partOf(text: string): JsonObject {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}
