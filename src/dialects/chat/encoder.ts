import type { AnswerNames } from "../bridge.ts";
import type { JsonObject } from "../json.ts";
import type { AnswerEvent, Finish } from "../neutral.ts";
import type { Usage } from "../usage.ts";
import { type CallEvent, CallWriter } from "./calls.ts";
import { chatStreamEnd } from "./stream_end.ts";
import { writeChatUsage } from "./usage.ts";

/** Why an answer ended, as chat clients read it. */
export function finishReason(finish: Finish, called: boolean): string {
  if (finish === "length") return "length";
  if (finish === "refused") return "content_filter";
  return called ? "tool_calls" : "stop";
}

/**
 * Neutral events to a chat stream: the role first; a call's id, type and name in its first piece and
 * nowhere else; one finish; the usage in a chunk of its own when it is wanted.
 */
export class ChatEncoder {
  readonly #head: JsonObject;
  readonly #wantsUsage: boolean;
  readonly #calls: CallWriter;
  #started = false;
  #finish: Finish | undefined;
  readonly #names: AnswerNames;
  readonly #created: number;

  constructor(names: AnswerNames, { wantsUsage, created }: {
    wantsUsage: boolean;
    /** Unix seconds. */
    created: number;
  }) {
    this.#head = { id: names.id, object: "chat.completion.chunk", created, model: names.model };
    this.#wantsUsage = wantsUsage;
    this.#names = names;
    this.#calls = new CallWriter(names.id);
    this.#created = created;
  }

  /** Whether the upstream has said why its answer ended. */
  get finished(): boolean {
    return this.#finish !== undefined;
  }

  write(event: AnswerEvent): string {
    switch (event.type) {
      case "reasoning":
        return this.#chunk({ reasoning_content: event.text });
      case "text":
        return this.#chunk({ content: event.text });
      case "call":
        return this.#call(event);
      case "finish":
        this.#finish = event.finish;
        return "";
    }
  }

  /** The end of a complete answer. */
  close(usage: Usage): string {
    const finish = this.#chunk({}, finishReason(this.#finish ?? "stop", this.#calls.named > 0));
    if (this.#names.choice !== undefined) return finish;
    const last = this.#wantsUsage ? writeChatUsage(usage) : undefined;
    return finish + chatStreamEnd(this.#names, this.#created, last);
  }

  /** What keeps a silent connection open. */
  ping(): string {
    return ": ping\n\n";
  }

  #call(event: CallEvent): string {
    const written = this.#calls.write(event);
    if (written === undefined) return "";
    const { index, opening, args } = written;
    const opened = opening === undefined ? "" : this.#chunk({
      tool_calls: [{
        index,
        id: opening.id,
        type: "function",
        function: { name: opening.name, arguments: "" },
      }],
    });
    return args === "" ? opened : opened + this.#args(index, args);
  }

  #args(index: number, args: string): string {
    return this.#chunk({ tool_calls: [{ index, function: { arguments: args } }] });
  }

  #chunk(delta: JsonObject, finish: string | null = null): string {
    const role = this.#started ? "" : this.#line({ role: "assistant", content: "" }, null);
    this.#started = true;
    return role + this.#line(delta, finish);
  }

  #line(delta: JsonObject, finish: string | null): string {
    const chunk = {
      ...this.#head,
      choices: [{ index: this.#names.choice ?? 0, delta, logprobs: null, finish_reason: finish }],
      ...(this.#wantsUsage ? { usage: null } : {}),
    };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }
}
