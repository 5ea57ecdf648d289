import {
  type Bridge,
  type ParsedRequest,
  type Reply,
  type ReplyContext,
  type ReplyStream,
  type StreamContext,
  streamContextOf,
  type WriteOptions,
  type WrittenRequest,
} from "../dialect.ts";
import {
  isObject,
  type JsonObject,
  type JsonValue,
  objects,
  text,
  withoutFields,
  withoutNulls,
} from "../json.ts";
import { Meter } from "../meter.ts";
import { MeteredStream } from "../metered_stream.ts";
import { meterBeside, meterChoice, saysReasoning } from "../meter_reply.ts";
import { OutputBudget } from "../output_budget.ts";
import type { SseEvent } from "../sse/mod.ts";
import { isSameUsage, type Usage } from "../usage.ts";
import { readUsage } from "../usage_names.ts";
import { UsageReports } from "../usage_reports.ts";
import { fitSampling } from "../sampling.ts";
import { brokenOff, unusable } from "../upstream_error.ts";
import { ChunksAsWhole } from "./chunks_as_whole.ts";
import { customTools } from "./custom_calls.ts";
import { offeredNames, putInPlace, usageIn } from "./departures.ts";
import {
  chatReports,
  checkChoiceCount,
  checkNoError,
  checkNotFailed,
  parseChunk,
  parseLate,
} from "./read_reply.ts";
import { ChoiceRepair, repairChoice } from "./repair.ts";
import { withoutSeals } from "./signatures.ts";
import { asOneChoice, ownIndex } from "./one_choice.ts";
import { chatStreamEnd } from "./stream_end.ts";
import { withOwnNames, writeChatUsage } from "./usage.ts";
import { wantsUsage } from "./writer.ts";

/**
 * Chat between a client and an upstream that both speak it: bodies go on as the objects that they are.
 *
 * Changed in a request: `model`, the output limit, the defaults of omitted sampling fields and,
 * when streaming, `stream_options.include_usage`. Changed in a reply: `id`, `model`, `system_fingerprint` where the
 * upstream sent none, `usage` where the upstream sent none or the client did not ask for it, and what SDKs fail over (`repair.ts`).
 */
export const chatCarry: Bridge = {
  singleChoice: false,
  request: carryRequest,
  reply: carryReply,
  stream: (context) => new CarriedChatStream(context),
  streamAsWhole: (context) => new ChunksAsWhole(context, carryReply),
};

const SAMPLING = ["temperature", "top_p", "frequency_penalty", "presence_penalty"];

function carryRequest(
  { body, stream }: ParsedRequest,
  { model, permittedOutput, shaping }: WriteOptions,
): WrittenRequest {
  const sent: JsonObject = { ...withoutNulls(body), model };
  sent.messages = withoutSeals(sent.messages);
  const isNew = (body.max_completion_tokens ?? undefined) !== undefined;
  const limit = shaping.outputLimit ?? (isNew ? "max_completion_tokens" : "max_tokens");
  delete sent.max_tokens;
  delete sent.max_completion_tokens;
  sent[limit] = permittedOutput;
  const dropped = fitSampling(sent, shaping, SAMPLING);
  if (shaping.signedReasoning) dropped.push(...withoutReasoning(sent));
  if (stream) {
    const options = isObject(body.stream_options) ? body.stream_options : {};
    sent.stream_options = { ...options, include_usage: true };
  } else delete sent.stream_options; // services reject it there
  return { body: sent, dropped, offered: offeredNames(sent) };
}

/** Fields of a message that hold its reasoning. */
const REASONING = ["reasoning_content", "reasoning", "reasoning_details"];

/** Takes earlier reasoning out of a request, for an upstream that did not sign it. Returns the names of what was there. */
function withoutReasoning(sent: JsonObject): string[] {
  const dropped = new Set<string>();
  const messages = objects(sent.messages).map((message) => {
    const said = REASONING.filter((field) => message[field] !== undefined);
    if (said.length === 0 || message.role !== "assistant") return message;
    const rest = { ...message };
    for (const field of withoutFields(rest, REASONING)) dropped.add(`messages.${field}`);
    return rest;
  });
  sent.messages = messages;
  return [...dropped];
}

function carryReply(reply: unknown, context: ReplyContext): Reply {
  if (isObject(reply)) {
    checkNoError(reply);
    putInPlace(reply, "message");
  }
  if (!isObject(reply) || !Array.isArray(reply.choices)) {
    throw unusable("The upstream's response is not a chat completion.");
  }
  checkChoiceCount(reply);
  const { choice } = context;
  const { thinkTags = false } = context.written;
  const custom = customTools(context.request.body);
  const given = objects(reply.choices);
  given.forEach(checkNotFailed);
  const isSpread = given.length > 1 && context.request.choices === 1;
  const choices = (isSpread ? [asOneChoice(given)] : given).map((one, place) =>
    repairChoice(one, context, { thinkTags, custom, place })
  );
  if (choices.length === 0 || !choices.every(({ message }) => isObject(message))) {
    throw unusable("The upstream's response holds no choice.");
  }
  const { usage, partial } = chatReports(reply, choices[0]);
  const body: JsonObject = {
    ...reply,
    id: context.id,
    model: context.model,
    system_fingerprint: text(reply.system_fingerprint) || context.fingerprint,
    choices,
  };
  body.object = text(reply.object) || "chat.completion";
  if (typeof reply.created !== "number") body.created = context.createdAtS;
  if (usage !== undefined) {
    body.usage = withOwnNames(isObject(reply.usage) ? reply.usage : {}, usage);
  }
  if (choice !== undefined) body.choices = [{ ...choices[0], index: choice }];
  return {
    body,
    choices: choice === undefined ? choices.length : 1,
    usage,
    partialUsage: partial,
    withUsage: (counted) => ({ ...body, usage: writeChatUsage(counted) }),
    countOutput() {
      const meter = new Meter();
      meterBeside(meter, reply);
      for (const choice of choices) meterChoice(meter, choice);
      return meter.tokens;
    },
    truncated(maxTokens) {
      const { id, object, created } = reply;
      const share = maxTokens / choices.length;
      const cut = choices.map((choice) => truncatedChoice(choice, share));
      return carryReply({ id, object, created, choices: cut }, context);
    },
  };
}

function truncatedChoice({ index, message }: JsonObject, maxTokens: number): JsonObject {
  const budget = new OutputBudget(maxTokens);
  const isFree = (field: string) => field === "role";
  const taken = isObject(message) ? budget.takeFields(message, isFree) : message;
  return { index, message: taken, logprobs: null, finish_reason: "length" };
}

class CarriedChatStream extends MeteredStream<Meter> implements ReplyStream {
  hidesReasoning: boolean | undefined;
  readonly #context: StreamContext;
  readonly #wantsUsage: boolean;
  readonly #ended = new Set<number>();
  readonly #choices: number;
  readonly #thinkTags: boolean;
  readonly #custom: ReadonlySet<string>;
  readonly #offered: readonly string[] | undefined;
  /** By the index of their choice. */
  readonly #repairs: Record<number, ChoiceRepair> = {};
  #created: JsonValue;
  /** The upstream's, or else the gateway's. */
  #fingerprint: string;
  #rawUsage: JsonObject | undefined;

  constructor(context: ReplyContext) {
    super(new Meter());
    this.#context = streamContextOf(context);
    this.#choices = context.request.choices;
    this.#thinkTags = context.written.thinkTags ?? false;
    this.#custom = customTools(context.request.body);
    this.#offered = context.written.offered;
    this.#created = context.createdAtS;
    this.#fingerprint = context.fingerprint;
    this.#wantsUsage = wantsUsage(context);
  }

  get endedChoices(): number {
    return this.#ended.size;
  }

  override get hasFinishReason(): boolean {
    return this.#ended.size >= this.#choices;
  }

  get lacksUsage(): boolean {
    return this.finished && this.usage === undefined;
  }

  push({ data }: SseEvent): string {
    if (this.finished) {
      this.#takeUsage(parseLate(data), undefined);
      return "";
    }
    if (data === "[DONE]") {
      const ends = Object.entries(this.#repairs)
        .map(([index, repair]) => repair.end(Number(index))).filter((one) => one !== undefined);
      const text = this.#written({}, ends);
      if (this.#ended.size === 0) throw brokenOff();
      this.hasEnded = true;
      return text;
    }
    const chunk = parseChunk(data);
    return this.#written(
      chunk,
      objects(chunk.choices).map((choice) => this.#repaired(ownIndex(choice, this.#choices))),
    );
  }

  /** Takes a chunk with its choices repaired, and returns its text. */
  #written(chunk: JsonObject, choices: JsonObject[]): string {
    this.#take(chunk, choices);
    if (choices.length === 0) return ""; // a usage chunk; one is sent at the end
    const { id, model, choice } = this.#context;
    const fingerprint = this.#fingerprint = text(chunk.system_fingerprint) || this.#fingerprint;
    const sent: JsonObject = { ...chunk, id, model, system_fingerprint: fingerprint, choices };
    sent.object = text(chunk.object) || "chat.completion.chunk";
    sent.created = this.#created;
    if (choice !== undefined) sent.choices = choices.map((one) => ({ ...one, index: choice }));
    if (this.#wantsUsage) sent.usage = null;
    else if (sent.usage !== undefined) delete sent.usage;
    if (this.#choices > 1 || choices.length === 1) return `data: ${JSON.stringify(sent)}\n\n`;
    // SDKs that expect one choice read the first of a chunk
    return objects(sent.choices).map((one) =>
      `data: ${JSON.stringify({ ...sent, choices: [one] })}\n\n`
    ).join("");
  }

  truncate(): string {
    const { id, model, choice } = this.#context;
    const indices = choice === undefined
      ? Array.from({ length: this.#choices }, (_, index) => index)
      : [choice];
    return indices.filter((index) => !this.#ended.has(index)).map((index) => {
      const chunk = {
        id,
        object: "chat.completion.chunk",
        created: this.#created,
        model,
        system_fingerprint: this.#fingerprint,
        choices: [{ index, delta: {}, logprobs: null, finish_reason: "length" }],
        ...(this.#wantsUsage ? { usage: null } : {}),
      };
      return `data: ${JSON.stringify(chunk)}\n\n`;
    }).join("");
  }

  close(usage: Usage): string {
    if (this.#context.choice !== undefined) return "";
    const last = this.#wantsUsage ? this.#report(usage) : undefined;
    const context = { ...this.#context, fingerprint: this.#fingerprint };
    return chatStreamEnd(context, this.#created, last);
  }

  ping(): string {
    return ": ping\n\n";
  }

  /** The upstream's last report, if it says what is charged. */
  #report(usage: Usage): JsonObject {
    const raw = this.#rawUsage;
    const said = new UsageReports().add(readUsage(raw)).usage;
    return isSameUsage(usage, said)
      ? withOwnNames(raw!, usage)
      : { ...raw, ...writeChatUsage(usage) };
  }

  #repaired(choice: JsonObject): JsonObject {
    const index = typeof choice.index === "number" ? choice.index : 0;
    const repair = this.#repairs[index] ??= new ChoiceRepair(
      this.#context,
      choice,
      { thinkTags: this.#thinkTags, custom: this.#custom, offered: this.#offered },
    );
    const repaired = repair.repair(choice);
    if (!isObject(repaired.delta) || repaired.message === undefined) return repaired;
    const { message: _, ...rest } = repaired; // the whole output so far, once more
    return rest;
  }

  #take(chunk: JsonObject, choices: readonly JsonObject[]): void {
    if (typeof chunk.created === "number") this.#created = chunk.created;
    this.reports.heard({ model: chunk.model, tier: chunk.service_tier });
    if (meterBeside(this.meter, chunk)) this.hasOutput = true;
    for (const choice of choices) {
      checkNotFailed(choice);
      if (meterChoice(this.meter, choice)) this.hasOutput = true;
      if (typeof choice.finish_reason === "string") {
        this.#ended.add(typeof choice.index === "number" ? choice.index : 0);
      }
      if (isObject(choice.delta) && saysReasoning(choice.delta)) this.hidesReasoning = false;
    }
    this.#takeUsage(chunk, choices[0]);
  }

  #takeUsage(chunk: JsonObject, choice: JsonObject | undefined): void {
    const reported = usageIn(chunk, choice).find((one) => readUsage(one));
    if (reported === undefined) return;
    this.#rawUsage = reported as JsonObject;
    this.reports.add(readUsage(reported));
    this.noteReport();
  }
}
