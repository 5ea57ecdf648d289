import type { AnswerNames } from "../bridge.ts";
import { isObject, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import { argsText, CallReader, CallWriter, madeCallId } from "./calls.ts";
import { saidIn } from "./events.ts";

/**
 * Puts right what chat SDKs stumble over in the chunks of one choice, and leaves everything else as it is.
 *
 * - The first delta has a role, and none an empty one: SDKs refuse either.
 * - Of a tool call the id, type and name come with its first piece and never again, indices are dense and
 *   one call's own: Ollama sends parallel calls under one index, which the `openai` SDK joins to one.
 * - An answer that calls tools ends with `tool_calls`: some upstreams say `stop`, and agents stop then.
 */
export class ChoiceMender {
  readonly #answerId: string;
  #begun = false;
  /** Whether it calls tools of another kind, whose pieces have no function: nothing is known of them. */
  #hasOthers = false;
  #reader: CallReader | undefined;
  #writer: CallWriter | undefined;

  /** @param choice Its first chunk's. */
  constructor(names: AnswerNames, choice: JsonObject) {
    this.#answerId = choiceId(names, choice);
  }

  /** The choice of a chunk; the same object when nothing is wrong with it. */
  mend(choice: JsonObject): JsonObject {
    const said = saidIn(choice, this.#begun);
    const delta = said === undefined ? {} : this.#delta(said);
    const finish = finishOf(choice.finish_reason, (this.#writer?.named ?? 0) > 0);
    const index = typeof choice.index === "number" ? choice.index : 0;
    if (
      delta === choice.delta && finish === choice.finish_reason && index === choice.index
    ) return choice;
    const { message: _, ...rest } = choice;
    return { ...rest, index, delta, finish_reason: finish ?? null };
  }

  #delta(delta: JsonObject): JsonObject {
    const first = !this.#begun;
    this.#begun = true;
    let mended = delta;
    if (first && !text(delta.role)) mended = { ...delta, role: "assistant" };
    else if (delta.role === "") {
      const { role: _, ...rest } = delta;
      mended = rest;
    }
    if (!Array.isArray(delta.tool_calls) || delta.tool_calls.length === 0) return mended;
    const pieces = objects(delta.tool_calls);
    this.#hasOthers ||= pieces.some(({ type }) =>
      (type ?? "function") !== "function" && type !== ""
    );
    if (this.#hasOthers) return mended;
    const calls = pieces.flatMap((piece) => this.#call(piece));
    if (calls.every((call, at) => call === pieces[at]) && calls.length === pieces.length) {
      return mended;
    }
    const { tool_calls: _, ...rest } = mended;
    return calls.length === 0 ? rest : { ...rest, tool_calls: calls };
  }

  #call(piece: JsonObject): JsonObject[] {
    this.#reader ??= new CallReader();
    this.#writer ??= new CallWriter(this.#answerId);
    const written = this.#writer.write(this.#reader.read(piece));
    if (written === undefined) return [];
    const { index, opening, args } = written;
    if (isAsWritten(piece, index, opening, args)) return [piece];
    const { id: _, type, function: own, ...rest } = piece;
    const { name: __, arguments: ___, ...more } = isObject(own) ? own : {};
    const begins = opening && { id: opening.id, type: text(type) || "function" };
    const named = opening && { name: opening.name };
    return [{ ...rest, index, ...begins, function: { ...more, ...named, arguments: args } }];
  }
}

/** Whether a piece is already what a client takes; one without `arguments` adds none to them. */
function isAsWritten(
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

/** From which the ids of calls are made that have none: another one for each of several answers. */
function choiceId({ id, choice }: AnswerNames, { index }: JsonObject): string {
  const own = choice ?? index;
  return typeof own === "number" && own > 0 ? `${id}_${own}` : id;
}

function finishOf(finish: JsonValue | undefined, called: boolean): JsonValue | undefined {
  return called && finish === "stop" ? "tool_calls" : finish;
}

/** A whole answer's choice, put right in the same way; the same object when nothing is wrong with it. */
export function mendedChoice(choice: JsonObject, names: AnswerNames): JsonObject {
  if (!isObject(choice.message)) return choice;
  const { message } = choice;
  const calls = objects(message.tool_calls);
  const answerId = choiceId(names, choice);
  const mended = calls.map((call, at) => mendedCall(call, madeCallId(answerId, at)));
  const finish = finishOf(choice.finish_reason, calls.length > 0);
  const asItWas = mended.every((call, at) => call === calls[at]);
  if (asItWas && finish === choice.finish_reason && text(message.role)) return choice;
  const more = asItWas ? {} : { tool_calls: mended };
  return {
    ...choice,
    message: { ...message, role: text(message.role) || "assistant", ...more },
    finish_reason: finish ?? null,
  };
}

function mendedCall(call: JsonObject, id: string): JsonObject {
  const own = isObject(call.function) ? call.function : undefined;
  const isWhole = text(call.id) && text(call.type);
  if (own === undefined || isWhole && typeof own.arguments === "string") return call;
  return {
    ...call,
    id: text(call.id) || id,
    type: text(call.type) || "function",
    function: { ...own, arguments: argsText(own.arguments) },
  };
}
