import { Refusal } from "../../ground/refusal.ts";
import { isObject, text } from "./json.ts";

const CONTEXT_CODE = "context_length_exceeded";
const CONTEXT_WORDS =
  /context[ _](?:length|window|limit)|maximum context|token limit|prompt is too long|input token length too long|too many tokens/i;

/** What an upstream says in an error body, in any dialect. */
export interface UpstreamError {
  readonly message: string | undefined;
  readonly code: string | undefined;
  readonly type: string | undefined;
}

/** Reads `{message, code, type}` or a plain text; all fields are undefined for anything else. */
export function readUpstreamError(error: unknown): UpstreamError {
  if (typeof error === "string") return { message: error, code: undefined, type: undefined };
  if (!isObject(error)) return { message: undefined, code: undefined, type: undefined };
  const code = typeof error.code === "number" ? String(error.code) : text(error.code);
  return { message: text(error.message) ?? text(error.detail), code, type: text(error.type) };
}

/** Whether an upstream rejects the request because its input is too long. */
export function isContextError({ message, code }: UpstreamError): boolean {
  return code === CONTEXT_CODE || CONTEXT_WORDS.test(message ?? "");
}

const MODEL_CODE = "model_not_found";
const MODEL_WORDS =
  /\bmodel\b[^.]{0,120}\b(?:not found|does not exist|is not available|not loaded)|(?:unknown|invalid|no such) model\b|not a valid model/i;

/**
 * Whether an upstream says that it does not have the model: by its code, as OpenAI does (`model_not_found`), by its type,
 * as the messages dialect does (`not_found_error`, `model: name`), or by its words, as Ollama, vLLM, LM Studio, Mistral and
 * OpenRouter do.
 */
export function isModelError({ message = "", code, type }: UpstreamError): boolean {
  if (code === MODEL_CODE) return true;
  return MODEL_WORDS.test(message) || (type === "not_found_error" && /^model\b/i.test(message));
}

/**
 * The message for input that is too long, in the words that make coding tools compact their conversation.
 *
 * @param upstreamMessage Only its numbers are used.
 */
export function tooLongMessage(upstreamMessage = ""): string {
  const message = upstreamMessage.replace(/\S+:\S+/g, ""); // an address has numbers too
  const named = /(?:maximum|limit|at most)\D{0,40}?(\d{4,9})\b/i.exec(message)?.[1];
  const numbers = (message.match(/\b\d{4,9}\b/g) ?? []).map(Number);
  if (numbers.length === 0) return "prompt is too long";
  const maximum = named === undefined ? Math.min(...numbers) : Number(named);
  const tokens = Math.max(maximum + 1, ...numbers);
  return `prompt is too long: ${tokens} tokens > ${maximum} maximum`;
}

/**
 * An error that an upstream reports in the middle of a reply, or with status 200 instead of one. As the first thing
 * in a reply it means that nothing was generated.
 */
export class ReportedError extends Refusal {}

/** A reply with more of something than is kept. What was asked may be the reason, so that it says nothing of the upstream. */
export function tooMuch(message: string): Refusal {
  return Object.assign(new Refusal("upstream_unavailable", message), { ofThisRequest: true });
}

/** A stream that ended without a finish reason: it may be incomplete, and SDKs reject it. */
export class BrokenOff extends Refusal {}

/** Makes the error for a stream that ended without a finish reason. */
export function brokenOff(cause?: unknown): BrokenOff {
  return new BrokenOff("upstream_unavailable", "The upstream closed the stream early.", { cause });
}

/** A reported error as a refusal. The upstream's own message may hold its address or key, so it is not passed on. */
export function upstreamFault(error: unknown): ReportedError {
  const read = readUpstreamError(error);
  if (read.code === "429" || /rate_limit/.test(`${read.type} ${read.code}`)) {
    return new ReportedError(
      "rate_exceeded",
      "The upstream is over its rate limit. Please try again.",
    );
  }
  if (isContextError(read)) {
    return new ReportedError("context_exceeded", tooLongMessage(read.message));
  }
  const failed = new ReportedError(
    "upstream_unavailable",
    "The upstream failed while it was responding.",
  );
  failed.ofThisRequest = isAboutRequest(read);
  return failed;
}

/** What upstreams call errors of a request: filters of contents, limits, and output that does not fit what was asked for. */
const REQUEST_WORDS =
  /invalid_request|invalid_prompt|invalid_argument|bad_request|content_?filter|policy|moderation|safety|inspection|too_large|too_long|validate_failed|tool_use_failed|unsupported|unprocessable|refus/i;

/** Whether a reported error blames the request. */
function isAboutRequest({ code, type }: UpstreamError): boolean {
  const status = Number(code);
  if (status >= 400 && status < 500) return status !== 408 && status !== 429;
  return REQUEST_WORDS.test(`${type ?? ""} ${code ?? ""}`);
}
