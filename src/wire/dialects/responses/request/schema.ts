import * as z from "zod";
import { oneOf } from "../../validation.ts";

const part = z.looseObject({ type: z.string() });
const content = z.union([z.string(), z.array(part)]);
const callId = z.string().min(1);
const toolList = z.array(z.looseObject({ type: z.string() }));
const effort = z.looseObject({ effort: z.unknown() }); // none is an error: tools send what they know

const textFormat = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text") }),
  z.looseObject({ type: z.literal("json_object") }),
  z.looseObject({
    type: z.literal("json_schema"),
    name: z.string(),
    schema: z.looseObject({}),
  }),
], oneOf("text", "json_object", "json_schema"));
const textSettings = z.looseObject({ format: textFormat.nullish() });

/** A content part whose shape matters here; others are carried, named or rejected. */
const KNOWN_PARTS = {
  input_text: z.looseObject({ text: z.string() }),
  output_text: z.looseObject({ text: z.string() }),
  refusal: z.looseObject({ refusal: z.string() }),
  input_image: z.looseObject({
    image_url: z.string().nullish(),
    file_id: z.string().nullish(),
  }),
  input_file: z.looseObject({
    file_data: z.string().nullish(),
    file_url: z.string().nullish(),
    file_id: z.string().nullish(),
    filename: z.string().nullish(),
  }),
};

/** An item whose shape matters here; others are carried, or named. */
const KNOWN_ITEMS = {
  message: z.looseObject({
    role: z.enum(["user", "assistant", "system", "developer"]),
    content,
  }),
  function_call: z.looseObject({
    call_id: callId,
    name: z.string().min(1),
    namespace: z.string().nullish(),
    arguments: z.string(),
  }),
  function_call_output: z.looseObject({ call_id: callId, output: content }),
  custom_tool_call: z.looseObject({
    call_id: callId,
    name: z.string().min(1),
    namespace: z.string().nullish(),
    input: z.string(),
  }),
  custom_tool_call_output: z.looseObject({ call_id: callId, output: content }),
  tool_search_call: z.looseObject({ call_id: callId.nullish() }),
  tool_search_output: z.looseObject({ call_id: callId.nullish(), tools: toolList }),
  reasoning: z.looseObject({
    summary: z.array(part).nullish(),
    content: z.array(part).nullish(),
    encrypted_content: z.string().nullish(),
  }),
  compaction: z.looseObject({ encrypted_content: z.string() }),
  additional_tools: z.looseObject({ tools: toolList }),
  configuration_update: z.looseObject({
    reasoning: effort.nullish(),
    text: textSettings.nullish(),
  }),
};

const KNOWN_TOOLS = {
  function: z.looseObject({
    name: z.string().min(1),
    description: z.string().nullish(),
    parameters: z.looseObject({}).nullish(),
    strict: z.boolean().nullish(),
  }),
  custom: z.looseObject({
    name: z.string().min(1),
    description: z.string().nullish(),
    format: z.looseObject({ type: z.string() }).nullish(),
  }),
  namespace: z.looseObject({
    name: z.string().min(1),
    description: z.string().nullish(),
    tools: toolList,
  }),
  tool_search: z.looseObject({
    description: z.string().nullish(),
    parameters: z.looseObject({}).nullish(),
    execution: z.string().nullish(),
  }),
};

/** The schema of an item; undefined for a kind that is not checked. */
export function itemSchema(kind: string): z.ZodType | undefined {
  return own<z.ZodType>(KNOWN_ITEMS, kind);
}

/** The schema of a content part; undefined for a kind that is not checked. */
export function partSchema(kind: string): z.ZodType | undefined {
  return own<z.ZodType>(KNOWN_PARTS, kind);
}

/** The schema of a tool; undefined for a kind that is not checked. */
export function toolSchema(kind: string): z.ZodType | undefined {
  return own<z.ZodType>(KNOWN_TOOLS, kind);
}

function own<T>(all: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(all, key) ? all[key] : undefined;
}

const item = z.looseObject({ type: z.string().nullish(), role: z.string().nullish() });

const toolChoice = z.union([
  z.enum(["none", "auto", "required"]),
  z.looseObject({ type: z.string(), name: z.string().nullish(), mode: z.string().nullish() }),
]);

/** Body of `POST /v1/responses/compact`, which takes further fields of a request as well. */
export const compactRequest = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string().min(1), z.array(item).min(1)]),
  instructions: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  tools: toolList.nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: effort.nullish(),
  text: textSettings.nullish(),
  include: z.array(z.string()).nullish(),
  store: z.boolean().nullish(),
  metadata: z.looseObject({}).nullish(),
});

/** Body of `POST /v1/responses`. Fields not named here are passed on, or named as dropped. */
export const responsesRequest = compactRequest.extend({
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({}).nullish(),
  background: z.boolean().nullish(),
  truncation: z.string().nullish(),
  max_tool_calls: z.int().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  service_tier: z.string().nullish(),
});
