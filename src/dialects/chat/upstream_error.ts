import { Refusal } from "../../refusal.ts";
import { isObject, text } from "../json.ts";

const CONTEXT_CODES = /^(context_length_exceeded|string_above_max_length)$/;
const CONTEXT_WORDS =
  /context[ _](?:length|window)|maximum context|token limit|prompt is too long|input token length too long|too many tokens/i;

/** What an upstream says in an error body, in either dialect. */
export interface UpstreamError {
  readonly message: string | undefined;
  readonly code: string | undefined;
  readonly type: string | undefined;
}

/** Reads `{message, code, type}` or a plain text; anything else says nothing. */
export function readUpstreamError(error: unknown): UpstreamError {
  if (typeof error === "string") return { message: error, code: undefined, type: undefined };
  if (!isObject(error)) return { message: undefined, code: undefined, type: undefined };
  const code = typeof error.code === "number" ? String(error.code) : text(error.code);
  return { message: text(error.message), code, type: text(error.type) };
}

/** Whether an upstream refuses because the input is too long for it. */
export function isContextError({ message, code }: UpstreamError): boolean {
  return CONTEXT_CODES.test(code ?? "") || CONTEXT_WORDS.test(message ?? "");
}

/**
 * An error that an upstream itself reports in the middle of an answer, or instead of one with a
 * 200. As the first thing it says it means that nothing was generated.
 */
export class ReportedError extends Refusal {}

/** What an upstream reports as `error`, as a refusal in our words. */
export function upstreamFault(error: unknown): ReportedError {
  const read = readUpstreamError(error);
  if (read.code === "429" || /rate_limit/.test(`${read.type} ${read.code}`)) {
    return new ReportedError(
      "rate_exceeded",
      "The upstream is over its rate limit. Please try again.",
    );
  }
  if (isContextError(read)) {
    return new ReportedError("context_exceeded", read.message ?? "The prompt is too long.");
  }
  return new ReportedError("upstream_unavailable", "The upstream failed while it was answering.");
}
