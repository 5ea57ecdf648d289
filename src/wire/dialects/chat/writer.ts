import {
  type ReplyContext,
  type ReplyWriter,
  type StreamContext,
  streamContextOf,
} from "../dialect.ts";
import { isObject, type JsonObject } from "../json.ts";
import {
  type Citation,
  type Finish,
  type ReplyEvent,
  writeCitation,
} from "../neutral/conversation.ts";
import type { Usage } from "../usage.ts";
import { type CallEvent, CallWriter, ChatCallIds } from "./calls.ts";
import { NO_ARGUMENTS } from "../neutral/call_args.ts";
import { chatImage } from "../neutral/made_images.ts";
import { customCall, CustomCalls, customTools } from "./custom_calls.ts";
import { SignedReply } from "./signatures.ts";
import { chatStreamEnd } from "./stream_end.ts";
import { writeChatUsage } from "./usage.ts";

/** Why a reply ended, in the words of chat. */
function finishReason(finish: Finish, called: boolean): string {
  if (finish === "length") return "length";
  if (finish === "filtered") return "content_filter";
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
  readonly cites = true;
  readonly takesImages = true;
  tier: string | undefined;
  readonly #context: StreamContext;
  readonly #head: JsonObject;
  readonly #wantsUsage: boolean;
  readonly #wantsLogprobs: boolean;
  readonly #calls: CallWriter;
  readonly #custom: ReadonlySet<string>;
  readonly #customCalls: CustomCalls;
  readonly #signed: SignedReply;
  #images = 0;
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
    this.#wantsLogprobs = context.request.logprobs !== undefined;
    this.#signed = new SignedReply(context);
    this.#calls = new CallWriter(id);
    this.#custom = customTools(context.request.body);
    this.#customCalls = new CustomCalls(this.#custom);
  }

  get finished(): boolean {
    return this.#finish !== undefined;
  }

  write(event: ReplyEvent): string {
    switch (event.type) {
      case "reasoning":
        return this.#chunk({ reasoning_content: event.text });
      case "text":
        return this.#chunk({ content: event.text }, null, this.#probabilities([event]));
      case "refusal":
        return this.#chunk({ refusal: event.text });
      case "citation":
        return this.#chunk({ annotations: [annotationOf(event)] });
      case "image":
        return this.#chunk({ images: [chatImage(event.url, this.#images++)] });
      case "call":
        return this.#call(event);
      case "seal": {
        const extra = this.#signed.take(event); // there is no place for others
        return extra === undefined ? "" : this.#chunk(extra);
      }
      case "finish":
        this.#finish = event.finish;
        return "";
    }
  }

  close(usage: Usage): string {
    const unargued = this.#calls.unargued.filter((index) => !this.#customCalls.has(index));
    const args = unargued.map((index) => this.#args(index, NO_ARGUMENTS)).join("");
    const finish = args + this.#pieces(this.#customCalls.end()) +
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
    const message = messageOf(events, id, { custom: this.#custom, signed: this.#signed });
    const reason = finishReason(finish, message.tool_calls !== undefined);
    const logprobs = this.#probabilities(events);
    return (usage) => ({
      id,
      object: "chat.completion",
      created: createdAtS,
      model,
      system_fingerprint: fingerprint,
      choices: [{ index: choice ?? 0, message, logprobs, finish_reason: reason }],
      usage: writeChatUsage(usage),
      ...(this.tier && { service_tier: this.tier }),
    });
  }

  #call(event: CallEvent): string {
    const written = this.#calls.write(event);
    if (written === undefined) return "";
    const custom = this.#customCalls.pieces(written);
    const { index, opening, args } = written;
    const signed = opening === undefined ? {} : this.#signed.of(index);
    if (custom !== undefined) {
      return this.#pieces(custom.map((piece, at) => at === 0 ? { ...signed, ...piece } : piece));
    }
    const opened = opening === undefined ? "" : this.#chunk({
      tool_calls: [{
        ...signed,
        index,
        id: opening.id,
        type: "function",
        function: { name: opening.name, arguments: "" },
      }],
    });
    return args === "" ? opened : opened + this.#args(index, args);
  }

  #pieces(pieces: readonly JsonObject[]): string {
    return pieces.map((piece) => this.#chunk({ tool_calls: [piece] })).join("");
  }

  #args(index: number, args: string): string {
    return this.#chunk({ tool_calls: [{ index, function: { arguments: args } }] });
  }

  /** Of the tokens of texts, where the client wants them. */
  #probabilities(events: readonly ReplyEvent[]): JsonObject | null {
    if (!this.#wantsLogprobs) return null;
    const content = events.flatMap((event) => event.type === "text" ? event.logprobs ?? [] : []);
    return content.length === 0 ? null : { content, refusal: null };
  }

  #chunk(
    delta: JsonObject,
    finish: string | null = null,
    logprobs: JsonObject | null = null,
  ): string {
    const role = this.#started ? "" : this.#line({ role: "assistant", content: "" }, null);
    this.#started = true;
    return role + this.#line(delta, finish, logprobs);
  }

  #line(delta: JsonObject, finish: string | null, logprobs: JsonObject | null = null): string {
    const chunk = {
      ...this.#head,
      choices: [{ index: this.#context.choice ?? 0, delta, logprobs, finish_reason: finish }],
      ...(this.#wantsUsage ? { usage: null } : {}),
      ...(this.tier && { service_tier: this.tier }),
    };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }
}

function annotationOf(citation: Citation): JsonObject {
  return { type: "url_citation", url_citation: writeCitation(citation) };
}

function messageOf(
  events: readonly ReplyEvent[],
  replyId: string,
  { custom, signed }: { readonly custom: ReadonlySet<string>; readonly signed: SignedReply },
): JsonObject {
  let extra: JsonObject | undefined;
  const joined = (type: "text" | "reasoning" | "refusal") =>
    events.map((event) => (event.type === type ? event.text : "")).join("");
  const calls: JsonObject[] = [];
  const ids = new ChatCallIds(replyId);
  for (const event of events) {
    if (event.type === "seal") extra = signed.take(event) ?? extra;
    if (event.type !== "call" || event.name === undefined) continue;
    const { name, args } = event;
    const id = ids.of(event.id, calls.length);
    const own = { name, arguments: args || NO_ARGUMENTS };
    const isCustom = custom.has(name);
    calls.push({
      ...signed.of(calls.length),
      ...(isCustom ? customCall(id, name, args) : { id, type: "function", function: own }),
    });
  }
  const [text, reasoning, refusal] = [joined("text"), joined("reasoning"), joined("refusal")];
  const annotations = events.flatMap((event) =>
    event.type === "citation" ? [annotationOf(event)] : []
  );
  const images = events.flatMap((event) => event.type === "image" ? [event.url] : []).map(
    chatImage,
  );
  return {
    role: "assistant",
    content: text === "" && (calls.length > 0 || refusal !== "") ? null : text,
    refusal: refusal === "" ? null : refusal,
    ...(annotations.length === 0 ? {} : { annotations }),
    ...(images.length === 0 ? {} : { images }),
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...extra,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}
