import { EMBEDDINGS_PATH } from "../../../wire/embeddings/mod.ts";
import { VERSION } from "../../../ground/platform/mod.ts";
import {
  CLIENT_REQUEST_ID,
  errors,
  eventStream,
  headerRefs,
  HEADERS,
  IDS,
  IF_NONE_MATCH,
  type Json,
  json,
  jsonBody,
  KEY_ERRORS,
  LIMIT_HEADERS,
  notModified,
  ok,
  period,
  RELAY_ERRORS,
  REPLY_HEADERS,
  TAGS,
  VERSIONS,
  WITH_BODY,
} from "./operation.ts";
import { adminPaths } from "./admin_paths.ts";
import { responsesPaths } from "./responses_paths.ts";
import { jsonSchemas } from "./schemas.ts";
import { webhookPaths } from "./webhook_paths.ts";

/**
 * Describes all endpoints.
 *
 * @returns An OpenAPI 3.1 document.
 */
export function describeEndpoints(): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluice",
      version: VERSION,
      summary: "An LLM gateway with the chat-completions, messages, responses and embeddings APIs.",
      description: "Requests are charged in whole credits to a prepaid balance. Unknown request " +
        "fields are passed unmodified to upstreams of the same dialect.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [
      { name: "inference", description: "All dialects, and embeddings." },
      { name: "account", description: "The caller's own credits." },
      {
        name: "admin",
        description: "The operator's API, for keys with the scope `admin` or `read`.",
      },
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
        parameters: [CLIENT_REQUEST_ID, TAGS],
        requestBody: jsonBody("ChatCompletionRequest"),
        responses: {
          200: {
            description:
              "The completion. With `stream: true`, server-sent events, each a ChatCompletionChunk, " +
              "followed by `[DONE]`.",
            headers: headerRefs(REPLY_HEADERS),
            content: { ...json("ChatCompletion"), ...eventStream("ChatCompletionChunk") },
          },
          ...errors("chat", RELAY_ERRORS),
        },
      },
    },
    "/v1/messages": {
      post: {
        operationId: "createMessage",
        summary: "Create a message",
        tags: ["inference"],
        parameters: [CLIENT_REQUEST_ID, TAGS, ...VERSIONS],
        requestBody: jsonBody("MessageRequest"),
        responses: {
          200: {
            description:
              "The message. With `stream: true`, server-sent events, each a MessageEvent.",
            headers: headerRefs(REPLY_HEADERS),
            content: { ...json("Message"), ...eventStream("MessageEvent") },
          },
          ...errors("messages", RELAY_ERRORS),
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
            [...IDS, ...LIMIT_HEADERS],
          ),
          ...errors("messages", [...KEY_ERRORS, ...WITH_BODY, "rate_exceeded"]),
        },
      },
    },
    ...responsesPaths(),
    [EMBEDDINGS_PATH]: {
      post: {
        operationId: "createEmbeddings",
        summary: "Create embeddings",
        description: "For models of kind `embeddings`. Charged by input tokens.",
        tags: ["inference"],
        parameters: [CLIENT_REQUEST_ID, TAGS],
        requestBody: jsonBody("EmbeddingsRequest"),
        responses: {
          200: ok(
            "The embeddings, one for each input, in the order of the inputs.",
            "Embeddings",
            REPLY_HEADERS.filter((name) => !/Ignored|Adjusted/.test(name)),
          ),
          ...errors("chat", RELAY_ERRORS.filter((reason) => reason !== "image_too_large")),
        },
      },
    },
    "/v1/models": {
      get: {
        operationId: "listModels",
        summary: "List all models",
        description:
          "With an `anthropic-version` header, the list includes aliases, and no models for embeddings.",
        tags: ["inference"],
        security: [],
        parameters: [CLIENT_VERSION, IF_NONE_MATCH, ...VERSIONS],
        responses: {
          200: ok("The models.", "ModelList", [...IDS, "ETag", ...LIMIT_HEADERS]),
          304: notModified([...IDS, "ETag", ...LIMIT_HEADERS]),
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
          200: ok("The model.", "Model", [...IDS, "ETag", ...LIMIT_HEADERS]),
          304: notModified([...IDS, "ETag", ...LIMIT_HEADERS]),
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
          200: ok("The credits.", "CreditUsage", [...IDS, ...LIMIT_HEADERS]),
          ...errors("chat", [...KEY_ERRORS, "request_invalid"]),
        },
      },
    },
    ...webhookPaths(),
    ...adminPaths(),
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

const CLIENT_VERSION = {
  name: "client_version",
  in: "query",
  required: false,
  description:
    'Sent by Codex, with any value: returns its own model catalogue, `{"models": [...]}`, instead.',
  schema: { type: "string" },
};
