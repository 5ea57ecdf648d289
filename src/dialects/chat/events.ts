import { Refusal } from "../../refusal.ts";
import { isObject, type JsonObject, objects, text } from "../json.ts";
import type { AnswerEvent, Finish } from "../neutral.ts";
import type { Usage } from "../usage.ts";
import { upstreamFault } from "./upstream_error.ts";
import { readChatUsage } from "./usage.ts";

/** Why an answer ended, as chat upstreams say it. `tool_calls` without a call is a plain stop. */
const FINISHES: Readonly<Record<string, Finish>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tools",
  function_call: "tools",
  content_filter: "refused",
};

/** One chunk's JSON. */
export function parseChunk(data: string): JsonObject {
  try {
    const chunk: unknown = JSON.parse(data);
    if (isObject(chunk)) return chunk;
  } catch {
    // said below
  }
  throw new Refusal("upstream_unavailable", "The upstream's stream is not of the chat dialect.");
}

/** Reads the chunks of a chat stream as neutral events; knows only which tool call is meant. */
export class ChatEvents {
  /** Whether `[DONE]` came. */
  done = false;
  /** As the upstream reported it. */
  usage: Usage | undefined;
  #calls = 0;
  /** Upstream index → the call that it means now. Ollama sends several calls under index 0. */
  readonly #byIndex = new Map<number, { key: string; id: string | undefined }>();

  /** @throws {Refusal} for an error in the stream, or what is not of the dialect. */
  read(data: string): AnswerEvent[] {
    if (data === "[DONE]") {
      this.done = true;
      return [];
    }
    const chunk = parseChunk(data);
    if (chunk.error !== undefined && chunk.error !== null) throw upstreamFault(chunk.error);
    const events: AnswerEvent[] = [];
    const choice = objects(chunk.choices).find(({ index }) => index === undefined || index === 0);
    if (choice !== undefined) {
      // a last chunk may hold a whole message in the place of a delta
      const said = isObject(choice.delta) ? choice.delta : choice.message;
      if (isObject(said)) events.push(...this.#said(said));
    }
    const usage = readChatUsage(chunk.usage) ?? readChatUsage(choice?.usage);
    if (usage !== undefined) this.usage = usage; // on every chunk with some: the last one counts
    const reason = text(choice?.finish_reason);
    if (reason === "error") {
      throw new Refusal("upstream_unavailable", "The upstream failed in the middle of its answer.");
    }
    if (reason !== undefined && reason !== "") {
      events.push({
        type: "finish",
        finish: FINISHES[reason] ?? "stop",
        stopped: text(choice?.stop_reason), // vLLM names the stop sequence that was met
      });
    }
    return events;
  }

  /** A delta in the order in which clients expect it: reasoning, text, calls. */
  #said(delta: JsonObject): AnswerEvent[] {
    const events: AnswerEvent[] = [];
    const reasoning = text(delta.reasoning_content) ?? text(delta.reasoning) ??
      objects(delta.reasoning_details).map((one) => text(one.text) ?? "").join("");
    if (reasoning !== "") events.push({ type: "reasoning", text: reasoning });
    for (const said of [text(delta.content), text(delta.refusal)]) {
      if (said !== undefined && said !== "") events.push({ type: "text", text: said });
    }
    for (const call of objects(delta.tool_calls)) events.push(this.#call(call));
    return events;
  }

  #call(call: JsonObject): AnswerEvent {
    const own = isObject(call.function) ? call.function : {};
    const id = text(call.id) || undefined;
    const name = text(own.name) || undefined;
    const index = typeof call.index === "number" ? call.index : Math.max(0, this.#calls - 1);
    let known = this.#byIndex.get(index);
    const another = known !== undefined && id !== undefined && known.id !== undefined &&
      id !== known.id;
    if (known === undefined || another) {
      known = { key: `call${this.#calls++}`, id };
      this.#byIndex.set(index, known);
    }
    known.id ??= id;
    const args = own.arguments;
    return {
      type: "call",
      key: known.key,
      id,
      name,
      args: isObject(args) ? JSON.stringify(args) : text(args) ?? "",
    };
  }
}
