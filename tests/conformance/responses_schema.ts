import { z } from "zod";

/**
 * The responses format as clients' schemas have it, written down on its own: what is required, which values there are, and that
 * optional fields of items are left out, never null.
 */

const id = z.string().min(1);
const count = z.int().nonnegative();
const itemStatus = z.enum(["in_progress", "completed", "incomplete"]);

const logprobs = z.array(z.looseObject({ token: z.string(), logprob: z.number() }));
const outputText = z.strictObject({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.looseObject({ type: z.string() })),
  logprobs: logprobs.optional(),
});
const refusal = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });
const content = z.discriminatedUnion("type", [outputText, refusal]);
const summaryText = z.strictObject({ type: z.literal("summary_text"), text: z.string() });

const item = z.discriminatedUnion("type", [
  z.strictObject({
    id,
    type: z.literal("message"),
    status: itemStatus,
    role: z.literal("assistant"),
    content: z.array(content),
    phase: z.enum(["commentary", "final_answer"]).optional(),
  }),
  z.strictObject({
    id,
    type: z.literal("function_call"),
    status: itemStatus,
    call_id: id.max(64),
    name: id,
    arguments: z.string(),
    namespace: id.optional(),
  }),
  z.strictObject({
    id,
    type: z.literal("reasoning"),
    summary: z.array(summaryText),
    content: z.array(z.strictObject({ type: z.literal("reasoning_text"), text: z.string() }))
      .optional(),
    encrypted_content: z.string().min(1).optional(),
    status: itemStatus.optional(),
  }),
  z.strictObject({ id, type: z.literal("compaction"), encrypted_content: z.string().min(1) }),
]);

const tool = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("function"),
    name: id,
    description: z.string().nullable(),
    parameters: z.looseObject({}).nullable(),
    strict: z.boolean().nullable(),
  }),
]);

const usage = z.object({
  input_tokens: count,
  input_tokens_details: z.object({ cached_tokens: count, cache_write_tokens: count.optional() }),
  output_tokens: count,
  output_tokens_details: z.object({ reasoning_tokens: count }),
  total_tokens: count,
}).refine((one) => one.total_tokens === one.input_tokens + one.output_tokens, "tokens add up");

const format = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({ type: z.literal("json_object") }),
  z.strictObject({
    type: z.literal("json_schema"),
    name: id,
    description: z.string().nullable(),
    schema: z.looseObject({}).nullable(),
    strict: z.boolean(),
  }),
]);

const fields = {
  id: id.startsWith("resp_"),
  object: z.literal("response"),
  created_at: count,
  completed_at: count.nullable(),
  status: z.enum(["in_progress", "completed", "incomplete", "failed", "cancelled", "queued"]),
  incomplete_details: z.object({ reason: z.enum(["max_output_tokens", "content_filter"]) })
    .nullable(),
  model: id,
  previous_response_id: id.nullable(),
  instructions: z.string().nullable(),
  output: z.array(item),
  error: z.object({ code: id, message: z.string() }).nullable(),
  tools: z.array(tool),
  tool_choice: z.union([z.enum(["none", "auto", "required"]), z.looseObject({ type: id })]),
  truncation: z.enum(["auto", "disabled"]),
  parallel_tool_calls: z.boolean(),
  text: z.strictObject({ format, verbosity: z.enum(["low", "medium", "high"]).optional() }),
  top_p: z.number(),
  temperature: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: count,
  reasoning: z.object({
    effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh"]).nullable(),
    summary: z.enum(["auto", "concise", "detailed"]).nullable(),
  }).nullable(),
  usage: usage.nullable(),
  max_output_tokens: count.nullable(),
  max_tool_calls: count.nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: id,
  metadata: z.record(z.string(), z.string()),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
};

/** A response object. Services may add fields to it. */
export const responseObject = z.looseObject(fields);

/** The reply of `POST /v1/responses/compact`. */
export const compactionObject = z.looseObject({
  id,
  object: z.literal("response.compaction"),
  created_at: count,
  output: z.array(z.union([item, z.looseObject({ type: z.literal("message") })])).min(1),
  usage,
});

const place = { output_index: count, sequence_number: count };
const ofItem = { item_id: id, ...place };
const ofPart = { ...ofItem, content_index: count };
const ofSummary = { ...ofItem, summary_index: count };

function ofResponse<Type extends string>(type: Type) {
  return z.strictObject({
    type: z.literal(type),
    sequence_number: count,
    response: responseObject,
  });
}

/** An event of a stream; no other exists for clients. */
export const streamEvent = z.discriminatedUnion("type", [
  ofResponse("response.created"),
  ofResponse("response.in_progress"),
  ofResponse("response.completed"),
  ofResponse("response.incomplete"),
  ofResponse("response.failed"),
  z.strictObject({ type: z.literal("response.output_item.added"), ...place, item }),
  z.strictObject({ type: z.literal("response.output_item.done"), ...place, item }),
  z.strictObject({ type: z.literal("response.content_part.added"), ...ofPart, part: content }),
  z.strictObject({ type: z.literal("response.content_part.done"), ...ofPart, part: content }),
  z.strictObject({
    type: z.literal("response.output_text.delta"),
    ...ofPart,
    delta: z.string(),
    logprobs,
  }),
  z.strictObject({
    type: z.literal("response.output_text.done"),
    ...ofPart,
    text: z.string(),
    logprobs,
  }),
  z.strictObject({ type: z.literal("response.refusal.delta"), ...ofPart, delta: z.string() }),
  z.strictObject({ type: z.literal("response.refusal.done"), ...ofPart, refusal: z.string() }),
  z.strictObject({
    type: z.literal("response.reasoning_summary_part.added"),
    ...ofSummary,
    part: summaryText,
  }),
  z.strictObject({
    type: z.literal("response.reasoning_summary_part.done"),
    ...ofSummary,
    part: summaryText,
  }),
  z.strictObject({
    type: z.literal("response.reasoning_summary_text.delta"),
    ...ofSummary,
    delta: z.string(),
  }),
  z.strictObject({
    type: z.literal("response.reasoning_summary_text.done"),
    ...ofSummary,
    text: z.string(),
  }),
  z.strictObject({
    type: z.literal("response.function_call_arguments.delta"),
    ...ofItem,
    delta: z.string(),
  }),
  z.strictObject({
    type: z.literal("response.function_call_arguments.done"),
    ...ofItem,
    name: id,
    arguments: z.string(),
  }),
]);

/** An error of a WebSocket, which ends a turn. */
export const socketError = z.looseObject({
  type: z.literal("error"),
  status: z.int().optional(),
  error: z.looseObject({ code: id, message: z.string().min(1) }),
});
