import type { AnswerNames } from "../bridge.ts";
import type { JsonObject } from "../json.ts";
import type { AnswerEvent, Finish } from "../neutral.ts";
import type { Usage } from "../usage.ts";
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
  /** Calls by key; one gets its index when its name is known. */
  readonly #calls = new Map<
    string,
    { index: number | undefined; waiting: string; id?: string }
  >();
  #named = 0;
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
    const finish = this.#chunk({}, finishReason(this.#finish ?? "stop", this.#named > 0));
    if (this.#names.choice !== undefined) return finish;
    const last = this.#wantsUsage ? writeChatUsage(usage) : undefined;
    return finish + chatStreamEnd(this.#names, this.#created, last);
  }

  /** What keeps a silent connection open. */
  ping(): string {
    return ": ping\n\n";
  }

  #call({ key, id, name, args }: AnswerEvent & { type: "call" }): string {
    let call = this.#calls.get(key);
    if (call === undefined) {
      call = { index: undefined, waiting: "" };
      this.#calls.set(key, call);
    }
    if (id !== undefined) call.id ??= id;
    if (call.index !== undefined) return args === "" ? "" : this.#args(call.index, args);
    call.waiting += args;
    if (name === undefined) return "";
    call.index = this.#named++;
    const first = {
      index: call.index,
      id: call.id ?? `call_${this.#names.id.replace(/^chatcmpl-/, "")}_${call.index}`,
      type: "function",
      function: { name, arguments: "" },
    };
    const opened = this.#chunk({ tool_calls: [first] });
    return call.waiting === "" ? opened : opened + this.#args(call.index, call.waiting);
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
