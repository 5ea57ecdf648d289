import { wellFormedJson } from "../../../../ground/platform/mod.ts";
import type { JsonObject } from "../../json.ts";
import { type ResponseEcho, responseObject } from "./response_object.ts";

/**
 * Writes the events of one stream, each whole and with its number: from 0, without gaps. Whatever is written first, the stream
 * begins with `response.created`.
 */
export class EventLines {
  readonly #echo: ResponseEcho;
  #next = 0;
  #isMuted = false;

  constructor(echo: ResponseEcho) {
    this.#echo = echo;
  }

  /** Writes nothing from now on: what is written is only wanted whole. */
  mute(): void {
    this.#isMuted = true;
  }

  /**
   * The beginning, if it was not written yet.
   *
   * @param isWorking Whether anything but a failure follows.
   */
  begin({ isWorking = true } = {}): string {
    if (this.#next > 0) return "";
    const response = responseObject(this.#echo, { status: "in_progress", output: [] });
    return this.#line("response.created", { response }) +
      (isWorking ? this.#line("response.in_progress", { response }) : "");
  }

  write(type: string, fields: JsonObject): string {
    return this.#isMuted ? "" : this.begin() + this.#line(type, fields);
  }

  /** The end of a response that failed, of which this much was written. */
  failed(error: JsonObject, output: readonly JsonObject[]): string {
    const begun = this.begin({ isWorking: false });
    const response = responseObject(this.#echo, { status: "failed", output, error });
    return begun + this.write("response.failed", { response }) + this.end();
  }

  /** What follows the last event. */
  end(): string {
    return this.#isMuted ? "" : "data: [DONE]\n\n";
  }

  #line(type: string, fields: JsonObject): string {
    const event: JsonObject = { type, sequence_number: 0, ...fields };
    event.type = type; // an upstream's fields have its own
    event.sequence_number = this.#next++;
    // strict clients, Codex among them, cannot read an event with half a character
    return `event: ${type}\ndata: ${wellFormedJson(event)}\n\n`;
  }
}
