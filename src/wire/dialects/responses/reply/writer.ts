import type { Refusal } from "../../../../ground/refusal.ts";
import {
  type ReplyContext,
  type ReplyWriter,
  type StreamContext,
  streamContextOf,
} from "../../dialect.ts";
import { type JsonObject, type JsonValue, objects, text } from "../../json.ts";
import { shortId, UniqueCallIds } from "../../neutral/call_ids.ts";
import type { Finish, ReplyEvent } from "../../neutral/conversation.ts";
import type { Usage } from "../../usage.ts";
import { COMPACT_PATH, isCompaction } from "../request/compaction.ts";
import { responseError } from "../errors.ts";
import { EventLines } from "./event_lines.ts";
import { GrowingText } from "./growing_text.ts";
import { OutputWriter } from "./output_writer.ts";
import { ItemLines } from "./item_lines.ts";
import { reasoningForm } from "./reasoning_item.ts";
import {
  repeatedFields,
  type ResponseEcho,
  responseObject,
  type ResponseState,
  sentBody,
} from "./response_object.ts";
import { toolTable } from "../request/tools.ts";
import { unusable } from "../../upstream_error.ts";
import { writeResponsesUsage } from "../usage.ts";

/** Why a response is incomplete; undefined where it is not. */
const REASONS: Readonly<Record<Finish, ResponseState["reason"]>> = {
  stop: undefined,
  tools: undefined,
  length: "max_output_tokens",
  refused: undefined, // the item says so
  filtered: "content_filter",
};

/**
 * Writes neutral events as a response. A stream is well-formed whatever comes in: it begins with `response.created`, its items
 * follow each other ({@linkcode OutputWriter}), and it ends with the whole response.
 *
 * The text of the reply is kept until its end, which repeats all of it. It is bounded by the relay's limit of a reply.
 */
export class ResponsesWriter implements ReplyWriter {
  readonly cites: boolean;
  readonly takesImages: boolean;
  tier: string | undefined;
  readonly #context: StreamContext;
  readonly #echo: ResponseEcho;
  readonly #lines: EventLines;
  readonly #output: OutputWriter;
  /** The text of a summary of the conversation, where the request wants one. */
  readonly #summary: GrowingText | undefined;
  readonly #isEndpointOfSummaries: boolean;
  readonly #keepsItems: boolean;
  readonly keepsSeals: boolean;
  readonly #beganTick = performance.now();
  #finish: Finish | undefined;

  constructor(context: ReplyContext) {
    const { request, written, id, createdAtS, model, source, sealer } = context;
    const { endpoint } = request;
    const body = sentBody(request);
    this.#context = streamContextOf(context);
    this.#keepsItems = body.store !== false;
    const form = reasoningForm(body);
    const taken = idsOf(body.input); // the body itself is not kept
    this.#echo = { id, createdAtS, model, request: repeatedFields(body, written.sampling) };
    this.#lines = new EventLines(this.#echo);
    this.#output = new OutputWriter({
      lines: this.#lines,
      idPart: this.#idPart,
      tools: toolTable(body),
      callIds: new UniqueCallIds("chat", () => taken, shortId),
      wantsLogprobs: request.logprobs !== undefined,
      reasoning: { ...form, source, sealer, isKept: this.#keepsItems },
    });
    this.#summary = isCompaction(request) ? new GrowingText() : undefined;
    this.cites = this.takesImages = this.#summary === undefined;
    this.keepsSeals = this.#summary === undefined && (form.isSealed || this.#keepsItems);
    this.#isEndpointOfSummaries = endpoint === COMPACT_PATH;
  }

  get finished(): boolean {
    return this.#finish !== undefined;
  }

  get outputItems(): readonly JsonObject[] | undefined {
    return this.#keepsItems && this.#summary === undefined ? this.#output.kept : undefined;
  }

  write(event: ReplyEvent): string {
    if (event.type === "finish") {
      this.#finish = event.finish;
      return "";
    }
    if (this.#summary === undefined) return this.#output.write(event);
    if (event.type === "text") this.#summary.add(event.text);
    return "";
  }

  close(usage: Usage): string {
    if (this.#summary !== undefined && this.#summary.text === "") return this.fail(noSummary());
    const rest = this.#closeItems();
    const response = this.#response(usage);
    return rest + this.#lines.write(`response.${response.status}`, { response }) +
      this.#lines.end();
  }

  ping(): string {
    return this.#lines.begin() + ": ping\n\n";
  }

  /** The items that were begun stay in the response. An item that was open has no end of its own: it is incomplete. */
  fail(refusal: Refusal): string {
    return this.#lines.failed(responseError(refusal), this.#output.soFar);
  }

  whole(events: readonly ReplyEvent[]): (usage: Usage) => JsonObject {
    this.#lines.mute();
    for (const event of events) this.write(event);
    if (this.#summary !== undefined && this.#summary.text === "") throw noSummary();
    this.#closeItems();
    return (usage) => this.#isEndpointOfSummaries ? this.#compacted(usage) : this.#response(usage);
  }

  get #idPart(): string {
    return this.#context.id.replace(/^resp_/, "");
  }

  #closeItems(): string {
    const end = REASONS[this.#finish ?? "stop"] === undefined ? "completed" : "incomplete";
    return this.#summary === undefined
      ? this.#output.close(end)
      : this.#writeSummary(this.#summary.text + this.#summary.end());
  }

  /** The one item of a response that is a summary. */
  #writeSummary(text: string): string {
    const lines = new ItemLines(this.#lines, `cmp_${this.#idPart}_0`, 0);
    const encrypted = this.#context.sealer.seal("compaction", { text });
    const item = { id: lines.id, type: "compaction", encrypted_content: encrypted };
    this.#output.items.push(item);
    return lines.added(item) + lines.done(item);
  }

  #response(usage: Usage): JsonObject & { readonly status: ResponseState["status"] } {
    const reason = REASONS[this.#finish ?? "stop"];
    const status = reason === undefined ? "completed" : "incomplete";
    const tookS = Math.floor((performance.now() - this.#beganTick) / 1_000);
    const completedAtS = reason === undefined ? this.#echo.createdAtS + tookS : undefined;
    const output = this.#output.items;
    const response = responseObject(this.#echo, { status, output, reason, usage, completedAtS });
    return { ...response, status, ...(this.tier && { service_tier: this.tier }) };
  }

  #compacted(usage: Usage): JsonObject {
    return {
      id: this.#context.id,
      object: "response.compaction",
      created_at: this.#echo.createdAtS,
      output: [...this.#output.items],
      usage: writeResponsesUsage(usage),
    };
  }
}

/** The ids of the calls in an input, and of their results. */
function idsOf(input: JsonValue | undefined): string[] {
  return objects(input).flatMap(({ call_id: id }) => text(id) ?? []);
}

function noSummary(): Refusal {
  return unusable("The upstream returned no summary of the conversation. Please try again.");
}
