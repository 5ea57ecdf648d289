import { jsonIn } from "../../ground/platform/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { tooLongPrompt } from "./context_words.ts";
import {
  entryOf,
  isObject,
  items,
  type JsonObject,
  type JsonValue,
  objects,
  text,
} from "./json.ts";

/** What an upstream says in an error body, in any dialect. */
export interface UpstreamError {
  readonly message: string | undefined;
  readonly code: string | undefined;
  readonly type: string | undefined;
}

/** Reads `{message, code, type}`, its other forms, or a plain text; all fields are undefined for anything else. */
export function readUpstreamError(error: unknown, depth = 0): UpstreamError {
  if (typeof error === "string") return { message: error, code: undefined, type: undefined };
  if (!isObject(error)) return { message: undefined, code: undefined, type: undefined };
  const own = codeOf(error) ?? (typeof error.status === "number" ? error.status : undefined);
  const code = typeof own === "number" ? String(own) : text(own);
  const said = { message: sentenceOf(error), code, type: text(error.type) ?? text(error.__type) };
  const passedOn = [text(error.message), rawOf(error)].map(errorInText).find(Boolean);
  if (passedOn === undefined || depth > 4) return said;
  const inner = readUpstreamError(passedOn, depth + 1);
  return {
    message: inner.message ?? said.message,
    code: inner.code ?? said.code,
    type: inner.type ?? said.type,
  };
}

/** Maximum wait that is believed. */
const MAX_RETRY_S = 86_400;

/** How long an error says to wait, in milliseconds: Google's `RetryInfo` among its details. Undefined where it does not say. */
export function retryDelayMs(error: unknown): number | undefined {
  const details = isObject(error) ? objects(error.details) : [];
  const delays = details.filter((one) => /\bRetryInfo$/.test(text(one["@type"]) ?? ""))
    .flatMap(({ retryDelay }) =>
      /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(text(retryDelay) ?? "")?.[1] ?? []
    );
  return delays[0] === undefined
    ? undefined
    : Math.ceil(Math.min(MAX_RETRY_S, Number(delays[0])) * 1_000);
}

/** The error that a text consists of: relays pass on the body of another service as their own message. */
function errorInText(said: string | undefined): JsonValue | undefined {
  if (said === undefined || !/^\s*[{[]/.test(said)) return undefined;
  return errorIn(jsonIn(said) as JsonValue | undefined);
}

/** The error of a body that has no other purpose: Gemini's are in a list. Undefined for none. */
export function errorIn(body: JsonValue | undefined): JsonValue | undefined {
  const whole = Array.isArray(body) ? body[0] : body;
  return isObject(whole) ? whole.error ?? whole.Error ?? whole : undefined;
}

/** A field under any of its names: `Message` (AWS), `error_msg` (Baidu, Huawei), `errorMessage`. */
function named(body: JsonObject, names: readonly string[]): JsonValue | undefined {
  for (const name of names) if (body[name] !== undefined) return body[name];
  for (const key in body) {
    if (!/^[eA-Z]/.test(key)) continue; // most events have none
    const plain = key.toLowerCase().replace(/^err(?:or)?_?(?=.)/, "");
    if (plain !== key && names.includes(plain)) return body[key];
  }
  return undefined;
}

function codeOf(body: JsonObject): JsonValue | undefined {
  return named(body, ["code"]);
}

/** Fields that hold a reply, by dialect: a body with one of them is not itself an error. */
const CONTENTS = ["choices", "content", "output", "data"];

/** Fields of an error that has no other: FastAPI's, and those of RFC 9457. */
const DETAIL_FIELDS = new Set(["detail", "title", "status", "type", "instance"]);

/**
 * The error that a body with status 200 reports: in `error`, in any form, or as the body itself where that holds no reply. Relays put
 * an `error` whose fields are all empty beside a reply that succeeded (BerriAI/litellm#18493): it reports nothing.
 *
 * @returns The error, for `upstreamFault`; undefined for none.
 */
export function reportedError(body: JsonObject): JsonValue | undefined {
  const { error, type, object, base_resp: base, success, status, detail } = body;
  const says = isObject(error) ? Object.values(error).some(Boolean) : Boolean(error);
  if (says && error !== true) return error;
  const ofBase = isObject(base) ? baseError(base) : undefined;
  if (ofBase !== undefined && !saysAnything(body)) return ofBase;
  if (CONTENTS.some((name) => Array.isArray(body[name])) || !wordsOf(body)) return undefined;
  const isDetail = detail !== undefined &&
    Object.keys(body).every((name) => DETAIL_FIELDS.has(name));
  const hasFailed = says || isErrorCode(codeOf(body)) || type === "error" || object === "error" ||
    success === false || isErrorStatus(status) || isDetail;
  return hasFailed ? body : undefined;
}

/** Codes of envelopes that wrap what succeeded as well. */
const OK_CODE = /^(?:0+|200|ok|success)$/i;

function isErrorCode(code: JsonValue | undefined): boolean {
  return Boolean(code) && !OK_CODE.test(String(code));
}

function isErrorStatus(status: JsonValue | undefined): boolean {
  return typeof status === "number" ? status >= 400 : /^(?:error|fail)/i.test(text(status) ?? "");
}

/** Statuses of MiniMax's codes (platform.minimaxi.com, error codes); all others are its own failures. */
const STATUS_OF_BASE: Readonly<Record<string, number>> = {
  1002: 429,
  1039: 429,
  1041: 429,
  1004: 401,
  2049: 401,
  1008: 402,
  1026: 400,
  1027: 400,
  1042: 400,
  2013: 400,
};

/** The error in MiniMax's `base_resp`, which stands beside each of its replies. */
function baseError({ status_code: code, status_msg: message }: JsonObject): JsonObject | undefined {
  if (!isErrorCode(code)) return undefined;
  const status = entryOf(STATUS_OF_BASE, String(code));
  return { message: message ?? null, code: status ?? code! };
}

/** Whether a body says anything for the client, such as text, reasoning and calls, or ends a stream that did. */
function saysAnything(body: JsonObject): boolean {
  return CONTENTS.some((name) => name !== "choices" && items(body[name]).length > 0) ||
    objects(body.choices).some(({ message, delta, finish_reason: reason }) =>
      isObject(delta) && Boolean(reason) ||
      [message, delta].filter(isObject).some(({ role: _, name: __, ...said }) =>
        Object.values(said).some((one) => Array.isArray(one) ? one.length > 0 : Boolean(one))
      )
    );
}

/**
 * What an error says in words, however deep: its message, or the list of faults that FastAPI's servers (Mistral, TGI, llama-cpp-python) and
 * Cloudflare write; GLM has `msg`. A relay that only says that its provider failed has the provider's words beside it (OpenRouter,
 * `metadata.raw`).
 */
function sentenceOf(error: JsonObject): string | undefined {
  const own = wordsOf(error);
  const raw = rawOf(error);
  return raw === undefined || own?.includes(raw) ? own : `${own ?? "The provider says"}: ${raw}`;
}

function rawOf({ metadata }: JsonObject): string | undefined {
  return isObject(metadata) ? text(metadata.raw) || undefined : undefined;
}

function wordsOf(value: JsonValue | undefined, depth = 0): string | undefined {
  if (typeof value === "string") return value || undefined;
  if (Array.isArray(value)) {
    return value.map((one) => faultOf(one, depth + 1)).filter(Boolean).join("; ") || undefined;
  }
  if (!isObject(value) || depth > 4) return undefined;
  return [["message"], ["detail"], ["msg", "description"], ["errors"]]
    .map((names) => wordsOf(named(value, names), depth + 1)).find(Boolean);
}

/** One of a list of faults, with its place in the request (`loc`). */
function faultOf(fault: JsonValue, depth: number): string | undefined {
  const said = wordsOf(fault, depth);
  const place = isObject(fault) ? items(fault.loc).join(".") : "";
  return said === undefined || place === "" ? said : `${place}: ${said}`;
}

/** Whether an upstream rejects the request because its input is too long. */
export function isContextError(error: UpstreamError): boolean {
  return tooLongPrompt(error) !== undefined;
}

/** Azure's models are deployments; 1211 is GLM's. */
const MODEL_CODES =
  /^(?:model_?not_?(?:found|exist|available|supported)|(?:unknown|invalid)_model|model_decommissioned|deployment_?not_?found|1211)$/i;
/** What may stand between two words of a sentence; names of models have dots. */
const WITHIN = String.raw`(?:[^.]|\.(?=\S)){0,120}`;
const MODEL_WORDS = new RegExp(
  [
    String.raw`\bmodel\b${WITHIN}(?:(?:\bnot|n't) (?:found|exist)|\bis not available|\bnot loaded)`,
    String.raw`\bmodels\/\S{1,200} (?:is|was) not found\b`,
    String.raw`(?:unknown|invalid|no such) model\b|not a valid model|模型.{0,20}不存在`,
    "\\bnot found the model\\b", // Moonshot
    "\\bmodel identifier is invalid|\\bresolve the foundation model\\b", // Bedrock
    String
      .raw`\bmodel ID \S{1,200} with on-demand throughput\b|\bmodel version has reached the end of its life`,
    String.raw`\bmodel\b${WITHIN}\bhas been (?:decommissioned|retired)`, // Groq
    String.raw`^no endpoints found for \S+\/`, // OpenRouter
    "^unable to access model\\b", // Together
  ].join("|"),
  "i",
);

/**
 * Whether an upstream says that it does not have the model: by its code, as OpenAI does (`model_not_found`), by its type,
 * as the messages dialect does (`not_found_error`, `model: name`), or by its words, as Ollama, vLLM, LM Studio, Mistral, OpenRouter, DeepSeek
 * and Google (`models/name is not found`) do.
 */
export function isModelError({ message = "", code = "", type = "" }: UpstreamError): boolean {
  if (MODEL_CODES.test(code) || MODEL_CODES.test(type)) return true;
  return MODEL_WORDS.test(message) || (type === "not_found_error" && /^model\b/i.test(message));
}

/**
 * The message for input that is too long, in the words that make coding tools compact their conversation.
 *
 * @param error What the upstream says; only its numbers are used.
 */
export function tooLongMessage(error: UpstreamError): string {
  const { tokens, maximum } = tooLongPrompt(error) ?? {};
  if (maximum === undefined) return "prompt is too long";
  return `prompt is too long: ${Math.max(tokens ?? 0, maximum + 1)} tokens > ${maximum} maximum`;
}

/** Statuses that types of errors stand for: those of the messages dialect, and of OpenAI's. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  insufficient_quota: 429,
  api_error: 500,
  server_error: 500,
  overloaded_error: 529,
  exceed_context_size_error: 400,
};

/**
 * What words, codes and types say more exactly than a status. Services report as faults of the request what is none: a key or
 * an account that only the operator can change (Gemini, xAI, Anthropic, Alibaba: 400), and limits by time (Groq: 413). Words count where the
 * sentence begins with them, since a request can be quoted further on.
 */
const FACTS: readonly {
  readonly status: number;
  readonly codes: RegExp;
  readonly words: RegExp;
}[] = [
  {
    status: 429,
    codes: /rate_?limit|throttl|too_?many_?requests|resource_exhausted/i,
    words: /^(?:rate limit|too many requests|throttl)/i,
  },
  {
    status: 402,
    codes:
      /^(?:arrearage|billing_(?:not_active|hard_limit_reached)|insufficient_(?:balance|credits|funds))$/i,
    words:
      /^(?:your |the )?(?:credit balance is too low|(?:account )?balance is (?:insufficient|not enough)|insufficient (?:account )?(?:balance|credits?|funds)|access denied, please make sure your account is in good standing)/i,
  },
  {
    status: 403,
    codes: /^(?:api_key_invalid|invalid_api_key|unsupported_country_region_territory)$/i,
    words:
      /^(?:(?:invalid|incorrect|expired|missing) api[ -]?key\b|(?:your |the )?api[ -]?key (?:is )?(?:not (?:valid|found)|invalid|incorrect|expired|disabled)|user location is not supported|this organization has been disabled)/i,
  },
];

/**
 * The status that an error should have: what its words or codes tell, where its own one blames the request.
 *
 * @param status Its own one; undefined if it has none.
 */
export function exactStatus(
  { message = "", code, type }: UpstreamError,
  status: number | undefined,
): number | undefined {
  if (status !== undefined && status !== 400 && status !== 413 && status !== 422) return status;
  const fact = FACTS.find(({ codes, words }) =>
    codes.test(code ?? "") || codes.test(type ?? "") || words.test(message)
  );
  return fact?.status ?? status;
}

/** The status that a reported error would have had outside of a reply; undefined where nothing tells. */
export function statusOfError(error: UpstreamError): number | undefined {
  const own = Number(error.code);
  const isStatus = Number.isInteger(own) && own >= 400 && own < 600;
  return exactStatus(error, isStatus ? own : entryOf(STATUS_OF_TYPE, error.type ?? ""));
}

/**
 * An error that an upstream reports in the middle of a reply, or with status 200 instead of one. As the first thing
 * in a reply it means that nothing was generated.
 */
export class ReportedError extends Refusal {
  /** What it says; it may hold the upstream's address or key. */
  said: UpstreamError | undefined;
  /** The status that it would have had outside of a reply. */
  ownStatus: number | undefined;
}

/** A reply that is not what its dialect has. */
export function unusable(message: string): Refusal {
  return new Refusal("upstream_unavailable", message);
}

/** A reply with more of something than is kept. What was asked may be the reason, so that it says nothing of the upstream. */
export function tooMuch(message: string): Refusal {
  return Object.assign(unusable(message), { ofThisRequest: true });
}

/** A stream that ended without a finish reason: it may be incomplete, and SDKs reject it. */
export class BrokenOff extends Refusal {}

/** Makes the error for a stream that ended without a finish reason. */
export function brokenOff(cause?: unknown): BrokenOff {
  return new BrokenOff("upstream_unavailable", "The upstream closed the stream early.", { cause });
}

/**
 * A reported error as a refusal: of the same kind as if the upstream had sent it with its status. The upstream's own message may hold its
 * address or key, so it is not in the refusal's.
 */
export function upstreamFault(error: unknown): ReportedError {
  const said = readUpstreamError(error);
  const ownStatus = statusOfError(said);
  return Object.assign(reported(said, ownStatus, retryDelayMs(error)), { said, ownStatus });
}

function reported(
  said: UpstreamError,
  status: number | undefined,
  retryAfterMs: number | undefined,
): ReportedError {
  if (isContextError(said)) return new ReportedError("context_exceeded", tooLongMessage(said));
  if (status === 429) {
    return new ReportedError(
      "rate_exceeded",
      "The upstream is over its rate limit. Please try again.",
      { retryAfterMs },
    );
  }
  const failed = new ReportedError(
    "upstream_unavailable",
    "The upstream failed while it was responding.",
  );
  failed.ofThisRequest = isAboutRequest(said, status);
  return failed;
}

/**
 * What upstreams call errors of a request: filters of contents, limits, and output that does not fit what was asked for. Calls that
 * cannot be read, of too many tools or of none that was offered are among them: a prompt can ask for one.
 */
const REQUEST_WORDS =
  /invalid_request|invalid_prompt|invalid_argument|bad_request|content_?filter|policy|moderation|safety|inspection|too_large|too_long|validate_failed|tool_use_failed|malformed_(?:function|tool)|unexpected_tool|too_many_tool|missing_thought|unsupported|unprocessable|refus/i;

/** Whether a reported error blames the request. */
function isAboutRequest({ code, type }: UpstreamError, status: number | undefined): boolean {
  const own = Number(code);
  if (own >= 400 && own < 500) return own !== 408 && own !== 429;
  if (status === 400 || status === 413 || status === 422) return true;
  return REQUEST_WORDS.test(`${type ?? ""} ${code ?? ""}`);
}
