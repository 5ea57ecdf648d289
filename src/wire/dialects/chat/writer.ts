import {
  type ReplyContext,
  type ReplyWriter,
  type StreamContext,
  streamContextOf,
} from "../dialect.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { Finish, ReplyEvent } from "../neutral/conversation.ts";
import type { Usage } from "../usage.ts";
import { type CallEvent, CallWriter, madeCallId, NO_ARGUMENTS } from "./calls.ts";
import { chatStreamEnd } from "./stream_end.ts";
import { writeChatUsage } from "./usage.ts";

/** Why a reply ended, in the words of chat. */
function finishReason(finish: Finish, called: boolean): string {
  if (finish === "length") return "length";
  if (finish === "refused") return "content_filter";
  return called ? "tool_calls" : "stop";
}

/** Whether the client wants the usage at the end of the stream. */
export function wantsUsage({ request: { body } }: Pick<ReplyContext, "request">): boolean {
  const options = body.stream_options;
  return isObject(options) && options.include_usage === true;
}

/**
 * Writes neutral events as a chat reply. In a stream the role comes first; a call's id, type and name come with its
 * first piece only; there is one finish; the usage has a chunk of its own when the client wants it.
 */
export class ChatWriter implements ReplyWriter {
  readonly #context: StreamContext;
  readonly #head: JsonObject;
  readonly #wantsUsage: boolean;
  readonly #calls: CallWriter;
  #started = false;
  #finish: Finish | undefined;

  constructor(context: ReplyContext) {
    const { id, model, createdAtS, fingerprint } = context;
    this.#context = streamContextOf(context);
    this.#head = {
      id,
      object: "chat.completion.chunk",
      created: createdAtS,
      model,
      system_fingerprint: fingerprint,
    };
    this.#wantsUsage = wantsUsage(context);
    this.#calls = new CallWriter(id);
  }

  get finished(): boolean {
    return this.#finish !== undefined;
  }

  write(event: ReplyEvent): string {
    switch (event.type) {
      case "reasoning":
        return this.#chunk({ reasoning_content: event.text });
      case "text":
        return this.#chunk({ content: event.text });
      case "call":
        return this.#call(event);
      case "seal":
        return ""; // the dialect has no place for it
      case "finish":
        this.#finish = event.finish;
        return "";
    }
  }

  close(usage: Usage): string {
    const args = this.#calls.unargued.map((index) => this.#args(index, NO_ARGUMENTS)).join("");
    const finish = args +
      this.#chunk({}, finishReason(this.#finish ?? "stop", this.#calls.named > 0));
    if (this.#context.choice !== undefined) return finish;
    const last = this.#wantsUsage ? writeChatUsage(usage) : undefined;
    return finish + chatStreamEnd(this.#context, this.#context.createdAtS, last);
  }

  ping(): string {
    return ": ping\n\n";
  }

  whole(events: readonly ReplyEvent[]): (usage: Usage) => JsonObject {
    const { id, model, createdAtS, choice, fingerprint } = this.#context;
    const finish = events.find((event) => event.type === "finish")?.finish ?? "stop";
    const message = messageOf(events, id);
    const reason = finishReason(finish, message.tool_calls !== undefined);
    return (usage) => ({
      id,
      object: "chat.completion",
      created: createdAtS,
      model,
      system_fingerprint: fingerprint,
      choices: [{ index: choice ?? 0, message, logprobs: null, finish_reason: reason }],
      usage: writeChatUsage(usage),
    });
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
      choices: [{ index: this.#context.choice ?? 0, delta, logprobs: null, finish_reason: finish }],
      ...(this.#wantsUsage ? { usage: null } : {}),
    };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }
}

function messageOf(events: readonly ReplyEvent[], replyId: string): JsonObject {
  const joined = (type: "text" | "reasoning") =>
    events.map((event) => (event.type === type ? event.text : "")).join("");
  const calls: JsonObject[] = [];
  for (const event of events) {
    if (event.type !== "call" || event.name === undefined) continue;
    const id = event.id ?? madeCallId(replyId, calls.length);
    calls.push({
      id,
      type: "function",
      function: { name: event.name, arguments: event.args || NO_ARGUMENTS },
    });
  }
  const [text, reasoning] = [joined("text"), joined("reasoning")];
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}
