import { Refusal } from "../../refusal.ts";
import type {
  Answer,
  AnswerNames,
  AnswerStream,
  Asked,
  Bridge,
  BridgedRequest,
  RequestOptions,
} from "../bridge.ts";
import { brokenOff, upstreamFault } from "../chat/upstream_error.ts";
import {
  isObject,
  type JsonObject,
  type JsonValue,
  objects,
  text,
  withoutFields,
} from "../json.ts";
import { Meter, meterEvent } from "../meter.ts";
import type { SseEvent } from "../sse/mod.ts";
import type { Usage } from "../usage.ts";
import { SIGNATURE } from "./encoder.ts";
import { CallIds, withUpstreamsIds } from "./call_ids.ts";
import { parseEvent } from "./events.ts";
import { plainId } from "./from_neutral.ts";
import { LEAST_BUDGET, MESSAGES_DEFAULTS } from "./schema.ts";
import { MessagesUsage, writeMessagesUsage } from "./usage.ts";

/**
 * Messages in front, messages behind: bodies go on as the objects they were.
 *
 * Changed in a request: `model`, `max_tokens`, a reasoning budget that is not below it, the defaults of
 * `temperature` (where the model does not think) and of the effort, and for an upstream that verifies
 * what others said. Changed in a reply: `id`, `model`, and ids of calls that the conversation has already.
 */
export const messagesCarry: Bridge = {
  path: "/messages",
  singleAnswer: true,
  request: carryRequest,
  answer: carryAnswer,
  stream: (asked, names) => new CarriedMessagesStream(names, new CallIds(asked.body)),
};

const SAMPLING = ["temperature", "top_p", "top_k"];

function carryRequest(
  { body, reasoning }: Asked,
  { model, permittedOutput, shaping }: RequestOptions,
): BridgedRequest {
  const sent: JsonObject = { ...body, model, max_tokens: permittedOutput };
  const messages = objects(body.messages);
  sent.messages = shaping.signedReasoning ? messages.flatMap(asItsOwn) : withUpstreamsIds(messages);
  if (isObject(body.thinking)) sent.thinking = withinLimit(body.thinking, permittedOutput);
  if (reasoning?.effort !== undefined) {
    const config = isObject(body.output_config) ? body.output_config : {};
    sent.output_config = { effort: reasoning.effort, ...config };
  }
  const thinks = isObject(sent.thinking) && sent.thinking.type !== "disabled";
  const ignored: string[] = [];
  if (!thinks && isObject(body.thinking) && body.thinking.type !== "disabled") {
    ignored.push("thinking");
  }
  if (shaping.fixedSampling) ignored.push(...withoutFields(sent, SAMPLING));
  else if (!thinks && !shaping.ownSampling) {
    sent.temperature ??= MESSAGES_DEFAULTS.temperature;
  }
  return { body: sent, ignored };
}

/**
 * A message as an upstream takes it that verifies what it is sent back. An earlier answer may have come from
 * another one: reasoning that was signed here is left out, and ids are written as its dialect has them.
 */
function asItsOwn(message: JsonObject): JsonObject[] {
  if (!Array.isArray(message.content)) return [message];
  const content = message.content
    .filter((block) => !(isObject(block) && block.signature === SIGNATURE))
    .map((block) => {
      if (!isObject(block)) return block;
      if (block.type === "tool_use") return { ...block, id: plainId(text(block.id) ?? "") };
      if (block.type !== "tool_result") return block;
      return { ...block, tool_use_id: plainId(text(block.tool_use_id) ?? "") };
    });
  return content.length === 0 ? [] : [{ ...message, content }];
}

/** Reasoning has to leave room for an answer: its budget is below `max_tokens`, which may be lowered here. */
function withinLimit(thinking: JsonObject, permittedOutput: number): JsonObject {
  const { budget_tokens: budget } = thinking;
  if (typeof budget !== "number" || budget < permittedOutput) return thinking;
  return permittedOutput > LEAST_BUDGET
    ? { ...thinking, budget_tokens: permittedOutput - 1 }
    : { type: "disabled" };
}

function carryAnswer(reply: unknown, asked: Asked, names: AnswerNames): Answer {
  if (!isObject(reply) || !Array.isArray(reply.content)) {
    if (isObject(reply) && isObject(reply.error)) throw upstreamFault(reply.error);
    throw new Refusal("upstream_unavailable", "The upstream's answer is not a message.");
  }
  const ids = new CallIds(asked.body);
  const content = reply.content.map((block) => isObject(block) ? withOwnId(block, ids) : block);
  const body: JsonObject = { ...reply, id: names.id, model: names.model, content };
  const reported = new MessagesUsage();
  reported.add(reply.usage);
  return {
    choices: 1,
    usage: reported.usage,
    body,
    withUsage: (usage) => ({ ...body, usage: writeMessagesUsage(usage) }),
    countOutput() {
      const meter = new Meter();
      const { id: _id, model: _model, ...said } = reply;
      meter.addTexts(said);
      return meter.tokens;
    },
  };
}

function withOwnId(block: JsonObject, ids: CallIds): JsonObject {
  if (block.type !== "tool_use" || typeof block.id !== "string") return block;
  return { ...block, id: ids.own(block.id) };
}

class CarriedMessagesStream implements AnswerStream {
  finished = false;
  hasOutput = false;
  readonly #names: AnswerNames;
  readonly #ids: CallIds;
  readonly #usage = new MessagesUsage();
  readonly #meter = new Meter();
  #stopped = false;
  /** Index of the block that has begun and not ended. */
  #open: JsonValue | undefined;

  constructor(names: AnswerNames, ids: CallIds) {
    this.#names = names;
    this.#ids = ids;
  }

  get usage(): Usage | undefined {
    return this.#usage.usage;
  }

  get endedChoices(): number {
    return this.#stopped ? 1 : 0;
  }

  get saidFinish(): boolean {
    return this.#stopped;
  }

  get countedOutput(): number {
    return this.#meter.tokens;
  }

  push({ data }: SseEvent): string {
    const event = parseEvent(data);
    switch (event.type) {
      case "message_start":
        if (isObject(event.message)) {
          this.#usage.begin(event.message.usage);
          event.message = { ...event.message, id: this.#names.id, model: this.#names.model };
        }
        break;
      case "content_block_stop":
        this.#open = undefined;
        break;
      case "content_block_start":
        this.#open = event.index;
        if (isObject(event.content_block)) {
          event.content_block = withOwnId(event.content_block, this.#ids);
        }
        break;
      case "message_delta":
        this.#usage.add(event.usage);
        if (isObject(event.delta) && typeof event.delta.stop_reason === "string") {
          this.#stopped = true;
        }
        break;
      case "message_stop":
        if (!this.#stopped) throw brokenOff();
        this.finished = true;
        return ""; // said when the usage is settled
    }
    if (meterEvent(this.#meter, event)) this.hasOutput = true;
    return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  }

  end(): void {
    if (this.finished) return;
    if (!this.#stopped) throw brokenOff();
    this.finished = true;
  }

  truncate(): string {
    const events: JsonObject[] = [
      ...(this.#open === undefined ? [] : [{ type: "content_block_stop", index: this.#open }]),
      {
        type: "message_delta",
        delta: { stop_reason: "max_tokens", stop_sequence: null },
        usage: { output_tokens: this.countedOutput },
      },
    ];
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join("");
  }

  close(_usage: Usage): string {
    return 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
  }

  ping(): string {
    return 'event: ping\ndata: {"type":"ping"}\n\n';
  }
}
