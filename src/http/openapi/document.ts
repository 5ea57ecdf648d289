import { chatErrorWords, messagesErrorWords } from "../../dialects/mod.ts";
import { type Reason, REASONS } from "../../refusal.ts";
import { VERSION } from "../../platform/mod.ts";
import { jsonSchemas, type SchemaName } from "./schemas.ts";

type Json = Record<string, unknown>;

const HEADERS: Readonly<Record<string, { description: string; type: string }>> = {
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

const IDS = ["X-Request-Id", "request-id"];
const STANDING = [
  "X-Credits-Remaining",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Sluice-Budget-Remaining",
  "X-Sluice-Budget-Reset",
];
const ANSWERED = [
  ...IDS,
  ...STANDING,
  "X-Sluice-Upstream",
  "X-Sluice-Credits",
  "X-Sluice-Ignored",
  "X-Sluice-Adjusted",
  "X-Sluice-Simulated",
];

/** Error reasons of each kind of endpoint. */
const KEYED: readonly Reason[] = [
  "key_invalid",
  "permission_denied",
  "gateway_unavailable",
  "internal",
];
const WITH_BODY: readonly Reason[] = ["request_invalid", "model_unknown"];
const RELAYED: readonly Reason[] = [
  ...KEYED,
  ...WITH_BODY,
  "credits_short",
  "budget_spent",
  "rate_exceeded",
  "image_too_large",
  "context_exceeded",
  "upstream_unavailable",
];

type Shape = "chat" | "messages";

/**
 * Describes all endpoints.
 *
 * @returns An OpenAPI 3.1 document.
 */
export function openApiDocument(): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluice",
      version: VERSION,
      summary: "An LLM gateway with a chat-completions and a messages API.",
      description: "Requests are charged in whole credits to a prepaid balance. Unknown request " +
        "fields are passed unmodified to upstreams of the same dialect.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [
      { name: "inference", description: "Both dialects, for every model." },
      { name: "account", description: "The caller's own credits." },
      { name: "operation", description: "Health, metrics and API description, for operators." },
    ],
    paths: paths(),
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
        metricsToken: { type: "http", scheme: "bearer", description: "SLUICE_METRICS_TOKEN" },
      },
      headers: Object.fromEntries(
        Object.entries(HEADERS).map(([name, { description, type }]) => [
          name,
          { description, schema: { type } },
        ]),
      ),
      schemas: jsonSchemas(),
    },
  };
}

function paths(): Json {
  return {
    "/v1/chat/completions": {
      post: {
        operationId: "createChatCompletion",
        summary: "Create a chat completion",
        tags: ["inference"],
        parameters: [CLIENT_REQUEST_ID],
        requestBody: jsonBody("ChatCompletionRequest"),
        responses: {
          200: {
            description:
              "The completion. With `stream: true`, server-sent events, each a ChatCompletionChunk, " +
              "followed by `[DONE]`.",
            headers: headerRefs(ANSWERED),
            content: { ...json("ChatCompletion"), ...eventStream("ChatCompletionChunk") },
          },
          ...errors("chat", RELAYED),
        },
      },
    },
    "/v1/messages": {
      post: {
        operationId: "createMessage",
        summary: "Create a message",
        tags: ["inference"],
        parameters: [CLIENT_REQUEST_ID, ...VERSIONS],
        requestBody: jsonBody("MessageRequest"),
        responses: {
          200: {
            description:
              "The message. With `stream: true`, server-sent events, each a MessageEvent.",
            headers: headerRefs(ANSWERED),
            content: { ...json("Message"), ...eventStream("MessageEvent") },
          },
          ...errors("messages", RELAYED),
        },
      },
    },
    "/v1/messages/count_tokens": {
      post: {
        operationId: "countTokens",
        summary: "Count the input tokens of a request",
        tags: ["inference"],
        parameters: VERSIONS,
        requestBody: jsonBody("CountTokensRequest"),
        responses: {
          200: ok(
            "The count, made by the gateway: never charged and never sent upstream.",
            "CountTokens",
            [...IDS, ...STANDING],
          ),
          ...errors("messages", [...KEYED, ...WITH_BODY, "rate_exceeded"]),
        },
      },
    },
    "/v1/models": {
      get: {
        operationId: "listModels",
        summary: "List all models",
        description: "With an `anthropic-version` header, the list includes aliases.",
        tags: ["inference"],
        security: [],
        parameters: [IF_NONE_MATCH, ...VERSIONS],
        responses: {
          200: ok("The models.", "ModelList", [...IDS, "ETag", ...STANDING]),
          304: notModified([...IDS, "ETag", ...STANDING]),
          ...errors("chat", ["request_invalid", "gateway_unavailable"]),
        },
      },
    },
    "/v1/models/{id}": {
      get: {
        operationId: "getModel",
        summary: "Get a model",
        tags: ["inference"],
        security: [],
        parameters: [{
          name: "id",
          in: "path",
          required: true,
          description: "ID or alias of a model.",
          schema: { type: "string" },
        }, IF_NONE_MATCH],
        responses: {
          200: ok("The model.", "Model", [...IDS, "ETag", ...STANDING]),
          304: notModified([...IDS, "ETag", ...STANDING]),
          ...errors("chat", ["model_unknown", "gateway_unavailable"]),
        },
      },
    },
    "/user/credits": {
      get: {
        operationId: "getCredits",
        summary: "Get the caller's credits, lots, budgets and recent usage",
        tags: ["account"],
        parameters: [
          period("days", "Number of UTC days in `usage_by_day`, including today.", 30, 366),
          period(
            "hours",
            "Number of hours in `usage_by_hour`, including the current one.",
            48,
            744,
          ),
        ],
        responses: {
          200: ok("The credits.", "CreditUsage", [...IDS, ...STANDING]),
          ...errors("chat", [...KEYED, "request_invalid"]),
        },
      },
    },
    "/healthz": {
      get: {
        operationId: "getHealth",
        summary: "Check that the process is up",
        tags: ["operation"],
        security: [],
        responses: {
          200: ok("The process is up.", "Health", IDS),
          ...errors("chat", ["request_invalid"]),
        },
      },
    },
    "/readyz": {
      get: {
        operationId: "getReadiness",
        summary: "Check that requests can be served",
        tags: ["operation"],
        security: [],
        responses: {
          200: ok(
            "The database is writable and at least one upstream is usable.",
            "Readiness",
            IDS,
          ),
          503: {
            description: "Not ready; the body lists the reasons. Also during shutdown.",
            headers: headerRefs([...IDS, "Retry-After"]),
            content: json("Readiness"),
          },
          ...errors("chat", ["request_invalid"]),
        },
      },
    },
    "/metrics": {
      get: {
        operationId: "getMetrics",
        summary: "Get Prometheus metrics",
        tags: ["operation"],
        security: [{ metricsToken: [] }, {}],
        responses: {
          200: {
            description: "Metrics in the Prometheus text format, version 0.0.4.",
            content: { "text/plain": { schema: { type: "string" } } },
          },
          ...errors("chat", ["key_invalid"]),
        },
      },
    },
    "/openapi.json": {
      get: {
        operationId: "getOpenApi",
        summary: "Get this document",
        tags: ["operation"],
        security: [],
        parameters: [IF_NONE_MATCH],
        responses: {
          200: {
            description: "OpenAPI 3.1.",
            headers: headerRefs(["ETag"]),
            content: { "application/json": { schema: { type: "object" } } },
          },
          304: notModified(["ETag"]),
          ...errors("chat", ["request_invalid"]),
        },
      },
    },
  };
}

const CLIENT_REQUEST_ID = {
  name: "X-Request-Id",
  in: "header",
  required: false,
  description: "The client's ID of the request. It is returned in the response and logged.",
  schema: { type: "string", pattern: "^[A-Za-z0-9._:/+=@-]{1,128}$" },
};

const IF_NONE_MATCH = {
  name: "If-None-Match",
  in: "header",
  required: false,
  description: "`ETag`s of bodies that the client has: 304 if the present one is among them.",
  schema: { type: "string" },
};

const VERSIONS = ["anthropic-version", "anthropic-beta"].map((name) => ({
  name,
  in: "header",
  required: false,
  description: "Passed to upstreams of the messages dialect. Every value is accepted.",
  schema: { type: "string" },
}));

function period(name: string, description: string, byDefault: number, maximum: number): Json {
  return {
    name,
    in: "query",
    required: false,
    description,
    schema: { type: "integer", minimum: 1, maximum, default: byDefault },
  };
}

/** Returns error responses by status, each with the codes it can have. */
function errors(shape: Shape, reasons: readonly Reason[]): Json {
  const byStatus = Map.groupBy(reasons, (reason) => REASONS[reason].status);
  return Object.fromEntries(
    [...byStatus].toSorted(([a], [b]) => a - b).map(([status, all]) => [status, {
      description: [...new Set(all.map((reason) => said(shape, reason)))].join("; "),
      headers: headerRefs([
        ...IDS,
        ...(status === 429 || status === 503 ? ["Retry-After"] : []),
        ...(status < 429 ? ["x-should-retry"] : []),
      ]),
      content: json(shape === "chat" ? "ChatError" : "MessagesError"),
    }]),
  );
}

function said(shape: Shape, reason: Reason): string {
  if (shape === "messages") return `\`${messagesErrorWords[reason]}\``;
  const { code, type } = chatErrorWords[reason];
  return `\`${code}\` (\`${type}\`)`;
}

function ok(description: string, schema: SchemaName, headers: readonly string[]): Json {
  return { description, headers: headerRefs(headers), content: json(schema) };
}

function notModified(headers: readonly string[]): Json {
  return { description: "The client has the present body.", headers: headerRefs(headers) };
}

function headerRefs(names: readonly string[]): Json {
  return Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

function jsonBody(schema: SchemaName): Json {
  return { required: true, content: json(schema) };
}

function json(schema: SchemaName): Json {
  return { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } };
}

function eventStream(schema: SchemaName): Json {
  return {
    "text/event-stream": {
      schema: {
        type: "string",
        description: `Server-sent events; the data of each is a ${schema}.`,
      },
    },
  };
}
