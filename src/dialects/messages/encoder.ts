import type { JsonObject } from "../json.ts";
import { JsonProgress } from "../json_progress.ts";
import type { AnswerEvent, Finish } from "../neutral.ts";
import { countedUsage, type Usage } from "../usage.ts";
import type { CallIds } from "./call_ids.ts";
import { writeMessagesUsage } from "./usage.ts";

/** Marks a thinking block as ours: clients drop or refuse blocks without a signature. */
export const SIGNATURE = "sluice.1";

/** Why an answer ended, as messages clients read it. */
export function stopReason(
  finish: Finish,
  { called, stopped }: { called: boolean; stopped: boolean },
): string {
  if (finish === "length") return "max_tokens";
  if (finish === "refused") return "refusal";
  if (called) return "tool_use"; // some upstreams finish with "stop" although they called a tool
  return stopped ? "stop_sequence" : "end_turn";
}

/** A tool call on its way out. */
interface Call {
  readonly key: string;
  id: string | undefined;
  name: string | undefined;
  /** Arguments that wait for their block. */
  waiting: string;
  state: "waiting" | "open" | "closed";
  readonly progress: JsonProgress;
}

/**
 * Neutral events to a messages event stream that cannot be ill-formed, whatever comes in: one
 * `message_start`; a block is opened before its deltas and closed after; a delta's type fits its
 * block; indices are dense. Of tool calls that come interleaved one goes out as it comes; the others,
 * and text that comes in between, wait until its arguments are complete.
 */
export class MessagesEncoder {
  readonly #names: { readonly id: string; readonly model: string };
  readonly #inputTokens: number;
  readonly #ids: CallIds;
  #started = false;
  #index = -1;
  #open: "thinking" | "text" | "tool" | undefined;
  readonly #calls: Call[] = [];
  /** Text that came while a call was open. */
  readonly #held: (AnswerEvent & { type: "text" | "reasoning" })[] = [];
  #finish: Finish | undefined;
  #stopped: string | undefined;

  /** @param inputTokens As counted here: some clients take the input only from the first event. */
  constructor(names: { id: string; model: string }, inputTokens: number, ids: CallIds) {
    this.#names = names;
    this.#ids = ids;
    this.#inputTokens = inputTokens;
  }

  /** Whether the upstream has said why its answer ended. */
  get finished(): boolean {
    return this.#finish !== undefined;
  }

  /** The text for one event. */
  write(event: AnswerEvent): string {
    switch (event.type) {
      case "reasoning":
      case "text":
        return this.#say(event);
      case "call":
        return this.#call(event);
      case "finish":
        this.#finish = event.finish;
        this.#stopped = event.stopped;
        return "";
    }
  }

  /** The end of a complete answer. */
  close(usage: Usage): string {
    let rest = this.#start() + this.#closeBlock();
    for (const call of this.#calls) {
      if (call.state === "waiting" && call.name !== undefined) {
        rest += this.#openCall(call) + this.#closeBlock();
      }
    }
    for (const held of this.#held.splice(0)) rest += this.#sayNow(held);
    rest += this.#closeBlock();
    const called = this.#calls.some(({ name }) => name !== undefined);
    const stopped = this.#stopped !== undefined && !called;
    return rest + event("message_delta", {
      delta: {
        stop_reason: stopReason(this.#finish ?? "stop", { called, stopped }),
        stop_sequence: stopped ? this.#stopped! : null,
      },
      usage: writeMessagesUsage(usage),
    }) + event("message_stop", {});
  }

  /** What keeps a silent connection open. */
  ping(): string {
    return this.#start() + event("ping", {});
  }

  #start(): string {
    if (this.#started) return "";
    this.#started = true;
    return event("message_start", {
      message: {
        id: this.#names.id,
        type: "message",
        role: "assistant",
        model: this.#names.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: writeMessagesUsage(countedUsage(this.#inputTokens, 0)),
      },
    });
  }

  #say(event: AnswerEvent & { type: "text" | "reasoning" }): string {
    const text = this.#start() + this.#advance();
    if (this.#open === "tool") {
      this.#held.push(event);
      return text;
    }
    return text + this.#sayNow(event);
  }

  #sayNow({ type, text }: AnswerEvent & { type: "text" | "reasoning" }): string {
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

  #call(piece: AnswerEvent & { type: "call" }): string {
    let call = this.#calls.find(({ key }) => key === piece.key);
    if (call === undefined) {
      const progress = new JsonProgress();
      call = {
        key: piece.key,
        id: undefined,
        name: undefined,
        waiting: "",
        state: "waiting",
        progress,
      };
      this.#calls.push(call);
    }
    call.id ??= piece.id;
    call.name ??= piece.name;
    if (call.state === "closed") return ""; // its JSON was complete: what follows is not of it
    call.progress.add(piece.args);
    if (call.state === "open") return this.#arguments(piece.args);
    call.waiting += piece.args;
    return this.#start() + this.#advance();
  }

  /** Closes a call that is complete, and opens the next one that can go out. */
  #advance(): string {
    let text = "";
    while (true) {
      const open = this.#calls.find(({ state }) => state === "open");
      if (open !== undefined && !open.progress.complete) return text;
      const next = this.#calls.find(({ state }) => state === "waiting");
      if (open !== undefined) {
        text += this.#closeBlock();
        for (const held of this.#held.splice(0)) text += this.#sayNow(held);
      }
      if (next?.name === undefined) return text;
      text += this.#openCall(next);
    }
  }

  #openCall(call: Call): string {
    call.id ??= `toolu_${this.#names.id.replace(/^msg_/, "")}_${this.#calls.indexOf(call)}`;
    const block = { type: "tool_use", id: this.#ids.own(call.id), name: call.name!, input: {} };
    const text = this.#closeBlock() + this.#openBlock("tool", block) +
      this.#arguments(call.waiting);
    call.state = "open";
    call.waiting = "";
    return text;
  }

  #arguments(args: string): string {
    return args === "" ? "" : this.#delta({ type: "input_json_delta", partial_json: args });
  }

  #openBlock(kind: "thinking" | "text" | "tool", block: JsonObject): string {
    this.#open = kind;
    this.#index++;
    return event("content_block_start", { index: this.#index, content_block: block });
  }

  #closeBlock(): string {
    if (this.#open === undefined) return "";
    const signature = this.#open === "thinking"
      ? this.#delta({ type: "signature_delta", signature: SIGNATURE })
      : "";
    for (const call of this.#calls) if (call.state === "open") call.state = "closed";
    this.#open = undefined;
    return signature + event("content_block_stop", { index: this.#index });
  }

  #delta(delta: JsonObject): string {
    return event("content_block_delta", { index: this.#index, delta });
  }
}

function event(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
