import * as z from "zod";
import { oneOf } from "../validation.ts";

const block = z.looseObject({ type: z.string() });

const imageSource = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("base64"), media_type: z.string(), data: z.string() }),
  z.looseObject({ type: z.literal("url"), url: z.string() }),
  z.looseObject({ type: z.literal("file"), file_id: z.string() }),
], oneOf("base64", "url"));

const resultBlock = z.union([
  z.looseObject({ type: z.literal("image"), source: imageSource }),
  block.refine(({ type }) => type !== "image"),
]);

/** A content block whose shape matters here; others are carried or named. */
const KNOWN_BLOCKS = {
  text: z.looseObject({ type: z.literal("text"), text: z.string() }),
  image: z.looseObject({ type: z.literal("image"), source: imageSource }),
  tool_use: z.looseObject({
    type: z.literal("tool_use"),
    id: z.string().min(1),
    name: z.string().min(1),
    input: z.looseObject({}),
  }),
  tool_result: z.looseObject({
    type: z.literal("tool_result"),
    tool_use_id: z.string().min(1),
    content: z.union([z.string(), z.array(resultBlock)]).nullish(),
    is_error: z.boolean().nullish(),
  }),
  thinking: z.looseObject({ type: z.literal("thinking"), thinking: z.string() }),
  redacted_thinking: z.looseObject({ type: z.literal("redacted_thinking"), data: z.string() }),
  document: z.looseObject({
    type: z.literal("document"),
    source: z.looseObject({ type: z.string() }),
  }),
};

/** The block kinds that are checked. */
export function blockSchema(type: string): z.ZodType | undefined {
  return Object.hasOwn(KNOWN_BLOCKS, type)
    ? KNOWN_BLOCKS[type as keyof typeof KNOWN_BLOCKS]
    : undefined;
}

const content = z.union([z.string(), z.array(block)]);

/** One message of a conversation. `system` is for callers of a beta only. */
export const message = z.looseObject({
  role: z.enum(["user", "assistant", "system"]),
  content,
});

/** A tool of the caller's has a name; those that run on the server have a type, and some of them no name. */
const tool = z.union([
  z.looseObject({ name: z.string().min(1), type: z.string().nullish() }),
  z.looseObject({ type: z.string().regex(/^(?!custom$)/) }),
]);

const toolChoice = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("auto") }),
  z.looseObject({ type: z.literal("any") }),
  z.looseObject({ type: z.literal("none") }),
  z.looseObject({ type: z.literal("tool"), name: z.string().min(1) }),
], oneOf("auto", "any", "tool", "none"));

/** Body of `POST /v1/messages`, without `max_tokens`, which `count_tokens` does not take. */
export const countRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  system: z.union([
    z.string(),
    z.array(z.looseObject({ type: z.literal("text"), text: z.string() })),
  ])
    .nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  thinking: z.looseObject({ type: z.string().nullish() }).nullish(),
  metadata: z.looseObject({}).nullish(),
});

/** The smallest `thinking.budget_tokens` that the dialect's service accepts. */
export const MIN_BUDGET_TOKENS = 1_024;

/** The part of the output limit that reasoning may take: the answer needs the rest. */
const MAX_SHARE_OF_LIMIT = 0.8;

/** The largest budget of reasoning that leaves room for an answer. */
export function mostBudget(maxTokens: number): number {
  return Math.floor(maxTokens * MAX_SHARE_OF_LIMIT);
}

/** Body of `POST /v1/messages`. Fields not named here are passed on, or named as dropped. */
export const messagesRequest = countRequest.extend({
  max_tokens: z.int().min(1),
  temperature: z.number().min(0).max(1).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  stream: z.boolean().nullish(),
});
