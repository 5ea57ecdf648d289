import { parseJson } from "../../json/mod.ts";
import { Refusal } from "../../refusal.ts";
import { isObject, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import type { AnswerEvent, Finish } from "../neutral.ts";
import type { Usage } from "../usage.ts";
import { type CallEvent, CallReader } from "./calls.ts";
import { mustNotHaveFailed, upstreamFault } from "./upstream_error.ts";
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
    const chunk = parseJson(data);
    if (isObject(chunk)) {
      mustHaveFewChoices(chunk);
      return chunk;
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
  }
  throw new Refusal(
    "upstream_unavailable",
    "The upstream sent an invalid chat-completions stream.",
  );
}

/** Choices of one response; a request may ask for 8. */
const MAX_CHOICES = 128;

/** What is kept for each choice is bounded, whatever an upstream numbers. */
export function mustHaveFewChoices({ choices }: JsonObject): void {
  const all = objects(choices);
  const isFew = all.length <= MAX_CHOICES &&
    all.every(({ index }) => typeof index !== "number" || index >= 0 && index < MAX_CHOICES);
  if (isFew) return;
  const message = `The upstream sent more than ${MAX_CHOICES} choices.`;
  throw new Refusal("upstream_unavailable", message);
}

/**
 * What a chunk's choice says. Some hold a whole message in the place of a delta; after deltas it repeats them.
 *
 * @param begun Whether anything was said before.
 */
export function saidIn(choice: JsonObject, begun: boolean): JsonObject | undefined {
  const said = isObject(choice.delta) || begun ? choice.delta : choice.message;
  return isObject(said) ? said : undefined;
}

/** Reads the chunks of a chat stream as neutral events. */
export class ChatEvents {
  /** Whether `[DONE]` came. */
  done = false;
  /** As the upstream reported it. */
  usage: Usage | undefined;
  readonly #calls = new CallReader();
  #hasSaid = false;
  #refused = false;
  readonly #longNames: ReadonlyMap<string, string> | undefined;

  /** @param longNames Tools that were offered under shorter names, by those. */
  constructor(longNames?: ReadonlyMap<string, string>) {
    this.#longNames = longNames;
  }

  /** @throws {Refusal} for an error in the stream, or what is not of the dialect. */
  read(data: string): AnswerEvent[] {
    if (data === "[DONE]") {
      this.done = true;
      return [];
    }
    const chunk = parseChunk(data);
    if (chunk.error !== undefined && chunk.error !== null) throw upstreamFault(chunk.error);
    const events: AnswerEvent[] = [];
    const choice = objects(chunk.choices).find(({ index }) => (index ?? 0) === 0);
    if (choice !== undefined) {
      const said = saidIn(choice, this.#hasSaid);
      if (said !== undefined) events.push(...this.#said(said));
      this.#hasSaid ||= events.length > 0;
    }
    const usage = readChatUsage(chunk.usage) ?? readChatUsage(choice?.usage);
    if (usage !== undefined) this.usage = usage; // on every chunk with some: the last one counts
    if (choice !== undefined) mustNotHaveFailed(choice);
    const reason = text(choice?.finish_reason);
    if (reason !== undefined && reason !== "") {
      events.push({
        type: "finish",
        finish: this.#refused ? "refused" : FINISHES[reason] ?? "stop",
        stopped: text(choice?.stop_reason), // vLLM names the stop sequence that was met
      });
    }
    return events;
  }

  /** A delta in the order in which clients expect it: reasoning, text, calls. */
  #said(delta: JsonObject): AnswerEvent[] {
    const events: AnswerEvent[] = [];
    const reasoning = text(delta.reasoning_content) || text(delta.reasoning) ||
      objects(delta.reasoning_details).map((one) => text(one.text) || text(one.summary) || "")
        .join("");
    if (reasoning !== "") events.push({ type: "reasoning", text: reasoning });
    const refusal = text(delta.refusal) ?? "";
    if (refusal !== "") this.#refused = true;
    for (const said of [contentText(delta.content), refusal]) {
      if (said !== "") events.push({ type: "text", text: said });
    }
    for (const call of objects(delta.tool_calls)) events.push(this.#called(call));
    // the form before tools
    if (isObject(delta.function_call)) {
      events.push(this.#called({ index: 0, function: delta.function_call }));
    }
    return events;
  }

  #called(piece: JsonObject): CallEvent {
    const event = this.#calls.read(piece);
    const own = event.name === undefined ? undefined : this.#longNames?.get(event.name);
    return own === undefined ? event : { ...event, name: own };
  }
}

/** A text, or the texts of parts. */
function contentText(content: JsonValue | undefined): string {
  return text(content) ?? objects(content).map((part) => text(part.text) ?? "").join("");
}
