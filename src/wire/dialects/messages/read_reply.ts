import type { EventReader, ReadReply } from "../dialect.ts";
import { isObject, type JsonObject, type JsonValue, objectIn, text } from "../json.ts";
import { NO_ARGUMENTS } from "../neutral/call_args.ts";
import type { Finish, ReplyEvent, SealedReasoning } from "../neutral/conversation.ts";
import { reportedError, unusable, upstreamFault } from "../upstream_error.ts";
import { UsageReports } from "../usage_reports.ts";
import { documentedStop, EventRepair, indexOf } from "./repair.ts";
import { readBedrockUsage, readFirstUsage, readMessagesUsage, toldIn } from "./usage.ts";

const FINISHES: Readonly<Record<string, Finish>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tools",
  refusal: "filtered",
};

/** Tells reasoning that the upstream hides from the signature of one that it shows: a signature has no such character. */
const REDACTED = "redacted.";

/** A block of reasoning as its upstream sealed it. */
export function sealedBlock({ text, seal }: Pick<SealedReasoning, "text" | "seal">): JsonObject {
  return seal.startsWith(REDACTED)
    ? { type: "redacted_thinking", data: seal.slice(REDACTED.length) }
    : { type: "thinking", thinking: text, signature: seal };
}

/** Parses an event's JSON: one event, or those of a whole message. @throws {Refusal} the error that it reports. */
export function parseEvents(data: string): JsonObject[] {
  if (data === "[DONE]") return [{ type: "message_stop" }]; // relays end so
  const event = objectIn(data) ?? {};
  const error = reportedError(event);
  if (error !== undefined) throw upstreamFault(error);
  const { type, content } = event;
  if ((type ?? "message") === "message" && Array.isArray(content)) return eventsOf(event, content);
  if (typeof type !== "string") throw unusable("The upstream sent an invalid messages stream.");
  if (type === "error") throw upstreamFault(event.error);
  return [event];
}

/** The events of a whole message: some servers send it as the only event of a stream. */
function eventsOf(message: JsonObject, content: readonly JsonValue[]): JsonObject[] {
  const { stop_reason, stop_sequence = null, stop_details = null, usage = {}, ...rest } = message;
  return [
    { type: "message_start", message: { ...rest, content: [], usage } },
    ...content.filter(isObject).flatMap((block, index) => {
      const grown = [["text", "text_delta"], ["thinking", "thinking_delta"]]
        .filter(([field]) => block.type === field && text(block[field!]));
      const said = Object.fromEntries(grown.map(([field]) => [field, ""]));
      return [
        { type: "content_block_start", index, content_block: { ...block, ...said } },
        ...grown.map(([field, type]) => ({
          type: "content_block_delta",
          index,
          delta: { type: type!, [field!]: block[field!] },
        })),
        { type: "content_block_stop", index },
      ];
    }),
    {
      type: "message_delta",
      delta: { stop_reason: stop_reason ?? null, stop_sequence, stop_details },
      usage,
    },
    { type: "message_stop" },
  ];
}

/**
 * Reads a whole message.
 *
 * @throws {Refusal} `upstream_unavailable` and the like for a reported error, or a body that is not a message.
 */
export function readMessagesReply(body: unknown): ReadReply {
  checkMessage(body);
  const events = new MessagesReader().events(eventsOf(body, body.content));
  return { events, reports: messageReports(body) };
}

/** What a whole message reports. */
export function messageReports(body: JsonObject): UsageReports {
  return new UsageReports().add(readMessagesUsage(body.usage)).add(readBedrockUsage(body))
    .heard(toldIn(body));
}

/** @throws {Refusal} `upstream_unavailable` and the like for a reported error, or a body that is not a message. */
export function checkMessage(body: unknown): asserts body is JsonObject & { content: JsonValue[] } {
  if (isObject(body) && Array.isArray(body.content)) return;
  const error = isObject(body) ? reportedError(body) : undefined;
  if (error !== undefined) throw upstreamFault(error);
  throw unusable("The upstream's response is not a message.");
}

/** Reads the events of a messages stream as neutral events. */
export class MessagesReader implements EventReader {
  /** Whether `message_stop` came. */
  done = false;
  readonly reports = new UsageReports();
  hidesReasoning: boolean | undefined;
  readonly #repair = new EventRepair();
  /** Blocks of calls that are open and have no input so far, and those that have ended so. */
  readonly #unargued = new Set<number>();
  readonly #withoutInput = new Set<number>();
  /** Signatures of reasoning blocks that are open. */
  readonly #signatures = new Map<number, string>();
  /** Why the message ended, as far as it was read. */
  #reason: JsonValue | undefined;

  read(data: string): ReplyEvent[] {
    return this.events(parseEvents(data));
  }

  /** Reads events that are parsed already. */
  events(parsed: readonly JsonObject[]): ReplyEvent[] {
    return parsed.flatMap((event) => this.#repair.repair(event))
      .flatMap((event) => this.#event(event));
  }

  #event(event: JsonObject): ReplyEvent[] {
    switch (event.type) {
      case "message_start":
        if (isObject(event.message)) {
          const { message } = event;
          this.reports.add(readFirstUsage(message.usage)).heard(toldIn(message));
        }
        return [];
      case "content_block_start":
        return isObject(event.content_block)
          ? [...this.#endCalls(), ...this.#beginBlock(indexOf(event), event.content_block)]
          : [];
      case "content_block_delta":
        return isObject(event.delta) ? this.#delta(indexOf(event), event.delta) : [];
      case "content_block_stop":
        return this.#endBlock(indexOf(event));
      case "message_delta": {
        this.reports.add(readMessagesUsage(event.usage)).heard(toldIn(event));
        const { delta } = event;
        if (!isObject(delta) || delta.stop_reason === this.#reason) return [];
        this.#reason = delta.stop_reason;
        return [...this.#endCalls(delta.stop_reason), ...finishOf(delta)];
      }
      case "message_stop":
        this.reports.add(readBedrockUsage(event));
        this.done = true;
        return this.#endCalls(this.#reason);
      default:
        return [];
    }
  }

  /** A block begins, with whatever it holds already. */
  #beginBlock(index: number, block: JsonObject): ReplyEvent[] {
    switch (block.type) {
      case "text":
        return textEvents("text", text(block.text));
      case "thinking":
        this.hidesReasoning = true; // the text is a summary of it, or empty
        this.#signatures.set(index, text(block.signature) ?? "");
        return textEvents("reasoning", text(block.thinking));
      case "redacted_thinking": {
        this.hidesReasoning = true;
        const data = text(block.data) ?? "";
        return data === "" ? [] : [{ type: "seal", seal: `${REDACTED}${data}` }];
      }
      case "tool_use": {
        this.#unargued.add(index);
        return [{ ...callIn(index, ""), id: text(block.id) || undefined, name: text(block.name) }];
      }
      default:
        return [];
    }
  }

  /** The input of a call that ended without: it is empty, unless the message was cut off before it. */
  #endCalls(reason?: JsonValue): ReplyEvent[] {
    const calls = [...this.#withoutInput];
    this.#withoutInput.clear();
    return FINISHES[text(documentedStop(reason)) ?? ""] === "length"
      ? []
      : calls.map((index) => callIn(index, NO_ARGUMENTS));
  }

  /** A block ends: its signature follows now. */
  #endBlock(index: number): ReplyEvent[] {
    const seal = this.#signatures.get(index);
    this.#signatures.delete(index);
    if (this.#unargued.delete(index)) this.#withoutInput.add(index);
    return seal ? [{ type: "seal", seal }] : [];
  }

  #delta(index: number, delta: JsonObject): ReplyEvent[] {
    switch (delta.type) {
      case "text_delta":
        return textEvents("text", text(delta.text));
      case "thinking_delta":
        return textEvents("reasoning", text(delta.thinking));
      case "signature_delta": {
        const before = this.#signatures.get(index);
        const more = text(delta.signature) ?? "";
        if (before !== undefined) this.#signatures.set(index, before + more);
        return [];
      }
      case "input_json_delta": {
        const args = text(delta.partial_json) ?? "";
        if (args === "") return [];
        this.#unargued.delete(index);
        return [callIn(index, args)];
      }
      default:
        return [];
    }
  }
}

/** A piece of the arguments of the call in a block. */
function callIn(index: number, args: string): ReplyEvent & { type: "call" } {
  return { type: "call", key: `call${index}`, id: undefined, name: undefined, args };
}

/** A `stop_reason` as a neutral event. @throws {Refusal} `upstream_unavailable` for a failure. */
function finishOf(message: JsonObject): ReplyEvent[] {
  const reason = text(documentedStop(message.stop_reason));
  if (reason === undefined) return [];
  const details = isObject(message.stop_details) ? message.stop_details : {};
  const explanation = reason === "refusal" ? text(details.explanation) ?? "" : "";
  return [...textEvents("refusal", explanation), {
    type: "finish",
    finish: FINISHES[reason] ?? "stop",
    stopped: text(message.stop_sequence),
  }];
}

function textEvents(
  type: "text" | "reasoning" | "refusal",
  value: string | undefined,
): ReplyEvent[] {
  return value === undefined || value === "" ? [] : [{ type, text: value }];
}
