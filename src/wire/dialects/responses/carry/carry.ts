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
} from "../../dialect.ts";
import {
  isObject,
  items,
  type JsonObject,
  type JsonValue,
  objects,
  text,
  withoutFields,
  withoutNulls,
} from "../../json.ts";
import { MeteredStream } from "../../metered_stream.ts";
import { OutputBudget } from "../../output_budget.ts";
import type { SseEvent } from "../../sse/mod.ts";
import { fitSampling } from "../../sampling.ts";
import { translation } from "../../translation.ts";
import { HostedCalls } from "../../hosted_calls.ts";
import { inner, isSameUsage, type Usage } from "../../usage.ts";
import { readUsage } from "../../usage_names.ts";
import { UsageReports } from "../../usage_reports.ts";
import { type Refusal } from "../../../../ground/refusal.ts";
import { responsesBack } from "../back.ts";
import { carriedInput } from "./carried_input.ts";
import {
  CarriedNames,
  fullItem,
  isUnnamedCall,
  itemAtEnd,
  responseEnd,
  withStatuses,
} from "./carried_item.ts";
import { CarriedCustom } from "./carried_custom.ts";
import { CarriedOutput } from "./carried_output.ts";
import { EVENT_KINDS } from "../upstream/event_kinds.ts";
import { isCompaction } from "../request/compaction.ts";
import { responseError } from "../errors.ts";
import { EventLines } from "../reply/event_lines.ts";
import { EventsAsWhole } from "./events_as_whole.ts";
import { responsesFront } from "../front.ts";
import { OutputMeter } from "./output_meter.ts";
import { OutputWalk } from "../upstream/output_walk.ts";
import { checkResponse, hidesReasoning, parseResponsesEvent } from "../upstream/read_reply.ts";
import {
  repeatedFields,
  type ResponseEcho,
  responseObject,
  sentBody,
} from "../reply/response_object.ts";
import { writeResponsesUsage } from "../usage.ts";

/** Summaries of conversations are written by translation, so that the gateway can read them again. */
const summaries = translation(responsesFront, responsesBack);

/**
 * Responses between a client and an upstream that both speak it: bodies go on as the objects that they are.
 *
 * Changed in a request: `model`, the output limit, `store` (nothing is stored there) and with it `include`, the defaults of
 * omitted sampling fields, and in `input` what the gateway sealed. Changed in a reply: `id`, `model`, `store`, what the
 * upstream encrypted, `usage` where the upstream sent none, and in a stream what SDKs fail over.
 */
export const responsesCarry: Bridge = {
  singleChoice: true,
  request: (request, options) =>
    isCompaction(request) ? summaries.request(request, options) : carryRequest(request, options),
  reply: (body, context) =>
    isCompaction(context.request) ? summaries.reply(body, context) : carryReply(body, context),
  stream: (context) =>
    isCompaction(context.request) ? summaries.stream(context) : new CarriedResponsesStream(context),
  streamAsWhole: (context) =>
    new EventsAsWhole(
      context,
      (body) =>
        isCompaction(context.request) ? summaries.reply(body, context) : carryReply(body, context),
    ),
};

const SAMPLING = ["temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty"];
/** What a service returns that stores nothing, so that the model can go on with its reasoning. */
const ENCRYPTED = "reasoning.encrypted_content";
/** State that the upstream would have to keep, or that would come back sealed for itself. */
const STATE = ["context_management", "conversation", "previous_response_id", "background"];

function carryRequest(request: ParsedRequest, options: WriteOptions): WrittenRequest {
  const { model, permittedOutput, shaping } = options;
  const { input, dropped: inInput } = carriedInput(request, options);
  const sent: JsonObject = {
    ...withoutNulls(request.body),
    model,
    input,
    max_output_tokens: permittedOutput,
    store: false,
  };
  if (request.keepsReasoning && shaping.signedReasoning) {
    sent.include = [...new Set([...items(sent.include), ENCRYPTED])];
  }
  const dropped = [...inInput];
  if (items(sent.context_management).length > 0) dropped.push("context_management");
  withoutFields(sent, STATE);
  dropped.push(...fitSampling(sent, shaping, SAMPLING));
  return { body: sent, dropped };
}

/** What a carried reply is written with; nothing of the request's input. */
class CarriedReply {
  readonly context: StreamContext;
  readonly echo: ResponseEcho;
  readonly keepsItems: boolean;
  readonly custom: CarriedCustom;
  /** Whether what is encrypted was asked for by the gateway alone: the client refers to it. */
  readonly #hidesSeals: boolean;
  readonly #startedTick = performance.now();

  constructor(context: ReplyContext) {
    const { id, createdAtS, model, request, written } = context;
    const body = sentBody(request);
    this.context = streamContextOf(context);
    this.echo = { id, createdAtS, model, request: repeatedFields(body, written.sampling) };
    this.keepsItems = body.store !== false;
    this.custom = new CarriedCustom(body);
    this.#hidesSeals = request.keepsReasoning === true && !items(body.include).includes(ENCRYPTED);
  }

  /** Seals what the upstream encrypted for itself, so that only this account can return it. */
  seal(item: JsonObject): JsonObject {
    const encrypted = text(item.encrypted_content);
    if (!encrypted) return item;
    const { source, sealer } = this.context;
    const value = { ...source, parts: [{ text: "", seal: encrypted }] };
    return { ...item, encrypted_content: sealer.seal("reasoning", value) };
  }

  /** A sealed item as the client gets it. */
  shown(item: JsonObject): JsonObject {
    if (!this.#hidesSeals || item.type !== "reasoning") return item;
    const { encrypted_content: _, ...shown } = item;
    return shown;
  }

  /** The items of a whole response, as clients' schemas demand them, and those that the client may refer to. */
  items(
    { output, status }: JsonObject,
  ): { readonly items: JsonObject[]; readonly kept: JsonObject[] } {
    const names = new CarriedNames(idPartOf(this.echo));
    const end = status === "incomplete" ? status : "completed";
    const all = withStatuses(this.custom.output(objects(output))).flatMap((given, at) => {
      if (isUnnamedCall(given, "name")) return [];
      const { item, isCut } = itemAtEnd(names.name(fullItem(given, end), at), end);
      return [{ item: this.seal(item), isCut }];
    });
    const kept = all.filter(({ isCut }) => !isCut);
    return { items: all.map(({ item }) => this.shown(item)), kept: kept.map(({ item }) => item) };
  }

  /**
   * The upstream's response under our names, with what clients' schemas demand where the upstream left it out. What was
   * changed in the request comes back as the client sent it.
   */
  response(response: JsonObject, output: readonly JsonObject[]): JsonObject {
    const { id, createdAtS, model, request } = this.echo;
    const { store, previous_response_id, max_output_tokens, reasoning, tools, text } = request;
    const status = response.status === "incomplete" ? "incomplete" : "completed";
    const reason = status === "incomplete" ? reasonOf(response) : undefined;
    const tookS = Math.floor((performance.now() - this.#startedTick) / 1_000);
    const completedAtS = status === "completed" ? createdAtS + tookS : undefined;
    const own = responseObject(this.echo, { status, output, reason, completedAtS });
    return {
      ...own,
      ...fitting(response, own),
      id,
      status,
      incomplete_details: own.incomplete_details ?? null,
      created_at: createdAtS,
      model,
      output: [...output],
      store,
      previous_response_id,
      max_output_tokens,
      reasoning,
      tools,
      text,
    };
  }
}

/**
 * What an upstream says of a response. Some say null of what no schema lets be null, or something of another type than the
 * gateway would.
 */
function fitting(response: JsonObject, own: JsonObject): JsonObject {
  const kindOf = (value: unknown) => Array.isArray(value) ? "array" : typeof value;
  return Object.fromEntries(
    Object.entries(response).filter(([key, value]) =>
      value !== null && ((own[key] ?? null) === null || kindOf(value) === kindOf(own[key]))
    ),
  );
}

/** Clients know two reasons; the token limit is what others mean. */
function reasonOf({ incomplete_details: details }: JsonObject) {
  return isObject(details) && details.reason === "content_filter"
    ? "content_filter"
    : "max_output_tokens";
}

/** A report with all that clients demand: Codex repeats a request without a total. */
function fullUsage(reported: JsonValue | undefined, usage: Usage): JsonObject {
  const own = writeResponsesUsage(usage);
  const given = isObject(reported) ? reported : {};
  const details = ["input_tokens_details", "output_tokens_details"].map((key) => [
    key,
    { ...inner(given, key), ...inner(own, key) },
  ]);
  return { ...given, ...own, ...Object.fromEntries(details) };
}

function carryReply(reply: unknown, context: ReplyContext): Reply {
  checkResponse(reply);
  const carried = new CarriedReply(context);
  const { usage, partial } = new UsageReports().add(readUsage(reply.usage))
    .heard({ model: reply.model, tier: reply.service_tier });
  const { items: output, kept } = carried.items(reply);
  const hosted = new HostedCalls();
  objects(reply.output).forEach((item, at) => hosted.item(item, at));
  const said = carried.response(reply, output);
  const body = usage === undefined ? said : { ...said, usage: fullUsage(reply.usage, usage) };
  return {
    body,
    choices: 1,
    usage,
    partialUsage: partial,
    hostedCalls: hosted.calls,
    withUsage: (usage) => ({ ...body, usage: writeResponsesUsage(usage) }),
    countOutput() {
      const meter = new OutputMeter(context.request.body, context.request.hostsTools);
      const walk = new OutputWalk(() => ({ counts: new Map() }));
      meter.response(reply, walk.match(carried.custom.output(objects(reply.output))));
      return meter.tokens;
    },
    truncated(maxTokens) {
      const budget = new OutputBudget(maxTokens);
      const cut = responseObject(carried.echo, {
        status: "incomplete",
        reason: "max_output_tokens",
        output: objects(reply.output).flatMap((item) => truncatedItem(item, budget)),
      });
      return carryReply(cut, context);
    },
    ...(carried.keepsItems ? { outputItems: kept } : {}),
  };
}

/** Texts are cut; an item of another kind is kept or dropped as a whole. */
function truncatedItem(item: JsonObject, budget: OutputBudget): JsonObject[] {
  if (item.type !== "message") return budget.takeWhole(item) ? [item] : [];
  const content = objects(item.content).flatMap((part) => {
    const field = part.type === "refusal" ? "refusal" : "text";
    const taken = budget.take(text(part[field]) ?? "");
    return taken === ""
      ? []
      : [{ type: part.type ?? "output_text", [field]: taken, annotations: [] }];
  });
  const { id, type, role } = item;
  return content.length === 0 ? [] : [{ id, type, status: "incomplete", role, content }];
}

/** What the ids of a response's items have in common with its own. */
function idPartOf({ id }: { readonly id: string }): string {
  return id.replace(/^resp_/, "");
}

class CarriedResponsesStream extends MeteredStream<OutputMeter> implements ReplyStream {
  hidesReasoning: boolean | undefined;
  readonly #hosted = new HostedCalls();
  readonly #reply: CarriedReply;
  readonly #lines: EventLines;
  readonly #output: CarriedOutput;
  /** The upstream's last response object. */
  #response: JsonObject = {};
  /** The last event's type. */
  #end: string | undefined;

  constructor(context: ReplyContext) {
    super(new OutputMeter(context.request.body, context.request.hostsTools));
    this.#reply = new CarriedReply(context);
    this.#lines = new EventLines(this.#reply.echo);
    this.#output = new CarriedOutput({
      idPart: idPartOf(context),
      write: (type, fields) => this.#lines.write(type, fields),
      seal: (item) => this.#reply.seal(item),
      show: (item) => this.#reply.shown(item),
    });
  }

  get endedChoices(): number {
    return this.#end === undefined ? 0 : 1;
  }

  get hostedCalls(): ReadonlyMap<string, number> {
    return this.#hosted.calls;
  }

  get outputItems(): readonly JsonObject[] | undefined {
    return this.#reply.keepsItems ? this.#output.kept : undefined;
  }

  push({ data }: SseEvent): string {
    const event = parseResponsesEvent(data);
    const kind = EVENT_KINDS.get(event.type);
    const response = isObject(event.response) ? event.response : {};
    const output = objects(response.output);
    this.hidesReasoning ??= hidesReasoning(event);
    if (isObject(event.item)) this.#hosted.item(event.item, event.output_index);
    output.forEach((item, at) => this.#hosted.item(item, at));
    this.reports.add(readUsage(response.usage)).heard({ model: response.model });
    // the beginning repeats what was asked for
    if (kind?.step === "end") this.reports.heard({ tier: response.service_tier });
    // the beginning is written with what comes next: a failure before that is still an HTTP status
    const isKept = kind?.isCarried && kind.step !== "beginning";
    if (isKept && kind.step === "end") return this.#finish(event, response, output);
    const step = isKept ? this.#output.walk.step(this.#reply.custom.event(event)) : undefined;
    if (step !== undefined && this.meter.event(step)) this.hasOutput = true;
    this.noteReport();
    return step === undefined ? "" : this.#output.event(step);
  }

  truncate(): string {
    this.#end = "response.incomplete";
    this.#response = { incomplete_details: { reason: "max_output_tokens" } };
    return this.#output.truncate();
  }

  close(usage: Usage): string {
    const type = this.#end ?? "response.completed";
    const status = type === "response.incomplete" ? "incomplete" : "completed";
    // a report that is not believed is not passed on
    const reported = isSameUsage(usage, this.usage) ? this.#response.usage : undefined;
    const named = this.#reply.response(
      { ...this.#response, status, usage: fullUsage(reported, usage) },
      this.#output.items,
    );
    return this.#lines.write(type, { response: named }) + this.#lines.end();
  }

  ping(): string {
    return `${this.#lines.begin()}: ping\n\n`;
  }

  fail(refusal: Refusal): string {
    return this.#lines.failed(responseError(refusal), this.#output.items);
  }

  #finish(event: JsonObject, response: JsonObject, output: readonly JsonObject[]): string {
    const pairs = this.#output.walk.match(withStatuses(this.#reply.custom.output(output)));
    const isSaid = this.meter.response(response, pairs);
    if (this.meter.end(event) || isSaid) this.hasOutput = true;
    this.noteReport();
    const end = responseEnd(event);
    const rest = this.#output.finish(pairs, end);
    this.#response = response;
    this.#end = end === "incomplete" ? "response.incomplete" : text(event.type);
    this.hasEnded = true;
    return rest;
  }
}
