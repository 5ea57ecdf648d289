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
import { isObject, type JsonObject, objects, text, withoutFields, withoutNulls } from "../json.ts";
import { Meter, SEALED_CHARS_PER_TOKEN } from "../meter.ts";
import { MeteredStream } from "../metered_stream.ts";
import { meterEvent } from "../meter_reply.ts";
import { HostedCalls } from "../hosted_calls.ts";
import { OutputBudget } from "../output_budget.ts";
import type { SseEvent } from "../sse/mod.ts";
import { type Usage, withCounts } from "../usage.ts";
import { DEFAULT_SAMPLING } from "../sampling.ts";
import { brokenOff } from "../upstream_error.ts";
import { legalId, type UniqueCallIds } from "../neutral/call_ids.ts";
import { takeBetas } from "./headers.ts";
import { BlocksAsWhole } from "./blocks_as_whole.ts";
import { madeCallId, replyCallIds, withUpstreamIds } from "./call_ids.ts";
import { checkMessage, messageReports, parseEvents } from "./read_reply.ts";
import { MIN_BUDGET_TOKENS, mostBudget } from "./schema.ts";
import { EventRepair, indexOf, repairBlock, repairedStop } from "./repair.ts";
import {
  readBedrockUsage,
  readFirstUsage,
  readMessagesUsage,
  toldIn,
  withOwnNames,
  writeMessagesUsage,
} from "./usage.ts";
import { sealedText } from "./seals.ts";
import { SIGNATURE } from "./writer.ts";

/**
 * Messages between a client and an upstream that both speak it: bodies go on as the objects that they are.
 *
 * Changed in a request: `model`, `max_tokens`, a reasoning budget that is not below it, the defaults of
 * `temperature` (where the model does not reason) and of the effort, and for an upstream that verifies signatures
 * what other upstreams wrote. Changed in a reply: `id`, `model`, and ids of calls that the conversation has already.
 */
export const messagesCarry: Bridge = {
  singleChoice: true,
  request: carryRequest,
  reply: carryReply,
  stream: (context) => new CarriedMessagesStream(context),
  streamAsWhole: (context) => new BlocksAsWhole((body) => carryReply(body, context)),
};

const SAMPLING = ["temperature", "top_p", "top_k"];

function carryRequest(
  { body }: ParsedRequest,
  { model, permittedOutput, shaping }: WriteOptions,
): WrittenRequest {
  const sent: JsonObject = { ...withoutNulls(body), model, max_tokens: permittedOutput };
  const messages = objects(body.messages).flatMap(withoutSeals);
  sent.messages = shaping.signedReasoning
    ? messages.flatMap(asWrittenThere)
    : withUpstreamIds(messages);
  if (isObject(body.thinking)) sent.thinking = withinLimit(body.thinking, permittedOutput);
  const thinks = isObject(sent.thinking) && sent.thinking.type !== "disabled";
  const dropped: string[] = [];
  if (!thinks && isObject(body.thinking) && body.thinking.type !== "disabled") {
    dropped.push("thinking");
  }
  if (shaping.fixedSampling) dropped.push(...withoutFields(sent, SAMPLING));
  else if (!thinks && !shaping.ownSampling) {
    sent.temperature ??= DEFAULT_SAMPLING.temperature;
  }
  return { body: sent, betas: takeBetas(sent), dropped };
}

/** A message without what the gateway sealed for other upstreams; none if nothing else is in it. */
function withoutSeals(message: JsonObject): JsonObject[] {
  const blocks = objects(message.content);
  if (!blocks.some((block) => sealedText(block) !== undefined)) return [message];
  const content = blocks.flatMap((block) => {
    if (sealedText(block) === undefined) return [block];
    return block.type === "thinking" ? [{ ...block, signature: SIGNATURE }] : [];
  });
  return content.length === 0 ? [] : [{ ...message, content }];
}

/**
 * A message as an upstream accepts it that verifies what it gets back. An earlier reply may have come from another
 * upstream: reasoning that the gateway signed is dropped, and ids are escaped as its dialect requires.
 */
function asWrittenThere(message: JsonObject): JsonObject[] {
  if (!Array.isArray(message.content)) return [message];
  const content = message.content
    .filter((block) => !(isObject(block) && block.signature === SIGNATURE))
    .map((block) => {
      if (!isObject(block)) return block;
      if (block.type === "tool_use") return { ...block, id: legalId(text(block.id) ?? "") };
      if (block.type !== "tool_result") return block;
      return { ...block, tool_use_id: legalId(text(block.tool_use_id) ?? "") };
    });
  return content.length === 0 ? [] : [{ ...message, content }];
}

/** Reasoning has to leave room for text: its budget must be below `max_tokens`, which the gateway may have lowered. */
function withinLimit(thinking: JsonObject, permittedOutput: number): JsonObject {
  const { budget_tokens: budget } = thinking;
  if (typeof budget !== "number" || budget < permittedOutput) return thinking;
  const most = mostBudget(permittedOutput);
  return most >= MIN_BUDGET_TOKENS ? { ...thinking, budget_tokens: most } : { type: "disabled" };
}

function carryReply(reply: unknown, context: ReplyContext): Reply {
  const { id, model, request } = context;
  checkMessage(reply);
  const ids = replyCallIds(request.body, "messages");
  const content = objects(reply.content).flatMap((given, place) => {
    const block = repairBlock(given, SIGNATURE);
    return block === undefined ? [] : [withUniqueId(block, ids, madeCallId(id, place))];
  });
  const calls = content.some(({ type }) => type === "tool_use");
  const body: JsonObject = { ...EMPTY_MESSAGE, ...reply, id, model, content };
  body.type = "message";
  body.role = text(reply.role) || "assistant";
  body.stop_reason = repairedStop(body.stop_reason, calls);
  const hosted = new HostedCalls();
  for (const block of objects(reply.content)) hosted.block(block);
  const { usage, partial } = messageReports(reply);
  if (usage !== undefined) {
    body.usage = withOwnNames(isObject(body.usage) ? body.usage : {}, usage);
  } else if (isObject(body.usage)) body.usage = withCounts(body.usage);
  return {
    choices: 1,
    usage,
    partialUsage: partial,
    hostedCalls: hosted.calls,
    body,
    withUsage: (usage) => ({ ...body, usage: writeMessagesUsage(usage) }),
    countOutput() {
      const meter = new Meter();
      const { id: _id, model: _model, ...rest } = reply;
      meter.addTexts(rest);
      return meter.tokens;
    },
    truncated(maxTokens) {
      const { type, role } = reply;
      const budget = new OutputBudget(maxTokens);
      const cut = objects(reply.content).flatMap((block) => truncatedBlock(block, budget));
      const end = { stop_reason: "max_tokens", stop_sequence: null };
      return carryReply({ type, role, content: cut, ...end }, context);
    },
  };
}

/** Texts are cut; a block of another kind is kept or dropped as a whole. What signs reasoning does not sign a part of it. */
function truncatedBlock(block: JsonObject, budget: OutputBudget): JsonObject[] {
  const field = block.type === "thinking" ? "thinking" : "text";
  const whole = text(block[field]);
  if (whole === undefined) return budget.takeWhole(block) ? [block] : [];
  const taken = budget.take(whole);
  if (taken === "") return [];
  const isSigned = block.signature !== undefined && taken !== whole;
  return [{ ...block, [field]: taken, ...(isSigned ? { signature: SIGNATURE } : {}) }];
}

/** Whether an event begins a block with what a tool at the upstream has found. */
function isFoundByTool({ content_block: block }: JsonObject): boolean {
  return isObject(block) && /_tool_result$/.test(text(block.type) ?? "");
}

/** @param made The id of a call to which its upstream gave none. */
function withUniqueId(block: JsonObject, ids: UniqueCallIds, made: string): JsonObject {
  return block.type === "tool_use" ? { ...block, id: ids.unique(text(block.id) || made) } : block;
}

/** What SDKs read of a message, or of a stream's beginning, without asking whether it is there. */
const EMPTY_MESSAGE: JsonObject = {
  type: "message",
  role: "assistant",
  stop_reason: null,
  stop_sequence: null,
};

/** Events that the dialect has; SDKs throw at what they do not know. */
const EVENTS: ReadonlySet<unknown> = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
  "ping",
]);

class CarriedMessagesStream extends MeteredStream<Meter> implements ReplyStream {
  readonly #context: StreamContext;
  readonly #ids: UniqueCallIds;
  hidesReasoning: boolean | undefined;
  hiddenTokens = 0;
  readonly #hostsTools: boolean;
  /** Tokens when the open block began. */
  #tokensBefore = 0;
  readonly #hosted = new HostedCalls();
  #stopped = false;
  readonly #repair = new EventRepair(SIGNATURE);
  #hasBegun = false;

  constructor(context: ReplyContext) {
    super(new Meter());
    this.#context = streamContextOf(context);
    this.#ids = replyCallIds(context.request.body, "messages");
    this.#hostsTools = context.request.hostsTools ?? false;
  }

  get hostedCalls(): ReadonlyMap<string, number> {
    return this.#hosted.calls;
  }

  get endedChoices(): number {
    return this.#stopped ? 1 : 0;
  }

  push({ data }: SseEvent): string {
    return parseEvents(data).filter(({ type }) => EVENTS.has(type)).map((event) => {
      // SDKs throw at what comes before the beginning
      const isEarly = !this.#hasBegun && event.type !== "message_start" && event.type !== "ping";
      return (isEarly ? this.#push({ type: "message_start", message: {} }) : "") +
        this.#push(event);
    }).join("");
  }

  #push(event: JsonObject): string {
    switch (event.type) {
      case "message_start": {
        const message = isObject(event.message) ? event.message : {};
        this.reports.add(readFirstUsage(message.usage)).heard(toldIn(message));
        if (this.#hasBegun) return "";
        this.#hasBegun = true;
        const { id, model, inputTokens } = this.#context;
        const input = readFirstUsage(message.usage)?.inputTokens ?? 0;
        const usage = {
          input_tokens: input,
          output_tokens: 0,
          ...(isObject(message.usage) ? withCounts(message.usage) : {}),
          // some clients read the input only here, where some upstreams say zero
          ...(input === 0 ? { input_tokens: inputTokens } : {}),
        };
        event.message = { ...EMPTY_MESSAGE, ...message, content: [], id, model, usage };
        break;
      }
      case "content_block_start":
        if (isObject(event.content_block)) {
          this.#tokensBefore = this.meter.tokens;
          if (event.content_block.type === "thinking") this.hidesReasoning ??= true;
          if (event.content_block.type === "redacted_thinking") this.hidesReasoning = false;
          this.#hosted.block(event.content_block);
          const made = madeCallId(this.#context.id, indexOf(event));
          event.content_block = withUniqueId(event.content_block, this.#ids, made);
        }
        break;
      case "content_block_delta":
        if (isObject(event.delta) && event.delta.type === "signature_delta") {
          this.#noteSeal(text(event.delta.signature) ?? "");
        }
        break;
      case "message_delta":
        this.reports.add(readMessagesUsage(event.usage)).heard(toldIn(event));
        event.usage = {
          output_tokens: readMessagesUsage(event.usage)?.outputTokens ?? this.countedOutput,
          ...(isObject(event.usage) ? withCounts(event.usage) : {}),
        };
        break;
      case "message_stop":
        if (!this.#stopped) throw brokenOff();
        this.reports.add(readBedrockUsage(event));
        this.hasEnded = true;
        return ""; // sent when the usage is settled
    }
    const repaired = this.#repair.repair(event); // it throws for a reason that is a failure
    if (isObject(event.delta) && text(event.delta.stop_reason)) this.#stopped = true;
    const sent = repaired.map((one) => this.#sent(one)).join("");
    this.noteReport();
    return sent;
  }

  #sent(event: JsonObject): string {
    const isFound = this.#hostsTools && isFoundByTool(event);
    const isOwn = isObject(event.delta) && event.delta.signature === SIGNATURE;
    if (isFound || !isOwn && meterEvent(this.meter, event)) this.hasOutput = true;
    return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  }

  /** A signature seals all of the reasoning before it, of which the text may be a summary. */
  #noteSeal(signature: string): void {
    const shown = this.meter.tokens - this.#tokensBefore;
    this.hiddenTokens += Math.max(0, Math.ceil(signature.length / SEALED_CHARS_PER_TOKEN) - shown);
    this.hidesReasoning = false;
  }

  truncate(): string {
    const events: JsonObject[] = [
      ...this.#repair.endAll(),
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
