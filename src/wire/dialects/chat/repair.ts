import type { ReplyContext } from "../dialect.ts";
import { isObject, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import { type CallEvent, CallReader, CallWriter, ChatCallIds, wholeArgs } from "./calls.ts";
import { NO_ARGUMENTS } from "../neutral/call_args.ts";
import { customCall, CustomCalls } from "./custom_calls.ts";
import { documentedFinish } from "../neutral/finish.ts";
import { isOther, withOwnReasoning } from "./departures.ts";
import { deltaOf } from "./read_reply.ts";
import { ThinkTags } from "./think_tags.ts";

/** What of a request decides how its reply is repaired. */
export interface RepairOptions {
  /** Whether the upstream leaves reasoning between tags in the text. */
  readonly thinkTags: boolean;
  /** The names of the custom tools that are offered. */
  readonly custom: ReadonlySet<string>;
  /** The names of all tools that are offered. */
  readonly offered?: readonly string[] | undefined;
}

/** What repaired choices are named by. */
type ReplyNames = Pick<ReplyContext, "id" | "choice">;

/**
 * Repairs what chat SDKs fail over in the chunks of one choice, and leaves everything else as it is.
 *
 * - The first delta has a role, and no delta an empty one: SDKs reject either.
 * - Of a tool call the id, type and name come with its first piece and never again, indices are dense and
 *   one call's own: Ollama sends parallel calls under one index, which the `openai` SDK joins to one.
 * - A call of a custom tool is one, also where the upstream calls a function of its name.
 * - A call without arguments gets `{}`: clients parse them.
 * - A reply that calls tools ends with `tool_calls`, where some upstreams send `stop`, and agents stop then; no other does. Reasons that
 *   the dialect does not document become those that it does.
 * - A call without a name is left out.
 * - Reasoning among the parts of the content, or between tags in it, is in a field of its own (`departures.ts`).
 */
export class ChoiceRepair {
  readonly #replyId: string;
  #hasBegun = false;
  /** The reason that it has ended for, if it has. */
  #finish: JsonValue | undefined;
  /** Whether it calls tools of another kind, whose pieces are not understood. */
  #hasOthers = false;
  #reader: CallReader | undefined;
  #writer: CallWriter | undefined;

  readonly #tags: ThinkTags | undefined;
  readonly #custom: CustomCalls;
  readonly #offered: readonly string[] | undefined;

  /** @param choice Its first chunk's. */
  constructor(
    names: ReplyNames,
    choice: JsonObject,
    { thinkTags, custom, offered }: RepairOptions,
  ) {
    this.#offered = offered;
    this.#replyId = choiceId(names, choice);
    this.#tags = thinkTags ? new ThinkTags() : undefined;
    this.#custom = new CustomCalls(custom);
  }

  /** Returns a chunk's choice repaired; the same object when nothing is wrong with it. */
  repair(choice: JsonObject): JsonObject {
    const sent = deltaOf(choice, this.#hasBegun);
    const isLast = typeof documentedFinish(choice.finish_reason) === "string";
    const held = this.#withHeld(sent === undefined ? {} : this.#delta(sent), isLast);
    const delta = isLast ? this.#withArguments(held) : held;
    const called = this.#hasOthers || (this.#writer?.named ?? 0) > 0;
    const reason = finishOf(choice.finish_reason, called);
    const finish = isLast && reason === this.#finish ? null : reason; // clients may run calls again
    if (isLast) this.#finish = reason;
    const index = typeof choice.index === "number" ? choice.index : 0;
    if (
      delta === choice.delta && finish === choice.finish_reason && index === choice.index
    ) return choice;
    const { message: _, ...rest } = choice;
    return { ...rest, index, delta, finish_reason: finish ?? null };
  }

  /**
   * The last chunk's choice where the upstream sent none before its end mark: a reply that ends with whole calls is complete.
   * Undefined for any other.
   */
  end(index: number): JsonObject | undefined {
    if (this.#finish !== undefined || !this.#reader?.isComplete) return undefined;
    return this.repair({ index, delta: {}, finish_reason: "tool_calls" });
  }

  /** The last delta, with what was held back as it might have begun a tag. */
  #withHeld(delta: JsonObject, isLast: boolean): JsonObject {
    const held = isLast ? this.#tags?.end() : undefined;
    if (held === undefined || held.reasoning + held.text === "") return delta;
    const reasoning = (text(delta.reasoning_content) ?? "") + held.reasoning;
    const said = reasoning === "" ? {} : { reasoning_content: reasoning };
    return { ...delta, ...said, content: (text(delta.content) ?? "") + held.text };
  }

  /** The last delta, with what was held back of calls, and arguments for those that have none. */
  #withArguments(delta: JsonObject): JsonObject {
    if (this.#finish !== undefined) return delta;
    const held = (this.#reader?.end() ?? []).flatMap((event) => this.#written(event));
    const unargued = (this.#writer?.unargued ?? []).filter((index) => !this.#custom.has(index));
    const pieces = [
      ...held,
      ...unargued.map((index) => ({ index, function: { arguments: NO_ARGUMENTS } })),
      ...this.#custom.end(),
    ];
    if (pieces.length === 0) return delta;
    return { ...delta, tool_calls: [...objects(delta.tool_calls), ...pieces] };
  }

  #delta(sent: JsonObject): JsonObject {
    const delta = withOwnReasoning(sent, this.#tags);
    const first = !this.#hasBegun;
    this.#hasBegun = true;
    let repaired = delta;
    if (first && !text(delta.role)) repaired = { ...delta, role: "assistant" };
    else if (delta.role === "") {
      const { role: _, ...rest } = delta;
      repaired = rest;
    }
    this.#hasOthers ||= isObject(delta.function_call);
    if (Array.isArray(delta.tool_calls) && delta.tool_calls.length === 0) return repaired;
    const pieces = objects(delta.tool_calls);
    this.#hasOthers ||= pieces.some(isOther);
    if (this.#hasOthers) return repaired;
    const calls = pieces.flatMap((piece) => this.#call(piece));
    if (isSameList(delta.tool_calls, calls)) return repaired;
    const { tool_calls: _, ...rest } = repaired;
    return calls.length === 0 ? rest : { ...rest, tool_calls: calls };
  }

  #call(piece: JsonObject): JsonObject[] {
    this.#reader ??= new CallReader(this.#offered);
    return this.#written(this.#reader.read(piece), piece);
  }

  /** @param piece What the event was read from; empty for one that was held back. */
  #written(event: CallEvent, piece: JsonObject = {}): JsonObject[] {
    this.#writer ??= new CallWriter(this.#replyId);
    const written = this.#writer.write(event);
    if (written === undefined) return [];
    const custom = this.#custom.pieces(written);
    if (custom !== undefined) return custom;
    const { index, opening, args } = written;
    if (isUnchanged(piece, index, opening, args)) return [piece];
    const { id: _, type, function: own, ...rest } = piece;
    const { name: __, arguments: ___, ...more } = isObject(own) ? own : {};
    const begins = opening && { id: opening.id, type: text(type) || "function" };
    const named = opening && { name: opening.name };
    return [{ ...rest, index, ...begins, function: { ...more, ...named, arguments: args } }];
  }
}

/** Whether a list holds these objects and nothing else. None is the same as an empty one. */
function isSameList(list: JsonValue | undefined, objects: readonly JsonObject[]): boolean {
  const own = list ?? [];
  return Array.isArray(own) && own.length === objects.length &&
    objects.every((one, at) => one === own[at]);
}

/** Whether a piece is already as a client expects it; one without `arguments` adds nothing to them. */
function isUnchanged(
  piece: JsonObject,
  index: number,
  opening: { readonly id: string; readonly name: string } | undefined,
  args: string,
): boolean {
  const own = piece.function;
  if (!isObject(own) || piece.index !== index || (own.arguments ?? "") !== args) return false;
  return opening === undefined
    ? !("id" in piece || "type" in piece || "name" in own)
    : piece.id === opening.id && own.name === opening.name && text(piece.type) !== undefined &&
      piece.type !== "";
}

/** Basis of the ids for calls that have none: different for each of several choices. */
function choiceId({ id, choice }: ReplyNames, { index }: JsonObject): string {
  const own = choice ?? index;
  return typeof own === "number" && own > 0 ? `${id}_${own}` : id;
}

function finishOf(reason: JsonValue | undefined, called: boolean): JsonValue | undefined {
  const finish = documentedFinish(reason);
  if (finish === "error") return reason; // the reply fails, and its words say why
  if (finish !== "stop" && finish !== "tool_calls") return finish;
  return called ? "tool_calls" : "stop";
}

/** The same for the choice of a whole reply. */
export function repairChoice(
  choice: JsonObject,
  names: ReplyNames,
  { thinkTags, custom, place }: RepairOptions & { readonly place: number },
): JsonObject {
  if (!isObject(choice.message)) return choice;
  const message = ownReasoning(choice.message, thinkTags);
  const calls = objects(message.tool_calls);
  const ids = new ChatCallIds(choiceId(names, choice));
  const repaired = calls.filter((call) => isOther(call) || nameOf(call) !== "")
    .map((call, at) => repairCall(call, ids.of(text(call.id), at), custom));
  const called = repaired.length > 0 || isObject(message.function_call);
  // a reply that is whole has ended, and clients wait for a reason
  const finish = finishOf(choice.finish_reason ?? "stop", called) ?? finishOf("stop", called);
  const isUnchangedCalls = isSameList(message.tool_calls, repaired);
  const isUnchanged = isUnchangedCalls && message === choice.message;
  const index = typeof choice.index === "number" ? choice.index : place;
  const isSame = isUnchanged && finish === choice.finish_reason && index === choice.index;
  if (isSame && text(message.role)) return choice;
  const more = isUnchangedCalls ? {} : { tool_calls: repaired };
  return {
    ...choice,
    index,
    message: { ...message, role: text(message.role) || "assistant", ...more },
    finish_reason: finish!,
  };
}

/** A whole message with its reasoning in a field of its own. */
function ownReasoning(message: JsonObject, thinkTags: boolean): JsonObject {
  if (!thinkTags) return withOwnReasoning(message);
  const tags = new ThinkTags();
  const said = withOwnReasoning(message, tags);
  const held = tags.end();
  return held.reasoning + held.text === "" ? said : message; // a tag that never ends is text
}

function nameOf({ function: own }: JsonObject): string {
  return isObject(own) ? text(own.name) ?? "" : "";
}

function repairCall(call: JsonObject, id: string, custom: ReadonlySet<string>): JsonObject {
  const own = isObject(call.function) ? call.function : undefined;
  const name = nameOf(call);
  const args = wholeArgs(own?.arguments);
  if (custom.has(name)) return customCall(id, name, args);
  const isOwn = call.id === id;
  if (own === undefined) return isOwn ? call : { ...call, id };
  if (isOwn && text(call.type) && args !== "" && args === own.arguments) return call;
  return {
    ...call,
    id,
    type: text(call.type) || "function",
    function: { ...own, arguments: args || NO_ARGUMENTS },
  };
}
