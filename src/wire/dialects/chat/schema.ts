import * as z from "zod";
import { oneOf } from "../validation.ts";

const part = z.looseObject({ type: z.string() });
const textOrParts = z.union([z.string(), z.array(part).min(1)]);

const toolCall = z.looseObject({
  id: z.string(),
  type: z.string().optional(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }).optional(),
});

const instruction = {
  content: textOrParts.optional(),
  tools: z.array(z.looseObject({})).optional(),
};

/** One message of a conversation. */
export const chatMessage = z.discriminatedUnion("role", [
  z.looseObject({ role: z.literal("system"), ...instruction }),
  z.looseObject({ role: z.literal("developer"), ...instruction }),
  z.looseObject({ role: z.literal("user"), content: textOrParts }),
  z.looseObject({
    role: z.literal("assistant"),
    content: z.union([z.string(), z.array(part)]).nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.looseObject({ role: z.literal("tool"), content: textOrParts, tool_call_id: z.string().min(1) }),
], oneOf("system", "developer", "user", "assistant", "tool"));

const tool = z.looseObject({
  type: z.string(),
  function: z.looseObject({
    name: z.string().min(1),
    description: z.string().nullish(),
    parameters: z.looseObject({}).nullish(),
  }).optional(),
});

const toolChoice = z.union([
  z.enum(["none", "auto", "required"]),
  z.looseObject({
    type: z.string(),
    function: z.looseObject({ name: z.string().min(1) }).optional(),
  }),
]);

const responseFormat = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text") }),
  z.looseObject({ type: z.literal("json_object") }),
  z.looseObject({
    type: z.literal("json_schema"),
    json_schema: z.looseObject({ name: z.string(), schema: z.looseObject({}).optional() }),
  }),
], oneOf("text", "json_object", "json_schema"));

const outputLimit = z.int().min(1).nullish();

/** Body of `POST /v1/chat/completions`. Fields not named here are passed on unchanged. */
export const chatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(chatMessage).min(1),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  max_tokens: outputLimit,
  max_completion_tokens: outputLimit,
  n: z.int().min(1).max(8).nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  response_format: responseFormat.nullish(),
});
export type ChatRequest = z.infer<typeof chatRequest>;
