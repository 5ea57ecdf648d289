import type { ParsedRequest, ReadOptions } from "../../dialect.ts";
import { isObject, type JsonObject, type JsonValue, objects, text } from "../../json.ts";
import type { Usage } from "../../usage.ts";
import { writeResponsesUsage } from "../usage.ts";

/** What a response object repeats of its request. */
export interface ResponseEcho {
  readonly id: string;
  readonly createdAtS: number;
  /** The model as the client named it. */
  readonly model: string;
  /** Fields of the request; see {@linkcode repeatedFields}. */
  readonly request: JsonObject;
}

/** How far a response is. */
export interface ResponseState {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly output: readonly JsonObject[];
  /** Where it is incomplete. */
  readonly reason?: "max_output_tokens" | "content_filter" | undefined;
  readonly error?: JsonObject | undefined;
  readonly usage?: Usage | undefined;
  /** In Unix seconds, where it is completed. */
  readonly completedAtS?: number | undefined;
}

/** The body with the `reasoning` that the client sent: the route may have changed it. */
export function sentBody({ body, sentReasoning }: ParsedRequest): JsonObject {
  return sentReasoning === undefined ? body : { ...body, reasoning: sentReasoning };
}

/** Characters of a field above which a response does not repeat it: its events would have it three times. */
const MAX_REPEATED_CHARS = 1_048_576;

/**
 * The fields of a request that its response repeats, with the defaults that clients expect where they are left out or too long. Not its
 * input, which may be long.
 *
 * @param sent What the gateway sent for them.
 */
export function repeatedFields(
  whole: JsonObject,
  sent: ReadOptions["sampling"] = samplingOf(whole),
): JsonObject {
  const body = withoutLong(whole);
  return {
    background: body.background === true,
    frequency_penalty: numberOr(body.frequency_penalty, 0),
    instructions: text(body.instructions) ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls !== false,
    presence_penalty: numberOr(body.presence_penalty, 0),
    previous_response_id: text(body.previous_response_id) ?? null,
    prompt_cache_key: text(body.prompt_cache_key) ?? null,
    reasoning: repeatedReasoning(body.reasoning),
    safety_identifier: text(body.safety_identifier) ?? null,
    service_tier: sent.service_tier ?? "default",
    store: body.store !== false,
    temperature: sent.temperature ?? 1,
    text: repeatedText(body.text),
    tool_choice: body.tool_choice ?? "auto",
    tools: objects(body.tools).map(repeatedTool),
    top_logprobs: numberOr(body.top_logprobs, 0),
    top_p: sent.top_p ?? 1,
    truncation: text(body.truncation) ?? "disabled",
  };
}

/** The body without fields that are too long to be repeated, and without its input. */
function withoutLong({ input: _, ...body }: JsonObject): JsonObject {
  for (const [name, value] of Object.entries(body)) {
    if (charsLeft(value, MAX_REPEATED_CHARS) < 0) delete body[name];
  }
  return body;
}

/** What a value's texts leave of a number of characters; less than 0 if it is too few. */
function charsLeft(value: JsonValue | undefined, chars: number): number {
  if (typeof value === "string") return chars - value.length;
  let left = chars - 1;
  if (typeof value !== "object" || value === null) return left;
  for (const name in value) {
    if (left < 0) break;
    left = charsLeft((value as JsonObject)[name], left - name.length);
  }
  return left;
}

/** The response object. Clients check it against a schema: every field is there in every state. */
export function responseObject(
  { id, createdAtS, model, request }: ResponseEcho,
  { status, output, reason, error, usage, completedAtS }: ResponseState,
): JsonObject {
  return {
    id,
    object: "response",
    created_at: createdAtS,
    status,
    completed_at: completedAtS ?? null,
    error: error ?? null,
    incomplete_details: reason === undefined ? null : { reason },
    model,
    output: [...output],
    ...request,
    usage: usage === undefined ? null : writeResponsesUsage(usage),
  };
}

/** A request's own sampling. */
function samplingOf({ temperature, top_p }: JsonObject): NonNullable<ReadOptions["sampling"]> {
  return {
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof top_p === "number" && { top_p }),
  };
}

function numberOr(value: JsonValue | undefined, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}

/** The client's own values: an upstream's may be unknown to clients. */
function repeatedReasoning(reasoning: JsonValue | undefined): JsonObject | null {
  if (!isObject(reasoning)) return null;
  return { effort: reasoning.effort ?? null, summary: reasoning.summary ?? null };
}

/** A verbosity that is null fails clients' schemas; a format's optional fields fail them where they are left out. */
function repeatedText(given: JsonValue | undefined): JsonObject {
  const { format, verbosity } = isObject(given) ? given : {};
  const kind: JsonObject = isObject(format) ? format : { type: "text" };
  const full = kind.type === "json_schema"
    ? {
      ...kind,
      description: kind.description ?? null,
      schema: kind.schema ?? null,
      strict: kind.strict === true,
    }
    : kind;
  return typeof verbosity === "string" ? { format: full, verbosity } : { format: full };
}

/** A tool as it was offered; fields of a function that were left out are null. */
function repeatedTool(tool: JsonObject): JsonObject {
  if (tool.type !== "function") return tool;
  const { description, parameters, strict } = tool;
  return {
    ...tool,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  };
}
