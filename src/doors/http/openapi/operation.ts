import { messagesErrorWords, openAiErrorWords } from "../../../wire/dialects/mod.ts";
import { type Reason, REASONS } from "../../../ground/refusal.ts";
import { type ExposedHeader, IDS } from "../response_headers.ts";
import type { SchemaName } from "./schemas.ts";

/** What descriptions of endpoints have in common: headers, parameters, bodies and errors. */

/** A part of the document. */
export type Json = Record<string, unknown>;

/** Headers that the gateway's responses can have, each with its type and description. */
export const HEADERS: Readonly<Record<ExposedHeader, readonly [type: string, words: string]>> = {
  "X-Request-Id": ["string", "The client's `X-Request-Id` if valid; otherwise the gateway's."],
  "request-id": ["string", "The gateway's ID of the request, as in logs and usage records."],
  "ETag": ["string", "The body's tag, for `If-None-Match`."],
  "X-Credits-Remaining": [
    "integer",
    "Credit balance after this request's charge. On a stream: the balance at admission.",
  ],
  "X-RateLimit-Limit": ["integer", "Request limit of the rate window nearest to exhaustion."],
  "X-RateLimit-Remaining": ["integer", "Requests remaining in that window."],
  "X-RateLimit-Reset": ["integer", "Time when that window resets, in Unix seconds."],
  "X-Sluice-Budget-Remaining": [
    "integer",
    "Unspent credits of the budget nearest to exhaustion, if any applies to the key. " +
    "After this request's charge; on a stream, at admission.",
  ],
  "X-Sluice-Budget-Reset": [
    "integer",
    "Time when that budget renews, in Unix seconds. Not sent if it never does.",
  ],
  "X-Sluice-Upstream": ["string", "Name of the upstream that replied."],
  "X-Sluice-Own-Key": [
    "string",
    "Whose key of the upstream the reply came with: `account`, `team` or `request`. Missing for the gateway's.",
  ],
  "X-Sluice-Credits": ["integer", "Credits charged for this request. Not sent on streams."],
  "X-Sluice-Ignored": [
    "string",
    "Comma-separated request fields that the upstream's dialect does not support.",
  ],
  "X-Sluice-Adjusted": [
    "string",
    "Comma-separated request fields that were changed, with the values that were sent, such as " +
    "`reasoning_effort=high`.",
  ],
  "X-Sluice-Simulated": ["string", "`true` if the built-in simulator replied."],
  "Retry-After": ["integer", "Seconds to wait before retrying."],
  "x-should-retry": ["string", "`false` if the same request cannot succeed when repeated."],
};

/** Error reasons of endpoints that require a key; of those that have a body, too; and of those that send it upstream. */
export const KEY_ERRORS: readonly Reason[] = [
  "key_invalid",
  "permission_denied",
  "gateway_unavailable",
  "internal",
];
export const WITH_BODY: readonly Reason[] = ["request_invalid", "model_unknown"];
export const RELAY_ERRORS: readonly Reason[] = [
  ...KEY_ERRORS,
  ...WITH_BODY,
  "credits_short",
  "budget_spent",
  "rate_exceeded",
  "image_too_large",
  "context_exceeded",
  "upstream_unavailable",
];

/** Whose errors an endpoint has. */
export type Shape = "chat" | "messages" | "responses";

/** A parameter: an optional text in a header, unless said otherwise. */
export function parameter(name: string, description: string, schema: Json = {}, more: Json = {}) {
  return {
    name,
    in: "header",
    required: false,
    description,
    schema: { type: "string", ...schema },
    ...more,
  };
}

/** Returns error responses by status, each with the codes it can have. */
export function errors(shape: Shape, reasons: readonly Reason[]): Json {
  const schema = shape === "messages" ? "MessagesError" : "ChatError";
  return errorsOf(reasons.map((reason) => [REASONS[reason].status, said(shape, reason)]), schema);
}

/** Returns error responses, each with what it can say. */
export function errorsOf(
  all: readonly (readonly [status: number, words: string])[],
  schema: SchemaName,
): Json {
  const byStatus = Map.groupBy(all, ([status]) => status);
  return Object.fromEntries(
    [...byStatus].map(([status, found]) => [
      status,
      ok([...new Set(found.map(([, words]) => words))].join("; "), schema, [
        ...IDS,
        ...([409, 429, 503].includes(status) ? ["Retry-After"] : []),
        ...(status < 429 ? ["x-should-retry"] : []),
      ]),
    ]),
  );
}

function said(shape: Shape, reason: Reason): string {
  if (shape === "messages") return `\`${messagesErrorWords[reason]}\``;
  const { code, type } = openAiErrorWords[reason];
  return `\`${code}\` (\`${type}\`)`;
}

export function ok(description: string, schema: SchemaName, headers: readonly string[]): Json {
  return { description, headers: headerRefs(headers), content: json(schema) };
}

export function notModified(headers: readonly string[]): Json {
  return { description: "The client has the present body.", headers: headerRefs(headers) };
}

export function headerRefs(names: readonly string[]): Json {
  return Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

export function json(schema: SchemaName, example?: unknown): Json {
  const media = { schema: { $ref: `#/components/schemas/${schema}` } };
  return { "application/json": example === undefined ? media : { ...media, example } };
}

export function eventStream(schema: SchemaName, example?: string): Json {
  const media = {
    schema: {
      type: "string",
      description: `Server-sent events; the data of each is a ${schema}.`,
    },
  };
  return { "text/event-stream": example === undefined ? media : { ...media, example } };
}
