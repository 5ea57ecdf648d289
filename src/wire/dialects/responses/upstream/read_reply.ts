import type { EventReader, ReadReply } from "../../dialect.ts";
import {
  isObject,
  items,
  type JsonObject,
  type JsonValue,
  objectIn,
  objects,
  text,
} from "../../json.ts";
import type { Finish, ReplyEvent } from "../../neutral/conversation.ts";
import { brokenOff, reportedError, unusable, upstreamFault } from "../../upstream_error.ts";
import { readUsage } from "../../usage_names.ts";
import { UsageReports } from "../../usage_reports.ts";
import { typeOf } from "../items.ts";
import { checkItemCount } from "./output_walk.ts";
import { OutputReader } from "./output_reader.ts";

/** The last events of a stream. */
const ENDS = new Set(["response.completed", "response.incomplete"]);

/**
 * Whether an event says that the model reasons and hides it, or shows only a summary; false for its text, undefined for what
 * says neither.
 */
export function hidesReasoning({ type, item }: JsonObject): boolean | undefined {
  if (type === "response.reasoning_text.delta" || type === "response.reasoning.delta") return false;
  const isItem = isObject(item) && item.type === "reasoning";
  if (!isItem || type !== "response.output_item.done") return undefined;
  const hasText = Array.isArray(item.content) && item.content.length > 0;
  return !hasText && !text(item.encrypted_content);
}

/** Whether an event of this type ends a stream that did not fail. */
export function isEnd(type: string): boolean {
  return ENDS.has(type);
}

/**
 * Parses an event's JSON.
 *
 * @throws {Refusal} the error that it reports; `upstream_unavailable` if the data is not an event.
 */
export function parseResponsesEvent(data: string): JsonObject & { type: string } {
  if (data === "[DONE]") throw brokenOff(); // a reply that is complete is not read on
  const said = objectIn(data) ?? {};
  const error = reportedError(said);
  if (error !== undefined) throw upstreamFault(error);
  const event = said.type === undefined && isResponse(said) ? eventOf(said) : said;
  const { type, response, item } = event;
  if (typeof type !== "string") throw unusable("The upstream sent an invalid responses stream.");
  if (type === "error") throw upstreamFault(event);
  if (isObject(response)) {
    checkNotFailed(response);
    if (isEnd(type)) addOutputText(response);
  }
  if (type === "response.failed" || type === "response.cancelled") throw upstreamFault(undefined);
  if (/^response\.output_item\.(added|done)$/.test(type) && !isObject(item)) {
    throw unusable("The upstream sent an event without its item.");
  }
  return Object.assign(event, { type });
}

/** Whether it is a whole response: some servers send it as the only event of a stream. */
function isResponse({ object, output }: JsonObject): boolean {
  return object === "response" || Array.isArray(output);
}

/** A whole response as the last event of a stream, which repeats all of it. */
function eventOf(response: JsonObject): JsonObject {
  checkResponse(response);
  return {
    type: `response.${response.status === "incomplete" ? "incomplete" : "completed"}`,
    response,
  };
}

/** Adds the message that a response has in `output_text` only, the field that SDKs make of its messages. */
function addOutputText(response: JsonObject): void {
  const { output, output_text: said } = response;
  if (!text(said) || objects(output).some((item) => typeOf(item) === "message")) return;
  const content = [{ type: "output_text", text: said!, annotations: [] }];
  response.output = [...items(output), { type: "message", role: "assistant", content }];
}

function checkNotFailed({ status, error }: JsonObject): void {
  const hasFailed = status === "failed" || status === "cancelled";
  if (hasFailed || reportedError({ error }) !== undefined) throw upstreamFault(error);
}

/** @throws {Refusal} `upstream_unavailable` and the like for a reported error, or a body that is not a complete response. */
export function checkResponse(
  body: unknown,
): asserts body is JsonObject & { output: JsonValue[] } {
  if (isObject(body)) {
    checkNotFailed(body);
    addOutputText(body);
    const isOver = body.status !== "in_progress" && body.status !== "queued";
    if (Array.isArray(body.output) && isOver) return checkItemCount(body.output.length);
    const error = reportedError(body);
    if (error !== undefined) throw upstreamFault(error);
  }
  throw unusable("The upstream's response is not a response object.");
}

/**
 * Reads a whole response.
 *
 * @throws {Refusal} `upstream_unavailable` and the like for a reported error, or a body that is not a response.
 */
export function readResponsesReply(body: unknown): ReadReply {
  checkResponse(body);
  const reader = new OutputReader();
  const events = [...reader.response(body), finishOf(body, reader)];
  return {
    events,
    reports: new UsageReports().add(readUsage(body.usage)).heard({
      model: body.model,
      tier: body.service_tier,
    }),
  };
}

/** Reads the events of a responses stream as neutral events. */
export class ResponsesReader implements EventReader {
  /** Whether the response's last event came. */
  done = false;
  readonly reports = new UsageReports();
  hidesReasoning: boolean | undefined;
  readonly #output = new OutputReader();

  read(data: string): ReplyEvent[] {
    const event = parseResponsesEvent(data);
    const response = isObject(event.response) ? event.response : {};
    this.hidesReasoning ??= hidesReasoning(event);
    this.reports.add(readUsage(response.usage)).heard({ model: response.model });
    if (isEnd(event.type)) this.reports.heard({ tier: response.service_tier });
    if (!isEnd(event.type)) return this.#output.event(event);
    this.done = true;
    const ended = event.type === "response.incomplete"
      ? { ...response, status: "incomplete" }
      : response;
    return [...this.#output.response(ended), finishOf(ended, this.#output)];
  }
}

function finishOf(response: JsonObject, output: OutputReader): ReplyEvent {
  return { type: "finish", finish: finishReason(response, output), stopped: undefined };
}

function finishReason(
  { status, incomplete_details: details }: JsonObject,
  { hasRefused, hasCalled }: OutputReader,
): Finish {
  if (status === "incomplete") {
    return isObject(details) && details.reason === "content_filter" ? "filtered" : "length";
  }
  if (hasRefused) return "refused";
  return hasCalled ? "tools" : "stop";
}
