import { parseJson } from "../../json/mod.ts";
import { Refusal } from "../../refusal.ts";
import { upstreamFault } from "../chat/upstream_error.ts";
import { isObject, type JsonObject, text } from "../json.ts";
import type { AnswerEvent, Finish } from "../neutral.ts";
import type { Usage } from "../usage.ts";
import { MessagesUsage } from "./usage.ts";

const FINISHES: Readonly<Record<string, Finish>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tools",
  refusal: "refused",
};

/** One event's JSON. Throws the error that it reports. */
export function parseEvent(data: string): JsonObject {
  let event: unknown;
  try {
    event = parseJson(data);
  } catch {
    event = undefined;
  }
  if (!isObject(event) || typeof event.type !== "string") {
    throw new Refusal(
      "upstream_unavailable",
      "The upstream's stream is not of the messages dialect.",
    );
  }
  if (event.type === "error") throw upstreamFault(event.error);
  return event;
}

/** Reads a messages stream, or a whole message's blocks, as neutral events. */
export class MessagesEvents {
  /** Whether `message_stop` came. */
  done = false;
  readonly #usage = new MessagesUsage();
  /** Tool blocks that are open: the input that came with their start, until a delta comes. */
  readonly #inputs = new Map<number, string>();

  get usage(): Usage | undefined {
    return this.#usage.usage;
  }

  read(data: string): AnswerEvent[] {
    const event = parseEvent(data);
    switch (event.type) {
      case "message_start":
        if (isObject(event.message)) this.#usage.begin(event.message.usage);
        return [];
      case "content_block_start":
        return isObject(event.content_block) ? this.begin(indexOf(event), event.content_block) : [];
      case "content_block_delta":
        return isObject(event.delta) ? this.#delta(indexOf(event), event.delta) : [];
      case "content_block_stop":
        return this.end(indexOf(event));
      case "message_delta": {
        this.#usage.add(event.usage);
        return isObject(event.delta) ? finishOf(event.delta) : [];
      }
      case "message_stop":
        this.done = true;
        return [];
      default:
        return [];
    }
  }

  /** A block begins, with whatever it holds already. */
  begin(index: number, block: JsonObject): AnswerEvent[] {
    switch (block.type) {
      case "text":
        return said("text", text(block.text));
      case "thinking":
        return said("reasoning", text(block.thinking));
      case "tool_use": {
        const input = isObject(block.input) ? JSON.stringify(block.input) : "{}";
        this.#inputs.set(index, input);
        const [id, name] = [text(block.id) || undefined, text(block.name) || undefined];
        return [{ type: "call", key: String(index), id, name, args: "" }];
      }
      default:
        return [];
    }
  }

  /** A block is over: a call whose input came with its start, or that has none, is said now. */
  end(index: number): AnswerEvent[] {
    const input = this.#inputs.get(index);
    this.#inputs.delete(index);
    return input === undefined ? [] : [call(index, input)];
  }

  #delta(index: number, delta: JsonObject): AnswerEvent[] {
    switch (delta.type) {
      case "text_delta":
        return said("text", text(delta.text));
      case "thinking_delta":
        return said("reasoning", text(delta.thinking));
      case "input_json_delta": {
        const args = text(delta.partial_json) ?? "";
        if (args === "") return [];
        this.#inputs.delete(index);
        return [call(index, args)];
      }
      default:
        return [];
    }
  }
}

/** A `stop_reason` as a neutral event. */
export function finishOf(message: JsonObject): AnswerEvent[] {
  const reason = text(message.stop_reason);
  if (reason === undefined) return [];
  return [{
    type: "finish",
    finish: FINISHES[reason] ?? "stop",
    stopped: text(message.stop_sequence),
  }];
}

function said(type: "text" | "reasoning", value: string | undefined): AnswerEvent[] {
  return value === undefined || value === "" ? [] : [{ type, text: value }];
}

function call(index: number, args: string): AnswerEvent {
  return { type: "call", key: String(index), id: undefined, name: undefined, args };
}

function indexOf(event: JsonObject): number {
  return typeof event.index === "number" ? event.index : 0;
}
