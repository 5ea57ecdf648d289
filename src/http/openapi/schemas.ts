import { z } from "zod";
import { requestSchemas } from "../../dialects/mod.ts";

/**
 * What the gateway answers, for `/openapi.json`. Replies may hold more: what an upstream of the same
 * dialect adds is carried on. `tests/http/openapi_test.ts` holds real answers against these.
 */

const tokens = z.int().nonnegative();
const credits = z.int().nonnegative().describe("Whole credits.");
const timestamp = z.iso.datetime().describe("RFC 3339, UTC.");

const chatUsage = z.looseObject({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens,
  prompt_tokens_details: z.looseObject({ cached_tokens: tokens.optional() }).nullish(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: tokens.optional() }).nullish(),
});

const toolCall = z.looseObject({
  id: z.string(),
  type: z.literal("function"),
  function: z.looseObject({
    name: z.string(),
    arguments: z.string().describe("JSON as text; a model may err."),
  }),
});

const finishReason = z.string().describe(
  "stop, length, tool_calls or content_filter; an upstream may add others.",
);

const chatCompletion = z.looseObject({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.int(),
  model: z.string().describe("As the caller named it."),
  choices: z.array(z.looseObject({
    index: z.int(),
    message: z.looseObject({
      role: z.literal("assistant"),
      content: z.string().nullish(),
      reasoning_content: z.string().nullish(),
      tool_calls: z.array(toolCall).optional(),
    }),
    finish_reason: finishReason.nullable(),
  })),
  usage: chatUsage,
});

const chatChunk = z.looseObject({
  id: z.string(),
  object: z.literal("chat.completion.chunk"),
  created: z.int(),
  model: z.string(),
  choices: z.array(z.looseObject({
    index: z.int(),
    delta: z.looseObject({
      role: z.string().optional(),
      content: z.string().nullish(),
      reasoning_content: z.string().nullish(),
      tool_calls: z.array(z.looseObject({ index: z.int() })).optional(),
    }),
    finish_reason: finishReason.nullish(),
  })),
  usage: chatUsage.nullish(),
});

const messagesUsage = z.looseObject({
  input_tokens: tokens,
  output_tokens: tokens,
  cache_read_input_tokens: tokens.nullish(),
  cache_creation_input_tokens: tokens.nullish(),
});

const message = z.looseObject({
  id: z.string(),
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: z.string().describe("As the caller named it."),
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
  stop_reason: z.string().nullable(),
  stop_sequence: z.string().nullable(),
  usage: messagesUsage,
});

const messageEvent = z.looseObject({
  type: z.string().describe(
    "message_start, content_block_start, content_block_delta, content_block_stop, message_delta, " +
      "message_stop, ping or error.",
  ),
});

const model = z.looseObject({
  id: z.string(),
  object: z.literal("model"),
  type: z.literal("model"),
  created: z.int(),
  created_at: timestamp,
  owned_by: z.string(),
  display_name: z.string(),
  root: z.string(),
  parent: z.null(),
  permission: z.array(z.looseObject({ id: z.string() })),
  max_input_tokens: z.int(),
  max_tokens: z.int(),
});

const modelList = z.looseObject({
  object: z.literal("list"),
  data: z.array(model),
  has_more: z.literal(false),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

const used = {
  requests: z.int().nonnegative(),
  input_tokens: tokens,
  output_tokens: tokens,
  credits,
};

const creditUsage = z.object({
  object: z.literal("credit_usage"),
  credits_remaining: credits,
  credits_consumed: credits,
  credits_held: credits.describe("What running requests may still spend."),
  requests: z.int().nonnegative(),
  average_tokens_per_request: z.number().nonnegative(),
  usage_by_day: z.array(z.object({ date: z.iso.date(), ...used })),
  usage_by_hour: z.array(z.object({ hour: z.string(), ...used })),
  lots: z.array(z.object({
    id: z.string(),
    source: z.string(),
    granted: credits,
    remaining: credits.describe("What was neither spent nor taken back, and has not expired."),
    expires_at: timestamp.nullable(),
  })),
});

const chatError = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    code: z.string(),
    param: z.string().nullable().describe("The field at fault."),
  }),
});

const messagesError = z.object({
  type: z.literal("error"),
  error: z.object({
    type: z.string(),
    message: z.string(),
    details: z.looseObject({ error_code: z.string() }).optional()
      .describe("What a client's own code reads, such as that it has to go on without a thread."),
  }),
  request_id: z.string(),
});

const health = z.object({ status: z.literal("ok") });
const readiness = z.object({
  status: z.enum(["ready", "not ready"]),
  faults: z.array(z.string()).optional(),
});

/** Every shape that the document names. */
export const SCHEMAS = {
  ChatCompletionRequest: requestSchemas.chat,
  ChatCompletion: chatCompletion,
  ChatCompletionChunk: chatChunk,
  MessageRequest: requestSchemas.messages,
  Message: message,
  MessageEvent: messageEvent,
  CountTokensRequest: requestSchemas.countTokens,
  CountTokens: z.object({ input_tokens: tokens }),
  Model: model,
  ModelList: modelList,
  CreditUsage: creditUsage,
  ChatError: chatError,
  MessagesError: messagesError,
  Health: health,
  Readiness: readiness,
} as const satisfies Record<string, z.ZodType>;

export type SchemaName = keyof typeof SCHEMAS;

/** The shapes as JSON Schema (2020-12), which is what OpenAPI 3.1 uses. */
export function jsonSchemas(): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io: "input",
    unrepresentable: "any",
    uri: (id) => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(
    Object.entries(schemas).map((
      [id, { $schema: _, $id: __, id: ___, ...schema }],
    ) => [id, schema]),
  );
}
