import { Refusal } from "../../refusal.ts";
import { isObject, type JsonObject, text } from "../json.ts";

const CONTEXT_CODE = "context_length_exceeded";
const CONTEXT_WORDS =
  /context[ _](?:length|window|limit)|maximum context|token limit|prompt is too long|input token length too long|too many tokens/i;

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
  return { message: text(error.message) ?? text(error.detail), code, type: text(error.type) };
}

/** Whether an upstream refuses because the input is too long for it. */
export function isContextError({ message, code }: UpstreamError): boolean {
  return code === CONTEXT_CODE || CONTEXT_WORDS.test(message ?? "");
}

/**
 * That the input is too long, in the words by which coding tools know that they have to compact, with the
 * upstream's numbers and nothing else of what it said.
 */
export function tooLongMessage(said = ""): string {
  const message = said.replace(/\S+:\S+/g, ""); // an address has numbers too
  const named = /(?:maximum|limit|at most)\D{0,40}?(\d{4,9})\b/i.exec(message)?.[1];
  const numbers = (message.match(/\b\d{4,9}\b/g) ?? []).map(Number);
  if (numbers.length === 0) return "prompt is too long";
  const maximum = named === undefined ? Math.min(...numbers) : Number(named);
  const tokens = Math.max(maximum + 1, ...numbers);
  return `prompt is too long: ${tokens} tokens > ${maximum} maximum`;
}

/**
 * An error that an upstream itself reports in the middle of an answer, or instead of one with a
 * 200. As the first thing it says it means that nothing was generated.
 */
export class ReportedError extends Refusal {}

/**
 * A stream that ended without a reason for its answer's end: nothing says that it is whole, and SDKs refuse
 * it.
 */
export function brokenOff(cause?: unknown): Refusal {
  return new Refusal("upstream_unavailable", "The upstream's stream broke off.", { cause });
}

/** Some upstreams say only in the reason for an answer's end that they have failed. */
export function mustNotHaveFailed(choice: JsonObject): void {
  if (choice.finish_reason !== "error") return;
  throw new Refusal("upstream_unavailable", "The upstream failed in the middle of its answer.");
}

/** What an upstream reports as `error`, as a refusal in our words: its own may hold its address or key. */
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
  return new ReportedError("upstream_unavailable", "The upstream failed while it was answering.");
}
