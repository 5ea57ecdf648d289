import {
  type ReplyContext,
  type ReplyWriter,
  type StreamContext,
  streamContextOf,
} from "../dialect.ts";
import { isObject, items, type JsonObject, type JsonValue } from "../json.ts";
import { type Finish, parseArgs, type ReplyEvent } from "../neutral/conversation.ts";
import type { UniqueCallIds } from "../neutral/call_ids.ts";
import { JsonProgress } from "../neutral/json_progress.ts";
import { unusable } from "../upstream_error.ts";
import { countedUsage, type Usage } from "../usage.ts";
import { madeCallId, replyCallIds } from "./call_ids.ts";
import { writeMessagesUsage } from "./usage.ts";

/** Signs reasoning that was translated: clients drop or reject thinking blocks without a signature. */
export const SIGNATURE = "sluice.1";

/** Why a reply ended, in the words of messages. */
function stopReason(
  finish: Finish,
  { called, stopped }: { called: boolean; stopped: boolean },
): string {
  if (finish === "length") return "max_tokens";
  if (finish === "refused" || finish === "filtered") return "refusal";
  if (called) return "tool_use"; // some upstreams finish with "stop" although they called a tool
  return stopped ? "stop_sequence" : "end_turn";
}

type FinishEvent = ReplyEvent & { type: "finish" };

type BlockKind = "thinking" | "redacted" | "text" | "tool";

/** What waits until the arguments of a call are complete. */
type HeldEvent = ReplyEvent & { type: "text" | "reasoning" | "seal" };

/** A tool call that is being written. */
interface Call {
  /** Number of calls before it. */
  readonly place: number;
  id: string | undefined;
  name: string | undefined;
  /** Arguments that wait for their block. */
  waiting: string;
  state: "waiting" | "open" | "closed";
  readonly progress: JsonProgress;
}

/**
 * Writes neutral events as a messages reply. A stream is well-formed whatever comes in: one
 * `message_start`; a block is opened before its deltas and closed after them; a delta's type fits its
 * block; indices are dense. Of interleaved tool calls one is sent as it arrives; the others,
 * and text in between, wait until its arguments are complete.
 */
export class MessagesWriter implements ReplyWriter {
  /** A place in a search is one that only its upstream can name. */
  readonly cites = false;
  tier: string | undefined;
  readonly #context: StreamContext;
  readonly #ids: UniqueCallIds;
  /** Whether the client asked for reasoning, so that it knows blocks of it that it cannot read. */
  readonly #takesThinking: boolean;
  #started = false;
  #index = -1;
  #open: BlockKind | undefined;
  readonly #calls = new Map<string, Call>();
  /** In the order in which they began, and are written. */
  readonly #order: Call[] = [];
  /** The first of them that is waiting. */
  #next = 0;
  #current: Call | undefined;
  /** Text that came while a call was open. */
  readonly #held: HeldEvent[] = [];
  /** What signs the reasoning that is being written. */
  #signature = SIGNATURE;
  #end: FinishEvent | undefined;
  /** Those that the client named: servers report their own, such as `<|im_end|>` (SGLang), in the same place. */
  readonly #stopSequences: readonly JsonValue[];

  constructor(context: ReplyContext) {
    this.#context = streamContextOf(context);
    const { thinking, stop_sequences: stopSequences } = context.request.body;
    this.#stopSequences = items(stopSequences);
    this.#ids = replyCallIds(context.request.body, "chat");
    this.#takesThinking = isObject(thinking) && thinking.type !== "disabled";
  }

  get finished(): boolean {
    return this.#end !== undefined;
  }

  write(event: ReplyEvent): string {
    switch (event.type) {
      case "reasoning":
      case "text":
      case "seal":
        return this.#inOrder(event);
      case "refusal": // the stop reason tells
        return this.#inOrder({ type: "text", text: event.text });
      case "citation":
      case "image": // replies have no place for one
        return "";
      case "call":
        return this.#call(event);
      case "finish":
        this.#end = event;
        return "";
    }
  }

  close(usage: Usage): string {
    let rest = this.#start() + this.#closeBlock();
    for (const call of this.#order.slice(this.#next)) {
      if (call.name !== undefined) rest += this.#openCall(call) + this.#closeBlock();
    }
    for (const held of this.#held.splice(0)) rest += this.#writeHeld(held);
    rest += this.#closeBlock();
    const called = this.#order.some(({ name }) => name !== undefined);
    return rest + event("message_delta", {
      delta: this.#ending(this.#end, called),
      usage: writeMessagesUsage(usage, this.tier),
    }) + event("message_stop", {});
  }

  ping(): string {
    return this.#start() + event("ping", {});
  }

  whole(events: readonly ReplyEvent[]): (usage: Usage) => JsonObject {
    const { id, model } = this.#context;
    const content = this.#content(events);
    const end = events.find((event) => event.type === "finish");
    const called = content.some(({ type }) => type === "tool_use");
    return (usage) => ({
      id,
      type: "message",
      role: "assistant",
      model,
      content,
      ...this.#ending(end, called),
      usage: writeMessagesUsage(usage, this.tier),
    });
  }

  /** Why the message ended. */
  #ending(end: FinishEvent | undefined, called: boolean): JsonObject {
    const { finish = "stop", stopped = null } = end ?? {};
    const isSequence = finish === "stop" && !called && this.#stopSequences.includes(stopped);
    return {
      stop_reason: stopReason(finish, { called, stopped: isSequence }),
      stop_sequence: isSequence ? stopped : null,
    };
  }

  #content(events: readonly ReplyEvent[]): JsonObject[] {
    const content: JsonObject[] = [];
    const isCut = events.some((event) => event.type === "finish" && event.finish === "length");
    const lastCall = events.findLast((event) => event.type === "call" && event.name !== undefined);
    for (const event of events) {
      const last = content.at(-1);
      if (event.type === "reasoning") {
        // as in a stream, a piece goes on with the block before it, and a seal ends that
        if (last?.signature === SIGNATURE) last.thinking += event.text;
        else content.push({ type: "thinking", thinking: event.text, signature: SIGNATURE });
      } else if (event.type === "seal") {
        if (last?.signature === SIGNATURE && !event.isOfCall) {
          last.signature = this.#sealed(event.seal);
        } else if (event.isOfCall || this.#takesThinking) {
          content.push({ type: "redacted_thinking", data: this.#sealed(event.seal) });
        }
      } else if (event.type === "text" || event.type === "refusal") {
        if (last?.type === "text") last.text += event.text;
        else content.push({ type: "text", text: event.text });
      } else if (event.type === "call" && event.name !== undefined) {
        // a call that the limit cut off cannot be run: the client sees that there was more
        const isBegun = event.args !== "" || event !== lastCall;
        if (isCut && (!isBegun || parseArgs(event.args) === undefined)) continue;
        const id = event.id ?? madeCallId(this.#context.id, content.length);
        const input = toolInput(event.args);
        content.push({ type: "tool_use", id: this.#ids.unique(id), name: event.name, input });
      }
    }
    return content;
  }

  #start(): string {
    if (this.#started) return "";
    this.#started = true;
    return event("message_start", {
      message: {
        id: this.#context.id,
        type: "message",
        role: "assistant",
        model: this.#context.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: writeMessagesUsage(countedUsage(this.#context.inputTokens, 0)), // some clients read the input only here,
      },
    });
  }

  /** Writes an event, or holds it until the arguments of the open call are complete. */
  #inOrder(event: HeldEvent): string {
    const text = this.#start() + this.#advance();
    if (this.#open !== "tool") return text + this.#writeHeld(event);
    this.#held.push(event);
    return text;
  }

  #writeText({ type, text }: ReplyEvent & { type: "text" | "reasoning" }): string {
    const kind = type === "text" ? "text" : "thinking";
    const opened = this.#open === kind ? "" : this.#closeBlock() + this.#openBlock(
      kind,
      kind === "text"
        ? { type: "text", text: "" }
        : { type: "thinking", thinking: "", signature: "" },
    );
    return opened + this.#delta(
      kind === "text" ? { type: "text_delta", text } : { type: "thinking_delta", thinking: text },
    );
  }

  #writeHeld(held: HeldEvent): string {
    return held.type === "seal" ? this.#writeSeal(held) : this.#writeText(held);
  }

  /** What an upstream wants back is the signature of the reasoning before it, or a block that clients return as it is. */
  #writeSeal({ seal, isOfCall = false }: ReplyEvent & { type: "seal" }): string {
    if (this.#open === "thinking" && !isOfCall) {
      this.#signature = this.#sealed(seal);
      return this.#closeBlock();
    }
    if (!isOfCall && !this.#takesThinking) return "";
    const block = { type: "redacted_thinking", data: this.#sealed(seal) };
    return this.#closeBlock() + this.#openBlock("redacted", block) + this.#closeBlock();
  }

  #sealed(seal: string): string {
    const { sealer, source } = this.#context;
    return sealer.seal("reasoning", { ...source, parts: [{ text: "", seal }] });
  }

  #call(piece: ReplyEvent & { type: "call" }): string {
    let call = this.#calls.get(piece.key);
    if (call === undefined) {
      const progress = new JsonProgress();
      call = {
        place: this.#order.length,
        id: undefined,
        name: undefined,
        waiting: "",
        state: "waiting",
        progress,
      };
      this.#calls.set(piece.key, call);
      this.#order.push(call);
    }
    call.id ??= piece.id;
    call.name ??= piece.name;
    if (call.state === "closed") return ""; // its JSON was complete: what follows does not belong to it
    call.progress.add(piece.args);
    if (call.state === "open") return this.#arguments(piece.args);
    call.waiting += piece.args;
    return this.#start() + this.#advance();
  }

  /** Closes a call that is complete, and opens the next one that can be sent. */
  #advance(): string {
    let text = "";
    while (true) {
      if (this.#current !== undefined) {
        if (!this.#current.progress.complete) return text;
        text += this.#closeBlock();
        for (const held of this.#held.splice(0)) text += this.#writeHeld(held);
      }
      const next = this.#order[this.#next];
      if (next?.name === undefined) return text;
      this.#next++;
      text += this.#openCall(next);
    }
  }

  #openCall(call: Call): string {
    call.id ??= madeCallId(this.#context.id, call.place);
    const block = { type: "tool_use", id: this.#ids.unique(call.id), name: call.name!, input: {} };
    const text = this.#closeBlock() + this.#openBlock("tool", block) +
      this.#arguments(call.waiting);
    call.state = "open";
    this.#current = call;
    call.waiting = "";
    return text;
  }

  #arguments(args: string): string {
    return args === "" ? "" : this.#delta({ type: "input_json_delta", partial_json: args });
  }

  #openBlock(kind: BlockKind, block: JsonObject): string {
    this.#open = kind;
    this.#index++;
    return event("content_block_start", { index: this.#index, content_block: block });
  }

  #closeBlock(): string {
    if (this.#open === undefined) return "";
    const signature = this.#open === "thinking"
      ? this.#delta({ type: "signature_delta", signature: this.#signature })
      : "";
    this.#signature = SIGNATURE;
    if (this.#current !== undefined) this.#current.state = "closed";
    this.#current = undefined;
    this.#open = undefined;
    return signature + event("content_block_stop", { index: this.#index });
  }

  #delta(delta: JsonObject): string {
    return event("content_block_delta", { index: this.#index, delta });
  }
}

/** @throws {Refusal} `upstream_unavailable` for arguments that are no JSON object. */
export function toolInput(args: string): JsonObject {
  const input = parseArgs(args);
  if (input !== undefined) return input;
  throw unusable("The upstream called a tool with arguments that are not JSON. Please try again.");
}

function event(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
