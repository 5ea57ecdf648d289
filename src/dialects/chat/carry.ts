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
import { isObject, type JsonObject, type JsonValue, objects, withoutFields } from "../json.ts";
import { Meter, meterBeside, meterChoice } from "../meter.ts";
import type { SseEvent } from "../sse/mod.ts";
import type { Usage } from "../usage.ts";
import { brokenOff, mustNotHaveFailed, upstreamFault } from "./upstream_error.ts";
import { mustHaveFewChoices, parseChunk } from "./events.ts";
import { ChoiceMender, mendedChoice } from "./mend.ts";
import { CHAT_DEFAULTS } from "./schema.ts";
import { chatStreamEnd } from "./stream_end.ts";
import { readChatUsage, writeChatUsage } from "./usage.ts";

/**
 * Chat in front, chat behind: bodies go on as the objects they were.
 *
 * Changed in a request: `model`, the output limit, the defaults of left-out sampling fields and,
 * when streaming, `stream_options.include_usage`. Changed in a reply: `id`, `model`, `usage`
 * where the upstream sent none or the caller did not ask for it, and what SDKs stumble over (`mend.ts`).
 */
export const chatCarry: Bridge = {
  path: "/chat/completions",
  singleAnswer: false,
  request: carryRequest,
  answer: carryAnswer,
  stream: (asked, names) => new CarriedChatStream(asked, names),
};

const SAMPLING = ["temperature", "top_p", "frequency_penalty", "presence_penalty"];

function carryRequest(
  { body, stream }: Asked,
  { model, permittedOutput, shaping }: RequestOptions,
): BridgedRequest {
  const sent: JsonObject = { ...body, model };
  const asked = (body.max_completion_tokens ?? undefined) !== undefined;
  const limit = shaping.outputLimit ?? (asked ? "max_completion_tokens" : "max_tokens");
  delete sent.max_tokens;
  delete sent.max_completion_tokens;
  sent[limit] = permittedOutput;
  let ignored: string[] = [];
  if (shaping.fixedSampling) ignored = withoutFields(sent, SAMPLING);
  else if (!shaping.ownSampling) {
    sent.temperature ??= CHAT_DEFAULTS.temperature;
    sent.top_p ??= CHAT_DEFAULTS.top_p;
  }
  if (stream) {
    const options = isObject(body.stream_options) ? body.stream_options : {};
    sent.stream_options = { ...options, include_usage: true };
  }
  return { body: sent, ignored };
}

function carryAnswer(reply: unknown, _asked: Asked, names: AnswerNames): Answer {
  if (!isObject(reply) || !Array.isArray(reply.choices)) {
    if (isObject(reply) && reply.error !== undefined) throw upstreamFault(reply.error);
    throw new Refusal("upstream_unavailable", "The upstream's answer is not a chat completion.");
  }
  mustHaveFewChoices(reply);
  const { choice } = names;
  const choices = objects(reply.choices).map((one) => mendedChoice(one, names));
  if (choices.length === 0) {
    throw new Refusal("upstream_unavailable", "The upstream's answer holds no choice.");
  }
  choices.forEach(mustNotHaveFailed);
  const usage = readChatUsage(reply.usage) ?? readChatUsage(choices[0]?.usage);
  const body: JsonObject = { ...reply, id: names.id, model: names.model, choices };
  if (choice !== undefined) body.choices = [{ ...choices[0], index: choice }];
  return {
    body,
    choices: choice === undefined ? choices.length : 1,
    usage,
    withUsage: (counted) => ({ ...body, usage: writeChatUsage(counted) }),
    countOutput() {
      const meter = new Meter();
      meterBeside(meter, reply);
      for (const choice of choices) meterChoice(meter, choice);
      return meter.tokens;
    },
  };
}

class CarriedChatStream implements AnswerStream {
  finished = false;
  hasOutput = false;
  usage: Usage | undefined;
  readonly #meter = new Meter();
  readonly #names: AnswerNames;
  readonly #wantsUsage: boolean;
  readonly #ended = new Set<number>();
  readonly #choices: number;
  /** By the index of their choice. */
  readonly #menders: Record<number, ChoiceMender> = {};
  #created: JsonValue = Math.floor(Date.now() / 1_000);
  #rawUsage: JsonObject | undefined;

  constructor(asked: Asked, names: AnswerNames) {
    this.#names = names;
    this.#choices = asked.choices;
    const options = asked.body.stream_options;
    this.#wantsUsage = isObject(options) && options.include_usage === true;
  }

  get endedChoices(): number {
    return this.#ended.size;
  }

  get saidFinish(): boolean {
    return this.#ended.size >= this.#choices;
  }

  get countedOutput(): number {
    return this.#meter.tokens;
  }

  push({ data }: SseEvent): string {
    if (data === "[DONE]") {
      if (this.#ended.size === 0) throw brokenOff();
      this.finished = true;
      return "";
    }
    const chunk = parseChunk(data);
    if (chunk.error !== undefined && chunk.error !== null) throw upstreamFault(chunk.error);
    const choices = objects(chunk.choices).map((choice) => this.#mended(choice));
    this.#take(chunk, choices);
    if (choices.length === 0) return ""; // a usage chunk; ours is sent at the end
    const { id, model, choice } = this.#names;
    const sent: JsonObject = { ...chunk, id, model, choices };
    if (choice !== undefined) sent.choices = choices.map((one) => ({ ...one, index: choice }));
    if (this.#wantsUsage) sent.usage = null;
    else delete sent.usage;
    return `data: ${JSON.stringify(sent)}\n\n`;
  }

  end(): void {
    if (this.finished) return;
    if (this.#ended.size < this.#choices) throw brokenOff();
    this.finished = true; // all choices have ended; some upstreams send no [DONE]
  }

  truncate(): string {
    const { id, model, choice } = this.#names;
    const indices = choice === undefined
      ? Array.from({ length: this.#choices }, (_, index) => index)
      : [choice];
    return indices.filter((index) => !this.#ended.has(index)).map((index) => {
      const chunk = {
        id,
        object: "chat.completion.chunk",
        created: this.#created,
        model,
        choices: [{ index, delta: {}, logprobs: null, finish_reason: "length" }],
        ...(this.#wantsUsage ? { usage: null } : {}),
      };
      return `data: ${JSON.stringify(chunk)}\n\n`;
    }).join("");
  }

  close(usage: Usage): string {
    if (this.#names.choice !== undefined) return "";
    const last = this.#wantsUsage ? this.#rawUsage ?? writeChatUsage(usage) : undefined;
    return chatStreamEnd(this.#names, this.#created, last);
  }

  ping(): string {
    return ": ping\n\n";
  }

  #mended(choice: JsonObject): JsonObject {
    const index = typeof choice.index === "number" ? choice.index : 0;
    const mended = (this.#menders[index] ??= new ChoiceMender(this.#names, choice)).mend(choice);
    if (!isObject(mended.delta) || mended.message === undefined) return mended;
    const { message: _, ...rest } = mended; // all that was said so far, once more
    return rest;
  }

  #take(chunk: JsonObject, choices: readonly JsonObject[]): void {
    if (chunk.created !== undefined) this.#created = chunk.created;
    for (const reported of [chunk.usage, choices[0]?.usage]) {
      const usage = readChatUsage(reported);
      if (usage === undefined) continue;
      this.usage = usage;
      this.#rawUsage = reported as JsonObject;
      break;
    }
    if (meterBeside(this.#meter, chunk)) this.hasOutput = true;
    for (const choice of choices) {
      if (meterChoice(this.#meter, choice)) this.hasOutput = true;
      mustNotHaveFailed(choice);
      if (typeof choice.finish_reason === "string") {
        this.#ended.add(typeof choice.index === "number" ? choice.index : 0);
      }
    }
  }
}
