import {
  isObject,
  type JsonObject,
  type JsonValue,
  objectIn,
  text,
  withoutNulls,
} from "../json.ts";
import { CallArgs } from "../neutral/call_args.ts";
import { checkFinish, documentedFinish } from "../neutral/finish.ts";

/**
 * The input of a call as JSON, whatever form an upstream of the dialect gave it: an object, or JSON as a text.
 *
 * @returns `{}` for none.
 */
export function inputText(input: JsonValue | undefined): string {
  return isObject(input) ? JSON.stringify(input) : text(input)?.trim() || "{}";
}

/** The index of an event's block; some upstreams leave it out. */
export function indexOf(event: JsonObject): number {
  return typeof event.index === "number" ? event.index : 0;
}

/** Whether a block is a call that no client can run, as it has no name. */
function isUnnamedCall({ type, name }: JsonObject): boolean {
  return type === "tool_use" && !text(name);
}

/** A block with the texts that SDKs add deltas to. */
function withTexts(block: JsonObject): JsonObject {
  const empty = EMPTY.get(text(block.type) ?? "") ?? {};
  const missing = Object.keys(empty).filter((field) => typeof block[field] !== "string");
  return missing.length === 0
    ? block
    : { ...block, ...Object.fromEntries(missing.map((field) => [field, empty[field]!])) };
}

/**
 * A block of a whole message; the input of a call is an object. Undefined for a call without a name.
 *
 * @param unsigned Signs reasoning that its upstream has not signed.
 */
export function repairBlock(block: JsonObject, unsigned: string): JsonObject | undefined {
  if (isUnnamedCall(block)) return undefined;
  if (block.type === "thinking") {
    return text(block.signature) ? withTexts(block) : { ...withTexts(block), signature: unsigned };
  }
  if (block.type !== "tool_use") return withTexts(block);
  if (isObject(block.input)) return block;
  return { ...block, input: objectIn(inputText(block.input)) ?? {} }; // cut off, or no JSON
}

/** Reasons that the dialect documents (docs.claude.com, "Handling stop reasons", and of betas). */
const STOPS = new Set([
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "pause_turn",
  "refusal",
  "model_context_window_exceeded",
  "compaction",
]);
/** The reason for each that chat documents. */
const STOP_OF: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal",
};

/**
 * A reason that the dialect documents; an empty one is none.
 *
 * @throws {Refusal} `upstream_unavailable` for a failure.
 */
export function documentedStop(reason: JsonValue | undefined): JsonValue | undefined {
  if (typeof reason !== "string" || STOPS.has(reason)) return reason;
  checkFinish(reason);
  return STOP_OF[text(documentedFinish(reason)) ?? ""] ?? null;
}

/** The documented reason of a message. One that calls tools ends with `tool_use`, where agents would stop at `end_turn`; no other does. */
export function repairedStop(said: JsonValue | undefined, calls: boolean): JsonValue | undefined {
  const reason = documentedStop(said);
  if (reason !== "end_turn" && reason !== "tool_use") return reason;
  return calls ? "tool_use" : "end_turn";
}

/** The type of block that a delta of each type belongs to, and the field with its text. */
const DELTAS: ReadonlyMap<string, { readonly block: string; readonly field?: string }> = new Map([
  ["text_delta", { block: "text", field: "text" }],
  ["citations_delta", { block: "text" }],
  ["thinking_delta", { block: "thinking", field: "thinking" }],
  ["signature_delta", { block: "thinking", field: "signature" }],
  ["input_json_delta", { block: "tool_use", field: "partial_json" }],
]);
/** Blocks without their deltas. A call cannot be begun without its name. */
const EMPTY: ReadonlyMap<string, JsonObject> = new Map<string, JsonObject>([
  ["text", { type: "text", text: "" }],
  ["thinking", { type: "thinking", thinking: "", signature: "" }],
]);
const KNOWN_BLOCKS = new Set(
  [...DELTAS.values()].map(({ block }) => block).concat("redacted_thinking"),
);

/** What a delta belongs to, and where its text is; undefined for one that is not known. */
export function deltaKind(
  { type }: JsonObject,
): { readonly block?: string; readonly field?: string } {
  return DELTAS.get(text(type) ?? "") ?? {};
}

/** A block that has begun and not ended. */
interface Block {
  readonly index: number;
  readonly type: string;
  /** Input that came with the start of a call, as long as no delta has come. */
  input: string;
  /** What came of it since. */
  readonly args: CallArgs;
  isArgued: boolean;
  /** What signs reasoning, as long as no delta has said it; empty for nothing. */
  signature: string;
}

/**
 * Repairs what SDKs fail over, or lose text by, in the events of a stream.
 *
 * - Blocks are numbered 0, 1, …: SDKs keep them in a list. Some upstreams begin at 1, skip a number, or use one again.
 * - A block is begun before its first delta, a delta's type fits its block, and a block ends before the next one, or the message, does.
 *   Calls may be interleaved.
 * - The input of a call comes in deltas: Claude Code and Anthropic's SDKs take it from them alone.
 * - A call without a name is left out, and so is a delta without its text, which SDKs would add as `null`.
 * - The signature of reasoning comes in a delta: some SDKs take it from there alone, and drop reasoning that has none from the history,
 *   without which Kimi's and DeepSeek's services reject calls of tools.
 * - A message ends by a documented reason, and what its end has said is not taken back by a later one.
 */
export class EventRepair {
  #calls = false;
  readonly #unsigned: string;
  /** What the message's end has said so far. */
  #ending: JsonObject = {};
  #begun = 0;
  /** By the upstream's index. */
  readonly #open = new Map<number, Block>();
  /** The upstream's index of the open block that is not a call: there is one at most. */
  #other: number | undefined;

  /** @param unsigned Signs reasoning that its upstream has not signed. Default: nothing does. */
  constructor(unsigned = "") {
    this.#unsigned = unsigned;
  }

  /**
   * Returns the events to send instead of one.
   *
   * @throws {Refusal} `upstream_unavailable` for a reason to stop that is a failure.
   */
  repair(event: JsonObject): JsonObject[] {
    const { type, content_block: block, delta } = event;
    switch (type) {
      case "content_block_start":
        return isObject(block) ? this.#begin(event, block) : [];
      case "content_block_delta":
        return isObject(delta) ? this.#delta(event, delta) : [];
      case "content_block_stop":
        return this.#end(event);
      case "message_delta": {
        const ending = this.#endingOf(isObject(delta) ? delta : {});
        const isSame = isObject(delta) && ending.stop_reason === delta.stop_reason;
        const repaired = isSame ? event : { ...event, delta: ending };
        return typeof ending.stop_reason === "string" ? [...this.endAll(), repaired] : [repaired];
      }
      default:
        return [event];
    }
  }

  /** What ends a message: the reason is documented, and stays where a later event has none (usage may come in one of its own). */
  #endingOf(delta: JsonObject): JsonObject {
    const own = repairedStop(delta.stop_reason, this.#calls);
    const isLate = typeof own !== "string" && typeof this.#ending.stop_reason === "string";
    this.#ending = isLate
      ? { ...withoutNulls(delta), ...this.#ending }
      : { ...delta, stop_reason: own ?? null };
    return this.#ending;
  }

  /** The events that end what is open. */
  endAll(): JsonObject[] {
    return [...this.#open.keys()].flatMap((index) => this.#endAt(index));
  }

  #endAt(index: number | undefined): JsonObject[] {
    return index === undefined ? [] : this.#end({ type: "content_block_stop", index });
  }

  #begin(event: JsonObject, block: JsonObject): JsonObject[] {
    const at = indexOf(event);
    const ended = [...this.#endAt(at), ...this.#endAt(this.#other)];
    if (isUnnamedCall(block)) return ended;
    const isCall = block.type === "tool_use";
    if (!isCall) this.#other = at;
    this.#calls ||= isCall;
    const index = this.#begun++;
    const input = isCall ? inputText(block.input) : "{}";
    const type = text(block.type) ?? "";
    const signature = type === "thinking" ? text(block.signature) || this.#unsigned : "";
    this.#open.set(at, { index, type, input, args: new CallArgs(), isArgued: false, signature });
    const sent = isCall
      ? { ...block, input: {} }
      : type === "thinking"
      ? { ...withTexts(block), signature: "" }
      : withTexts(block);
    return [...ended, { ...event, index, content_block: sent }];
  }

  #delta(event: JsonObject, delta: JsonObject): JsonObject[] {
    const at = indexOf(event);
    const { block: kind, field } = deltaKind(delta);
    if (field !== undefined && typeof delta[field] !== "string") return [];
    const begun: JsonObject[] = [];
    let block = this.#open.get(at);
    // some SDKs throw at a delta that they do not know; a block that is not known may have any
    if (kind === undefined && KNOWN_BLOCKS.has(block?.type ?? "")) return [];
    if (block === undefined || kind !== undefined && !takes(block, kind)) {
      const empty = EMPTY.get(kind ?? "");
      if (empty === undefined) return [];
      const start = { type: "content_block_start", index: at };
      begun.push(...this.#begin(start, { ...empty }));
      block = this.#open.get(at)!;
    }
    const { index, type } = block;
    if (text(delta.signature)) block.signature = "";
    const piece = text(delta.partial_json) ?? "";
    const added = type === "tool_use" ? block.args.add(piece, !block.isArgued) : piece;
    block.isArgued ||= piece !== "";
    if (added !== piece) {
      return added === "" ? begun : [...begun, argsDelta(index, added)];
    }
    return [...begun, event.index === index ? event : { ...event, index }];
  }

  #end(event: JsonObject): JsonObject[] {
    const at = indexOf(event);
    const block = this.#open.get(at);
    if (block === undefined) return [];
    this.#open.delete(at);
    if (this.#other === at) this.#other = undefined;
    const { index, input, args, isArgued, signature } = block;
    const own = isArgued || input === "{}" ? "" : input;
    const held = args.isEmpty ? input : args.end() || own;
    return [
      ...(held === "" ? [] : [argsDelta(index, held)]),
      ...(signature === "" ? [] : [blockDelta(index, { type: "signature_delta", signature })]),
      { ...event, index },
    ];
  }
}

function argsDelta(index: number, args: string): JsonObject {
  return blockDelta(index, { type: "input_json_delta", partial_json: args });
}

function blockDelta(index: number, delta: JsonObject): JsonObject {
  return { type: "content_block_delta", index, delta };
}

/** Whether a block takes deltas of a kind. One of an unknown type may take any. */
function takes({ type }: Block, kind: string): boolean {
  return type === kind || !KNOWN_BLOCKS.has(type);
}
