import type { JsonObject } from "../../json.ts";
import type { EventLines } from "./event_lines.ts";

/** How an item ended: with the reply's last word on it, or because the reply was cut off there. */
export type ItemEnd = "completed" | "incomplete";

/** An item that is being written. */
export interface WrittenItem {
  /** The events that begin it. */
  open(): string;
  /** The events that end it. */
  close(end: ItemEnd): string;
  /** The item as it is now. */
  object(status: ItemEnd): JsonObject;
  /** The item as the gateway keeps it, where that is more than the client gets. */
  kept?(): JsonObject;
}

/** Writes the events of one item. */
export class ItemLines {
  readonly id: string;
  readonly #lines: EventLines;
  readonly #index: number;

  constructor(lines: EventLines, id: string, index: number) {
    this.#lines = lines;
    this.id = id;
    this.#index = index;
  }

  added(item: JsonObject): string {
    return this.#lines.write("response.output_item.added", { output_index: this.#index, item });
  }

  done(item: JsonObject): string {
    return this.#lines.write("response.output_item.done", { output_index: this.#index, item });
  }

  /** An event between the two. */
  write(type: string, fields: JsonObject): string {
    return this.#lines.write(type, { item_id: this.id, output_index: this.#index, ...fields });
  }
}
