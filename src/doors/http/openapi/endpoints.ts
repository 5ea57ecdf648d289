import { DIALECTS } from "../../../wire/dialects/mod.ts";
import { EMBEDDINGS_PATH } from "../../../wire/embeddings/mod.ts";
import { WEBHOOK_PATH } from "../../../money/payments/mod.ts";
import { ANY_JSON, type Endpoint, OPEN, plain } from "./endpoint.ts";
import { COMPACTION, RESPONSE } from "./examples.ts";
import {
  errors,
  eventStream,
  headerRefs,
  type Json,
  json,
  KEY_ERRORS,
  notModified,
  ok,
  parameter,
  RELAY_ERRORS,
  WITH_BODY,
} from "./operation.ts";
import { IDS, LIMIT_HEADERS, REPLY_HEADERS } from "../response_headers.ts";

const STATUS = { ...OPEN, tag: "operation", errors: ["chat", ["request_invalid"]] } as const;
const MODELS = { ...OPEN, tag: "inference" } as const;
const MODEL_HEADERS = [...IDS, "ETag", ...LIMIT_HEADERS];
/** For endpoints to whose requests a model replies. */
const RELAYED = {
  tag: "inference",
  parameters: [
    parameter(
      "X-Request-Id",
      "The client's ID of the request. It is returned in the response and logged.",
      { pattern: "^[A-Za-z0-9._:/+=@-]{1,128}$" },
    ),
    parameter(
      "X-Sluice-Tags",
      "Up to 8 tags of the request for usage reports, such as `project=alpha,env=ci`: names of 1 to 32 of " +
        "`a-z0-9_.-`, values of 1 to 64 printable ASCII characters without commas.",
      { example: "project=alpha,env=ci" },
    ),
  ],
} as const;

const IF_NONE_MATCH = parameter(
  "If-None-Match",
  "`ETag`s of bodies that the client has: 304 if the present one is among them.",
);

const VERSIONS = ["anthropic-version", "anthropic-beta"].map((name) =>
  parameter(name, "Passed to upstreams of the messages dialect. Every value is accepted.")
);

/** The endpoints of inference and of the caller's account. */
export const CLIENT_ENDPOINTS: readonly Endpoint[] = [
  {
    ...RELAYED,
    at: ["post", DIALECTS.chat.front.path],
    operationId: "createChatCompletion",
    summary: "Create a chat completion",
    body: json("ChatCompletionRequest"),
    replies: {
      200: relayed(
        "The completion. With `stream: true`, server-sent events, each a ChatCompletionChunk, " +
          "followed by `[DONE]`.",
        { ...json("ChatCompletion"), ...eventStream("ChatCompletionChunk") },
      ),
    },
    errors: ["chat", RELAY_ERRORS],
  },
  {
    ...RELAYED,
    at: ["post", DIALECTS.messages.front.path],
    operationId: "createMessage",
    summary: "Create a message",
    parameters: [...RELAYED.parameters, ...VERSIONS],
    body: json("MessageRequest"),
    replies: {
      200: relayed("The message. With `stream: true`, server-sent events, each a MessageEvent.", {
        ...json("Message"),
        ...eventStream("MessageEvent"),
      }),
    },
    errors: ["messages", RELAY_ERRORS],
  },
  {
    at: ["post", DIALECTS.messages.front.counting!.path],
    operationId: "countTokens",
    summary: "Count the input tokens of a request",
    tag: "inference",
    parameters: VERSIONS,
    body: json("CountTokensRequest"),
    replies: {
      200: ok(
        "The count, made by the gateway: never charged and never sent upstream.",
        "CountTokens",
        [...IDS, ...LIMIT_HEADERS],
      ),
    },
    errors: ["messages", [...KEY_ERRORS, ...WITH_BODY, "rate_exceeded"]],
  },
  {
    ...RELAYED,
    at: ["post", DIALECTS.responses.front.path],
    operationId: "createResponse",
    summary: "Create a response",
    description:
      "Responses and prompts are not stored: send the whole input with each request. An `item_reference` may " +
      "name an output item of the last hour, unless its request had `store: false`. Rejected with 400: " +
      "`previous_response_id`, `conversation`, `prompt` and `background: true`.",
    body: json("ResponseRequest", RESPONSE.request),
    replies: {
      200: relayed(
        "The response. With `stream: true`, server-sent events, each a ResponseEvent, followed by `[DONE]`. " +
          "Codex gets errors with a 4xx status as such a stream, too, which ends in `response.failed`.",
        { ...json("Response", RESPONSE.whole), ...eventStream("ResponseEvent", RESPONSE.stream) },
      ),
    },
    errors: ["responses", RELAY_ERRORS],
  },
  {
    at: ["get", DIALECTS.responses.front.path],
    operationId: "connectResponses",
    summary: "Create responses over a WebSocket",
    description:
      'Each text frame of the client is a ResponseRequest with `"type": "response.create"`; each frame of the ' +
      'gateway is a ResponseEvent, or an error with `"type": "error"`. `previous_response_id` continues a response of the ' +
      "same connection.",
    tag: "inference",
    parameters: [
      parameter(
        "Upgrade",
        "`websocket`, with the other headers of a handshake (RFC 6455).",
        { enum: ["websocket"] },
        { required: true },
      ),
    ],
    replies: {
      101: { description: "The connection is a WebSocket now." },
      426: ok("The request is not a WebSocket handshake.", "ChatError", [...IDS, "x-should-retry"]),
    },
    errors: ["responses", ["request_invalid", ...KEY_ERRORS]],
  },
  {
    ...RELAYED,
    at: ["post", COMPACTION.path],
    operationId: "compactResponse",
    summary: "Summarize a conversation",
    description:
      "Has the model summarize the input, to be sent instead of it. Charged like any request. A request to " +
      "`/v1/responses` whose last input item is a `compaction_trigger` does the same.",
    body: json("CompactRequest", COMPACTION.request),
    replies: { 200: relayed("The summary, sealed.", json("Compaction", COMPACTION.whole)) },
    errors: ["responses", RELAY_ERRORS],
  },
  {
    ...RELAYED,
    at: ["post", EMBEDDINGS_PATH],
    operationId: "createEmbeddings",
    summary: "Create embeddings",
    description: "For models of kind `embeddings`. Charged by input tokens.",
    body: json("EmbeddingsRequest"),
    replies: {
      200: ok(
        "The embeddings, one for each input, in the order of the inputs.",
        "Embeddings",
        REPLY_HEADERS.filter((name) => !/Ignored|Adjusted/.test(name)),
      ),
    },
    errors: ["chat", RELAY_ERRORS.filter((reason) => reason !== "image_too_large")],
  },
  {
    ...MODELS,
    at: ["get", "/v1/models"],
    operationId: "listModels",
    summary: "List all models",
    description:
      "With an `anthropic-version` header, the list includes aliases, and no models for embeddings.",
    parameters: [
      parameter(
        "client_version",
        'Sent by Codex, with any value: returns its own model catalogue, `{"models": [...]}`, instead.',
        {},
        { in: "query" },
      ),
      IF_NONE_MATCH,
      ...VERSIONS,
    ],
    replies: {
      200: ok("The models.", "ModelList", MODEL_HEADERS),
      304: notModified(MODEL_HEADERS),
    },
    errors: ["chat", ["request_invalid", "gateway_unavailable"]],
  },
  {
    ...MODELS,
    at: ["get", "/v1/models/{id}"],
    operationId: "getModel",
    summary: "Get a model",
    parameters: [
      parameter("id", "ID or alias of a model.", {}, { in: "path", required: true }),
      IF_NONE_MATCH,
    ],
    replies: { 200: ok("The model.", "Model", MODEL_HEADERS), 304: notModified(MODEL_HEADERS) },
    errors: ["chat", ["model_unknown", "gateway_unavailable"]],
  },
  {
    at: ["get", "/user/credits"],
    operationId: "getCredits",
    summary: "Get the caller's credits, lots, budgets and recent usage",
    tag: "account",
    parameters: [
      period("days", "Number of UTC days in `usage_by_day`, including today.", 30, 366),
      period("hours", "Number of hours in `usage_by_hour`, including the current one.", 48, 744),
    ],
    replies: { 200: ok("The credits.", "CreditUsage", [...IDS, ...LIMIT_HEADERS]) },
    errors: ["chat", [...KEY_ERRORS, "request_invalid"]],
  },
];

/** The endpoints that Stripe, load balancers, monitoring and tools call. */
export const SERVICE_ENDPOINTS: readonly Endpoint[] = [
  {
    ...OPEN,
    at: ["post", WEBHOOK_PATH],
    operationId: "receiveStripeEvent",
    summary: "Receive an event of Stripe",
    description:
      "Only for Stripe: the body must be signed with the endpoint's secret, up to five " +
      "minutes ago, and be up to 256 kB long. Answers 404 unless `payments.stripe` is set.",
    tag: "operation",
    parameters: [
      parameter("Stripe-Signature", "Time and signatures of the body.", {}, { required: true }),
    ],
    body: ANY_JSON,
    replies: plain({
      200: "The event is recorded, whether it has an effect or not.",
      400: "The signature, its time or the body is not valid.",
      413: "The body is too long.",
      503: "The database cannot be used now. Stripe sends the event again.",
    }),
    errors: ["chat", ["path_unknown"]],
  },
  {
    ...STATUS,
    at: ["get", "/healthz"],
    operationId: "getHealth",
    summary: "Check that the process is up",
    replies: { 200: ok("The process is up.", "Health", []) },
  },
  {
    ...STATUS,
    at: ["get", "/readyz"],
    operationId: "getReadiness",
    summary: "Check that requests can be served",
    replies: {
      200: ok("The database is writable and at least one upstream is usable.", "Readiness", []),
      503: ok("Not ready; the body lists the reasons. Also during shutdown.", "Readiness", [
        "Retry-After",
      ]),
    },
  },
  {
    at: ["get", "/metrics"],
    operationId: "getMetrics",
    summary: "Get Prometheus metrics",
    tag: "operation",
    security: [{ metricsToken: [] }, {}],
    replies: {
      200: {
        description: "Metrics in the Prometheus text format, version 0.0.4.",
        content: { "text/plain": { schema: { type: "string" } } },
      },
    },
    errors: ["chat", ["key_invalid"]],
  },
  {
    ...STATUS,
    at: ["get", "/openapi.json"],
    operationId: "getOpenApi",
    summary: "Get this document",
    parameters: [IF_NONE_MATCH],
    replies: {
      200: { description: "OpenAPI 3.1.", headers: headerRefs(["ETag"]), content: ANY_JSON },
      304: notModified(["ETag"]),
    },
  },
];

/** The endpoints by path and method, as the document has them. */
export function pathsOf(endpoints: readonly Endpoint[]): Json {
  const paths: Record<string, Json> = {};
  for (
    const { at: [method, path], tag, body, replies, errors: [shape, reasons], ...rest } of endpoints
  ) {
    (paths[path] ??= {})[method] = {
      ...rest,
      tags: [tag],
      ...(body && { requestBody: { required: true, content: body } }),
      responses: { ...replies, ...errors(shape, reasons) },
    };
  }
  return paths;
}

function relayed(description: string, content: Json): Json {
  return { description, headers: headerRefs(REPLY_HEADERS), content };
}

function period(name: string, description: string, byDefault: number, maximum: number): Json {
  const schema = { type: "integer", minimum: 1, maximum, default: byDefault };
  return parameter(name, description, schema, { in: "query" });
}
