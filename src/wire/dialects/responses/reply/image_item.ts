import type { JsonObject } from "../../json.ts";
import { calledImageFields } from "../../neutral/made_images.ts";
import type { ItemLines, WrittenItem } from "./item_lines.ts";

/** An image that the model made, as the call of a tool that makes images. It comes whole. */
export class ImageItem implements WrittenItem {
  readonly #lines: ItemLines;
  readonly #url: string;

  constructor(lines: ItemLines, url: string) {
    this.#lines = lines;
    this.#url = url;
  }

  open(): string {
    return this.#lines.added(this.#call("in_progress", { result: null }));
  }

  close(): string {
    return this.#lines.write("response.image_generation_call.completed", {}) +
      this.#lines.done(this.object());
  }

  object(): JsonObject {
    return this.#call("completed", calledImageFields(this.#url));
  }

  #call(status: string, fields: JsonObject): JsonObject {
    return { id: this.#lines.id, type: "image_generation_call", status, ...fields };
  }
}
