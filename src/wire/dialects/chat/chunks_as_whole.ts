import type { Reply, ReplyContext, WholeOfStream } from "../dialect.ts";
import { isObject, type JsonObject, type JsonValue, objects } from "../json.ts";
import type { SseEvent } from "../sse/mod.ts";
import { brokenOff } from "../upstream_error.ts";
import { customTools } from "./custom_calls.ts";
import { readUsage } from "../usage_names.ts";
import { usageIn } from "./departures.ts";
import { ReasoningDetails } from "./extra_content.ts";
import { ownIndex } from "./one_choice.ts";
import { parseChunk, parseLate } from "./read_reply.ts";
import { ChoiceRepair } from "./repair.ts";

/** A choice, as far as its chunks have said it. */
interface Choice {
  readonly repair: ChoiceRepair;
  readonly said: JsonObject;
  readonly message: JsonObject;
  readonly details: ReasoningDetails;
}

/** The chunks of a chat stream as the completion that they say, each choice by itself. */
export class ChunksAsWhole implements WholeOfStream {
  done = false;
  readonly #context: ReplyContext;
  readonly #carry: (body: JsonObject, context: ReplyContext) => Reply;
  readonly #choices = new Map<number, Choice>();
  readonly #body: JsonObject = { usage: null };

  /** @param carry Makes a reply of a completion. */
  constructor(
    context: ReplyContext,
    carry: (body: JsonObject, context: ReplyContext) => Reply,
  ) {
    this.#context = context;
    this.#carry = carry;
  }

  get lacksUsage(): boolean {
    return this.done && this.#body.usage === null;
  }

  push({ data }: SseEvent): void {
    if (this.done) return this.#takeUsage(parseLate(data));
    if (data === "[DONE]") {
      this.done = true;
      for (const [index, choice] of this.#choices) take(choice, choice.repair.end(index) ?? {});
      return;
    }
    const chunk = parseChunk(data);
    const { choices, object: _, usage: __, ...beside } = chunk;
    Object.assign(this.#body, beside);
    this.#takeUsage(chunk);
    const { request } = this.#context;
    for (const one of objects(choices)) this.#add(ownIndex(one, request.choices));
  }

  reply(): Reply {
    const all = [...this.#choices].toSorted(([one], [other]) => one - other);
    const choices = all.map(([, { said, message, details: { all } }]): JsonObject => ({
      ...said,
      message: all.length === 0 ? message : { ...message, reasoning_details: [...all] },
    }));
    const isWhole = choices.every(({ finish_reason: reason }) => typeof reason === "string");
    if (choices.length === 0 || !isWhole) throw brokenOff();
    return this.#carry({ ...this.#body, choices }, this.#context);
  }

  #takeUsage(chunk: JsonObject): void {
    const all = usageIn(chunk, objects(chunk.choices)[0]);
    const usage = all.find((one) => readUsage(one)) as JsonValue | undefined;
    if (usage !== undefined) this.#body.usage = usage;
  }

  #add(given: JsonObject): void {
    const index = typeof given.index === "number" ? given.index : 0;
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      const { written: { thinkTags = false, offered }, request } = this.#context;
      const repair = new ChoiceRepair(this.#context, given, {
        thinkTags,
        custom: customTools(request.body),
        offered,
      });
      choice = { repair, said: {}, message: {}, details: new ReasoningDetails() };
      this.#choices.set(index, choice);
    }
    take(choice, choice.repair.repair(given));
  }
}

/** Adds the repaired choice of a chunk to what was said before. */
function take(choice: Choice, { delta, message: _, usage: __, ...more }: JsonObject): void {
  merge(choice.said, more);
  if (!isObject(delta)) return;
  const { reasoning_details: ___, ...own } = delta;
  choice.details.add(delta);
  merge(choice.message, own);
}

/** Fields that are said again and again, and not piece by piece. */
const SAID_ONCE = new Set(["role", "id", "type", "name", "index", "finish_reason"]);

/** Adds the pieces of a delta to what was said before: texts and lists grow, calls by their indices. */
function merge(said: JsonObject, more: JsonObject): void {
  for (const [field, value] of Object.entries(more)) {
    const before = said[field];
    if (value === undefined || value === null) said[field] ??= value ?? null;
    else if (typeof value === "string" && typeof before === "string" && !SAID_ONCE.has(field)) {
      said[field] = before + value;
    } else if (field === "tool_calls" && Array.isArray(value)) {
      said[field] = withPieces(Array.isArray(before) ? before as JsonObject[] : [], objects(value));
    } else if (Array.isArray(value) && Array.isArray(before)) {
      for (const one of value) before.push(one);
    } else if (isObject(value) && isObject(before)) merge(before, value);
    else said[field] = value;
  }
}

/** Calls with further pieces of them, which a repair has numbered. */
function withPieces(calls: JsonObject[], pieces: readonly JsonObject[]): JsonObject[] {
  for (const { index, ...piece } of pieces) {
    const at = typeof index === "number" ? Math.min(index, calls.length) : calls.length;
    merge(calls[at] ??= {}, piece);
  }
  return calls;
}
