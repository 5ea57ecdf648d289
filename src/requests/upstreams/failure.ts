import { jsonIn } from "../../ground/platform/mod.ts";
import {
  errorIn,
  exactStatus,
  isContextError,
  isModelError,
  isObject,
  type JsonValue,
  readUpstreamError,
  ReportedError,
  retryDelayMs,
  text,
  tooLongMessage,
  type UpstreamError,
} from "../../wire/dialects/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { faultWords, TransportFault, type UpstreamReply } from "./transport.ts";

/** Characters of a body that is not an answer that are read. */
const MAX_TEXT_CHARS = 64 * 1_024;
/** How long the body of an error is waited for, and that of one whose status says all but the details. */
const TEXT_MS = 2_000;
const DECIDED_TEXT_MS = 250;
const MAX_MESSAGE_CHARS = 16_000;
const MAX_PARAM_CHARS = 200;

/** One attempt that did not lead to an answer. */
export interface Failure {
  /**
   * - `again`: another attempt is safe, here or elsewhere (not sent, or 5xx).
   * - `busy`: the upstream answered 429.
   * - `elsewhere`: this target cannot answer (key rejected, model unknown, redirect).
   * - `final`: another attempt could generate twice, or would be rejected for the same reason.
   */
  readonly kind: "again" | "busy" | "elsewhere" | "final";
  /** For the log: no secret, and nothing that an upstream says but its code, as its words may quote the request. */
  readonly detail: string;
  /** The same for people, in words instead of the platform's codes. */
  readonly words: string;
  /** What came of the attempt, in a few words, none of them an upstream's: `status 503`, `timed out`. */
  readonly outcome: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** The error for the caller when no other attempt helps. */
  readonly refusal: Refusal;
  /** Whether the upstream is to blame. */
  readonly blame: boolean;
  /** Whether it counts in the target's circuit: what a caller can cause by its own request does not. */
  readonly trips: boolean;
  /** Whether a timeout ended the attempt. */
  readonly timedOut: boolean;
  /**
   * What it says of the key that was used; undefined if nothing.
   *
   * - `rejected`: unknown, revoked or expired.
   * - `forbidden`: not allowed to do this, or the request is not allowed to anyone.
   * - `exhausted`: out of credits.
   * - `limited`: over its rate limit.
   */
  readonly ofKey?: "rejected" | "forbidden" | "exhausted" | "limited" | undefined;
}

/** The upstream that an attempt was made at, as far as its failures need it. */
export interface FailedUpstream {
  /** Takes what nobody may see out of a text. */
  redact(text: string): string;
}

/** A thrown value as a failure; rethrows errors that do not concern the upstream. */
export function failureOf(error: unknown, upstream: FailedUpstream): Failure {
  if (error instanceof TransportFault) return transportFailure(error, upstream);
  if (!(error instanceof Refusal)) throw error;
  if (error instanceof ReportedError && error.said !== undefined) {
    const { said, ownStatus } = error;
    const message = said.message && upstream.redact(said.message).slice(0, MAX_MESSAGE_CHARS);
    if (ownStatus !== undefined && ownStatus < 500 && ownStatus !== 429) {
      return failureOfStatus(ownStatus, { ...said, message, param: undefined }, undefined);
    }
  }
  const busy = error.reason === "rate_exceeded";
  const theirs = busy || error.reason === "upstream_unavailable";
  // What the upstream itself reports instead of an answer has generated nothing; an answer that
  // cannot be used has, and asking again would generate twice.
  const repeatable = theirs && error instanceof ReportedError;
  return {
    kind: repeatable ? (busy ? "busy" : "again") : "final",
    detail: error.message,
    words: error.message,
    outcome: repeatable
      ? (busy ? RATE_LIMITED : "reported an error")
      : REFUSAL_WORDS[error.reason] ?? "given up",
    status: undefined,
    retryAfterMs: error.retryAfterMs,
    refusal: error,
    blame: theirs,
    trips: theirs && !error.ofThisRequest,
    timedOut: false,
    ofKey: repeatable && busy ? "limited" : undefined,
  };
}

const RATE_LIMITED = "over its rate limit";

/** What came of an attempt, by the reason of its refusal; others are failures of the gateway's own. */
const REFUSAL_WORDS: Readonly<Partial<Record<Refusal["reason"], string>>> = {
  context_exceeded: "input too long",
  rate_exceeded: RATE_LIMITED,
  upstream_unavailable: "unusable response",
};

function transportWords({ kind, timedOut }: TransportFault): string {
  if (kind === "left") return CANCELLED;
  if (kind === "not_sent") return timedOut ? "no connection in time" : "no connection";
  return timedOut ? "timed out" : "connection lost";
}

/** What came of an attempt that the client's disconnect or the gateway's shutdown ended. */
export const CANCELLED = "cancelled";

function transportFailure(fault: TransportFault, upstream: FailedUpstream): Failure {
  const notSent = fault.kind === "not_sent";
  return {
    // a target that keeps its requests waiting is not asked again soon
    kind: notSent ? "again" : fault.kind === "no_reply" ? "elsewhere" : "final",
    detail: upstream.redact(`${fault.kind}: ${fault.message}`),
    words: upstream.redact(faultWords(fault)),
    outcome: transportWords(fault),
    status: undefined,
    retryAfterMs: undefined,
    refusal: new Refusal(
      "upstream_unavailable",
      notSent
        ? "The upstream cannot be reached. Please try again."
        : "The upstream sent no response. Please try again.",
      { cause: fault },
    ),
    blame: fault.kind !== "left",
    trips: fault.kind !== "left",
    timedOut: fault.timedOut,
  };
}

/** A reply whose status is not a success, as a failure. Reads and discards its body. */
export async function statusFailure(
  reply: UpstreamReply,
  upstream: FailedUpstream,
  nowMs: number,
): Promise<Failure> {
  const { status } = reply;
  const decided = status === 429 || status >= 500;
  const said = await errorOf(reply, upstream, decided ? DECIDED_TEXT_MS : TEXT_MS);
  const { "retry-after-ms": ms, "retry-after": after } = reply.headers; // the first is Azure's
  const retryAfterMs = /^\d{1,8}$/.test(String(ms)) ? Number(ms) : retryAfter(after, nowMs);
  return failureOfStatus(status, said, retryAfterMs ?? said.retryAfterMs);
}

/** The one judge of an error, however it came. What is said may be shown to callers. */
function failureOfStatus(
  given: number,
  said: UpstreamError & { readonly param: string | undefined },
  retryAfterMs: number | undefined,
): Failure {
  const exact = exactStatus(said, given)!;
  const isTooLong = isContextError(said);
  const status = isTooLong && given >= 500 ? 400 : exact; // llama.cpp's older servers say 500
  const outcome = statusWords(status, said, given);
  const detail = [outcome, codeOf(said)].filter((one) => one !== undefined).join(", ");
  const failure = (kind: Failure["kind"], refusal: Refusal, blame = true): Failure => ({
    kind,
    detail,
    words: detail,
    outcome,
    status: given,
    retryAfterMs,
    refusal,
    blame,
    trips: blame && (status === 408 || status === 429 || status >= 500),
    timedOut: false,
    ofKey: keyFault(status, said),
  });
  const invalid = () =>
    new Refusal("request_invalid", said.message ?? "The upstream refused the request.", {
      param: said.param,
    });
  // a request that is above a limit by time, alone, fits no later either (Groq: 413)
  if (status === 429 && given === 413) return failure("elsewhere", invalid(), false);
  if (status === 429) {
    return failure(
      "busy",
      new Refusal("rate_exceeded", "The upstream is over its rate limit. Please try again.", {
        retryAfterMs,
      }),
    );
  }
  if (status === 400 || status === 413 || status === 422) {
    if (isModelError(said)) return failure("elsewhere", modelUnknown(said), false);
    const message = said.message ?? "The upstream refused the request.";
    return isTooLong
      ? failure(
        "final",
        new Refusal("context_exceeded", tooLong(said, message), { param: "messages" }),
        false,
      )
      : failure("final", invalid(), false);
  }
  if (status === 404 && isModelError(said)) return failure("elsewhere", modelUnknown(said), false);
  const isRefused = status === 403 && CONTENTS.test(`${said.type} ${said.code} ${said.message}`);
  if (isRefused) return failure("elsewhere", invalid(), false);
  const kind = status >= 500 || status === 408 ? "again" : "elsewhere";
  return failure(
    kind,
    new Refusal("upstream_unavailable", "The upstream is unavailable. Please try again.", {
      retryAfterMs,
    }),
  );
}

/** The code of an error, if it looks like one: `overloaded_error`. */
function codeOf({ code, type }: UpstreamError): string | undefined {
  return [code, type].find((one) => /^(?=.{1,40}$)[a-z]+(_[a-z]+)+$/i.test(one ?? ""));
}

/** Words of a request whose contents are not allowed (OpenRouter's moderation, xAI). */
const CONTENTS = /content[ _-]?(?:filter|policy)|moderation|flagged|safety|prohibited/i;

/** Codes and types by which upstreams say that a key has no credits left (OpenAI; Moonshot). */
const EXHAUSTED = new Set(["insufficient_quota", "exceeded_current_quota_error"]);

function keyFault(status: number, { code, type, message = "" }: UpstreamError): Failure["ofKey"] {
  const isExhausted = EXHAUSTED.has(code ?? "") || EXHAUSTED.has(type ?? "");
  switch (status) {
    case 401:
      return "rejected";
    case 402: // also for a single request that would cost more than is left (OpenRouter)
    case 403:
      return isExhausted ? "exhausted" : "forbidden";
    case 429:
      if (isExhausted) return "exhausted";
      return /request too large/i.test(message) ? "forbidden" : "limited";
  }
  return undefined;
}

function statusWords(status: number, said: UpstreamError, given: number): string {
  const what = statusMeaning(status, said);
  return what === undefined ? `status ${given}` : `${what} (status ${given})`;
}

/** What an upstream says of the key that was used. */
const KEY_WORDS: Readonly<Record<NonNullable<Failure["ofKey"]>, string>> = {
  rejected: "rejected the key",
  forbidden: "refused the key or the request",
  exhausted: "the key is out of credits",
  limited: RATE_LIMITED,
};

function statusMeaning(status: number, said: UpstreamError): string | undefined {
  const ofKey = status === 402 ? "exhausted" : keyFault(status, said);
  if (ofKey !== undefined) return KEY_WORDS[ofKey];
  const isOfRequest = status === 400 || status === 413 || status === 422;
  if ((isOfRequest || status === 404) && isModelError(said)) return "unknown model";
  if (!isOfRequest) return undefined;
  return isContextError(said) ? "input too long" : "rejected the request";
}

function modelUnknown({ message }: { message?: string | undefined }): Refusal {
  return new Refusal(
    "model_unknown",
    `The upstream does not have this model${message === undefined ? "." : `: ${message}`}`,
    { param: "model" },
  );
}

/** In the words that coding tools know, then in the upstream's. */
function tooLong(said: UpstreamError, message: string): string {
  return /^prompt is too long: \d/.test(message) ? message : `${tooLongMessage(said)} (${message})`;
}

async function errorOf(reply: UpstreamReply, upstream: FailedUpstream, patienceMs: number) {
  const body = await readText(reply, patienceMs);
  const parsed = jsonIn(body);
  const plain = body.trimStart().startsWith("<") ? undefined : body.trim() || undefined; // no pages
  const error = errorIn(parsed as JsonValue) ?? plain;
  const read = readUpstreamError(error);
  const param = isObject(error) ? text(error.param) : undefined;
  return {
    ...read,
    retryAfterMs: retryDelayMs(error),
    param: param === undefined ? undefined : upstream.redact(param).slice(0, MAX_PARAM_CHARS),
    message: read.message === undefined
      ? undefined
      : upstream.redact(read.message).slice(0, MAX_MESSAGE_CHARS),
  };
}

/** A body from its beginning, as far as it is worth reading; the reply is given up. */
export async function readText(
  { body, discard }: UpstreamReply,
  patienceMs: number,
  maxChars = MAX_TEXT_CHARS,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const timer = setTimeout(discard, patienceMs);
  try {
    let bytes: Uint8Array | undefined;
    while (text.length < maxChars && (bytes = await body.read()) !== undefined) {
      text += decoder.decode(bytes, { stream: true });
    }
  } catch {
    // what came is enough
  } finally {
    clearTimeout(timer);
    discard();
  }
  return text;
}

/** `Retry-After` in milliseconds: seconds or an HTTP date; undefined when it is neither. */
export function retryAfter(
  value: string | string[] | undefined,
  nowMs: number,
): number | undefined {
  if (typeof value !== "string") return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(value)) return Math.min(Number(value), 86_400) * 1_000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - nowMs), 86_400_000);
}
