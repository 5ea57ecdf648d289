import { messagesErrorWords, openAiErrorWords } from "../../../wire/dialects/mod.ts";
import { type Reason, REASONS } from "../../../ground/refusal.ts";
import type { SchemaName } from "./schemas.ts";

/** What descriptions of endpoints have in common: headers, parameters, bodies and errors. */

/** A part of the document. */
export type Json = Record<string, unknown>;

/** Response headers, by name. */
export const HEADERS: Readonly<Record<string, { description: string; type: string }>> = {
  "X-Request-Id": {
    description: "The client's `X-Request-Id` if valid; otherwise the gateway's.",
    type: "string",
  },
  "request-id": {
    description: "The gateway's ID of the request, as in logs and usage records.",
    type: "string",
  },
  "ETag": { description: "The body's tag, for `If-None-Match`.", type: "string" },
  "X-Credits-Remaining": {
    description:
      "Credit balance after this request's charge. On a stream: the balance at admission.",
    type: "integer",
  },
  "X-RateLimit-Limit": {
    description: "Request limit of the rate window nearest to exhaustion.",
    type: "integer",
  },
  "X-RateLimit-Remaining": { description: "Requests remaining in that window.", type: "integer" },
  "X-RateLimit-Reset": {
    description: "Time when that window resets, in Unix seconds.",
    type: "integer",
  },
  "X-Sluice-Budget-Remaining": {
    description:
      "Unspent credits of the budget nearest to exhaustion, if any applies to the key. " +
      "After this request's charge; on a stream, at admission.",
    type: "integer",
  },
  "X-Sluice-Budget-Reset": {
    description: "Time when that budget renews, in Unix seconds. Not sent if it never does.",
    type: "integer",
  },
  "X-Sluice-Upstream": { description: "Name of the upstream that replied.", type: "string" },
  "X-Sluice-Own-Key": {
    description:
      "Whose key of the upstream the reply came with: `account`, `team` or `request`. Missing for the gateway's.",
    type: "string",
  },
  "X-Sluice-Credits": {
    description: "Credits charged for this request. Not sent on streams.",
    type: "integer",
  },
  "X-Sluice-Ignored": {
    description: "Comma-separated request fields that the upstream's dialect does not support.",
    type: "string",
  },
  "X-Sluice-Adjusted": {
    description:
      "Comma-separated request fields that were changed, with the values that were sent, such as " +
      "`reasoning_effort=high`.",
    type: "string",
  },
  "X-Sluice-Simulated": {
    description: "`true` if the built-in simulator replied.",
    type: "string",
  },
  "Retry-After": { description: "Seconds to wait before retrying.", type: "integer" },
  "x-should-retry": {
    description: "`false` if the same request cannot succeed when repeated.",
    type: "string",
  },
};

/** Headers of every response. */
export const IDS = ["X-Request-Id", "request-id"];
/** Headers with the caller's credits and rate window. */
export const LIMIT_HEADERS = [
  "X-Credits-Remaining",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Sluice-Budget-Remaining",
  "X-Sluice-Budget-Reset",
];
/** Headers of a model's reply. */
export const REPLY_HEADERS = [
  ...IDS,
  ...LIMIT_HEADERS,
  "X-Sluice-Upstream",
  "X-Sluice-Own-Key",
  "X-Sluice-Credits",
  "X-Sluice-Ignored",
  "X-Sluice-Adjusted",
  "X-Sluice-Simulated",
];

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
type Shape = "chat" | "messages" | "responses";

export const CLIENT_REQUEST_ID = {
  name: "X-Request-Id",
  in: "header",
  required: false,
  description: "The client's ID of the request. It is returned in the response and logged.",
  schema: { type: "string", pattern: "^[A-Za-z0-9._:/+=@-]{1,128}$" },
};

export const TAGS = {
  name: "X-Sluice-Tags",
  in: "header",
  required: false,
  description:
    "Up to 8 tags of the request for usage reports, such as `project=alpha,env=ci`: names of 1 to 32 of " +
    "`a-z0-9_.-`, values of 1 to 64 printable ASCII characters without commas.",
  schema: { type: "string", example: "project=alpha,env=ci" },
};

export const IF_NONE_MATCH = {
  name: "If-None-Match",
  in: "header",
  required: false,
  description: "`ETag`s of bodies that the client has: 304 if the present one is among them.",
  schema: { type: "string" },
};

export const VERSIONS = ["anthropic-version", "anthropic-beta"].map((name) => ({
  name,
  in: "header",
  required: false,
  description: "Passed to upstreams of the messages dialect. Every value is accepted.",
  schema: { type: "string" },
}));

export function period(
  name: string,
  description: string,
  byDefault: number,
  maximum: number,
): Json {
  return {
    name,
    in: "query",
    required: false,
    description,
    schema: { type: "integer", minimum: 1, maximum, default: byDefault },
  };
}

/** Returns error responses by status, each with the codes it can have. */
export function errors(shape: Shape, reasons: readonly Reason[]): Json {
  const byStatus = Map.groupBy(reasons, (reason) => REASONS[reason].status);
  return Object.fromEntries(
    [...byStatus].toSorted(([a], [b]) => a - b).map(([status, all]) => [status, {
      description: [...new Set(all.map((reason) => said(shape, reason)))].join("; "),
      headers: headerRefs([
        ...IDS,
        ...(status === 429 || status === 503 ? ["Retry-After"] : []),
        ...(status < 429 ? ["x-should-retry"] : []),
      ]),
      content: json(shape === "messages" ? "MessagesError" : "ChatError"),
    }]),
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

export function jsonBody(schema: SchemaName, example?: unknown): Json {
  return { required: true, content: json(schema, example) };
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
