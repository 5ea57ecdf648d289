import { COMPACTION, RESPONSE, RESPONSE_STREAM } from "./responses_examples.ts";
import {
  CLIENT_REQUEST_ID,
  errors,
  eventStream,
  headerRefs,
  IDS,
  type Json,
  json,
  jsonBody,
  KEY_ERRORS,
  RELAY_ERRORS,
  REPLY_HEADERS,
  TAGS,
} from "./operation.ts";

/** Describes the endpoints of the responses dialect. */
export function responsesPaths(): Json {
  return {
    "/v1/responses": { post: create(), get: connect() },
    "/v1/responses/compact": { post: compact() },
  };
}

function create(): Json {
  return {
    operationId: "createResponse",
    summary: "Create a response",
    description:
      "Responses and prompts are not stored: send the whole input with each request. An `item_reference` may " +
      "name an output item of the last hour, unless its request had `store: false`. Rejected with 400: " +
      "`previous_response_id`, `conversation`, `prompt` and `background: true`.",
    tags: ["inference"],
    parameters: [CLIENT_REQUEST_ID, TAGS],
    requestBody: jsonBody("ResponseRequest", { model: "svc-k2", input: "Hello" }),
    responses: {
      200: {
        description:
          "The response. With `stream: true`, server-sent events, each a ResponseEvent, followed by `[DONE]`. " +
          "Codex gets errors with a 4xx status as such a stream, too, which ends in `response.failed`.",
        headers: headerRefs(REPLY_HEADERS),
        content: {
          ...json("Response", RESPONSE),
          ...eventStream("ResponseEvent", RESPONSE_STREAM),
        },
      },
      ...errors("responses", RELAY_ERRORS),
    },
  };
}

function compact(): Json {
  return {
    operationId: "compactResponse",
    summary: "Summarize a conversation",
    description:
      "Has the model summarize the input, to be sent instead of it. Charged like any request. A request to " +
      "`/v1/responses` whose last input item is a `compaction_trigger` does the same.",
    tags: ["inference"],
    parameters: [CLIENT_REQUEST_ID, TAGS],
    requestBody: jsonBody("CompactRequest", {
      model: "svc-k2",
      input: [{ role: "user", content: "Hello" }],
    }),
    responses: {
      200: {
        description: "The summary, sealed.",
        headers: headerRefs(REPLY_HEADERS),
        content: json("Compaction", COMPACTION),
      },
      ...errors("responses", RELAY_ERRORS),
    },
  };
}

function connect(): Json {
  return {
    operationId: "connectResponses",
    summary: "Create responses over a WebSocket",
    description:
      'Each text frame of the client is a ResponseRequest with `"type": "response.create"`; each frame of the ' +
      'gateway is a ResponseEvent, or an error with `"type": "error"`. `previous_response_id` continues a response of the ' +
      "same connection.",
    tags: ["inference"],
    parameters: [{
      name: "Upgrade",
      in: "header",
      required: true,
      description: "`websocket`, with the other headers of a handshake (RFC 6455).",
      schema: { type: "string", enum: ["websocket"] },
    }],
    responses: {
      101: { description: "The connection is a WebSocket now." },
      426: {
        description: "The request is not a WebSocket handshake.",
        headers: headerRefs([...IDS, "x-should-retry"]),
        content: json("ChatError"),
      },
      ...errors("responses", ["request_invalid", ...KEY_ERRORS]),
    },
  };
}
