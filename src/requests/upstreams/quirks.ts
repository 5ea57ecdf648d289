import type { QuirkName } from "../../settings/known_providers/mod.ts";
import type { Shaping } from "../../wire/dialects/mod.ts";
import { withBothNames, withContinuation, withReasonedCalls } from "./quirks/history.ts";
import { type Adjust, inSteps } from "./quirks/adjust.ts";
import {
  withOneSampling,
  withoutEmptyTexts,
  withoutForcedThinking,
  withTakenSchemas,
  withThinkingInTurn,
  withTrimmedPrefill,
} from "./quirks/anthropic.ts";
import { withFewMarks } from "./quirks/anthropic_marks.ts";
import {
  withFewStops,
  withoutDeveloper,
  withShortIds,
  withShortItemIds,
} from "./quirks/chat_rules.ts";
import { withBetasInBody, withVersion } from "./clouds/body_version.ts";
import type { ModelPath } from "./clouds/model_paths.ts";
import { type Authorize, bearer, bearerIfToken } from "./credentials/bearer.ts";
import type { Transport } from "./transport.ts";
import { withoutThinkingOfDashScope, withoutThinkingOfDeepSeek } from "./quirks/forced_tools.ts";
import { withMinOutput } from "./quirks/min_output.ts";
import { withNineCharIds } from "./quirks/mistral.ts";
import { adjustForMoonshot } from "./quirks/moonshot.ts";
import { withWholeSchemas } from "./quirks/null_words.ts";

/** What a known upstream departs from its dialect in. */
export interface Quirk {
  readonly shaping: Shaping;
  /** Changes a finished request body to what the upstream takes. */
  readonly adjust?: Adjust;
  /** Puts a key into headers, where that is not the dialect's way. */
  readonly authorize?: Authorize;
  /** Where requests go, if the model is in the path. */
  readonly path?: ModelPath;
  /** The service of AWS that requests are signed for. Default: `bedrock`. */
  readonly service?: string;
  /** Changes what goes over the wire; loaded when it is needed. */
  readonly wire?: () => Promise<(send: Transport) => Transport>;
}

/** OpenAI's service, its own and Azure's. */
const OPENAI: Quirk = {
  shaping: {
    outputLimit: "max_completion_tokens",
    ownSampling: true,
    promptCacheKey: true,
    signedReasoning: true,
  },
  adjust: inSteps(
    withShortIds,
    withShortItemIds,
    withFewStops,
    withMinOutput,
    withWholeSchemas,
  ),
};
/** Anthropic's service, its own and that of clouds. */
const adjustForAnthropic = inSteps(
  withoutEmptyTexts,
  withoutForcedThinking,
  withThinkingInTurn,
  withOneSampling,
  withTrimmedPrefill,
  withTakenSchemas,
  withFewMarks,
);
const ANTHROPIC: Quirk = {
  shaping: { signedReasoning: true, ownSampling: true, cacheMarks: true },
  adjust: adjustForAnthropic,
  authorize: bearerIfToken("x-api-key"),
};

/**
 * The known upstreams.
 *
 * - `none`: the dialect as it is documented, also where the host name would show another one.
 * - `moonshot`: sampling and `n` are fixed and other values are refused; files are; the output limit is
 *   `max_completion_tokens` (platform.moonshot.ai, chat API); the rest is in `quirks/moonshot.ts`.
 * - `openai`: the output limit is `max_completion_tokens`; reasoning models refuse `max_tokens`, and any
 *   sampling but their own. Earlier reasoning has no place in the chat dialect; in the responses dialect it is returned as
 *   it was encrypted, and `max_output_tokens` is at least 16 (platform.openai.com, Responses API).
 * - `anthropic`: signatures of reasoning are verified; newer models and API versions take no sampling.
 * - `ollama`: `n` is not looked at (docs.ollama.com, OpenAI compatibility).
 * - `deepseek`: calls of tools are refused without the reasoning before them, an empty one at least
 *   (api-docs.deepseek.com, thinking mode), and forced ones with it: `quirks/forced_tools.ts`.
 * - `dashscope`: forced calls are refused with thinking. `mistral`: IDs of calls have nine characters.
 * - `moonshot`, `openai`, `openrouter`: a `prompt_cache_key` keeps a conversation where its prompt is cached.
 * - `anthropic`, `openrouter`: what `cache_control` marks is cached, and of Anthropic's models nothing else
 *   (docs.anthropic.com and openrouter.ai, prompt caching).
 * - `vllm`, `openrouter`: `top_k` is taken. How they and the others see history: `quirks/history.ts`.
 * - `think_tags`: servers without a parser for reasoning leave it in the text, between `<think>` and `</think>`.
 * - `azure`: as `openai`, with keys in `api-key` (learn.microsoft.com, Azure OpenAI v1).
 * - `bedrock-anthropic`, `vertex-anthropic`: messages with the model in the path and the version in the body, as
 *   `@anthropic-ai/bedrock-sdk` and `@anthropic-ai/vertex-sdk` write them.
 * - `vertex-gemini`: generate with a token of Google Cloud instead of a key.
 */
export const QUIRKS: Readonly<Record<QuirkName, Quirk>> = {
  none: { shaping: {} },
  moonshot: {
    shaping: {
      fixedSampling: true,
      outputLimit: "max_completion_tokens",
      singleChoice: true,
      withoutFiles: true,
      promptCacheKey: true,
    },
    adjust: inSteps(withoutDeveloper, adjustForMoonshot),
  },
  openai: OPENAI,
  anthropic: ANTHROPIC,
  openrouter: {
    shaping: { topK: true, promptCacheKey: true, cacheMarks: true },
    adjust: withBothNames,
  },
  deepseek: {
    shaping: { outputLimit: "max_tokens" },
    adjust: inSteps(withoutDeveloper, withoutThinkingOfDeepSeek, withReasonedCalls),
  },
  dashscope: { shaping: {}, adjust: inSteps(withoutDeveloper, withoutThinkingOfDashScope) },
  mistral: {
    shaping: { outputLimit: "max_tokens" },
    adjust: inSteps(withoutDeveloper, withNineCharIds),
  },
  vllm: {
    shaping: { outputLimit: "max_tokens", topK: true },
    adjust: inSteps(withoutDeveloper, withBothNames, withContinuation),
  },
  ollama: {
    shaping: { outputLimit: "max_tokens", singleChoice: true },
    adjust: inSteps(withoutDeveloper, withBothNames),
  },
  think_tags: { shaping: { outputLimit: "max_tokens", thinkTags: true }, adjust: withoutDeveloper },
  azure: { ...OPENAI, authorize: bearerIfToken("api-key") },
  "bedrock-mantle": { shaping: {}, authorize: bearer, service: "bedrock-mantle" },
  "bedrock-mantle-anthropic": { ...ANTHROPIC, authorize: bearer, service: "bedrock-mantle" },
  "bedrock-anthropic": {
    ...ANTHROPIC,
    adjust: inSteps(
      adjustForAnthropic,
      (body) => withVersion(body, "bedrock-2023-05-31", ["stream"]),
    ),
    authorize: bearer,
    path: {
      template: "/model/{model}/{method}",
      methods: { whole: "invoke", stream: "invoke-with-response-stream" },
    },
    wire: async () => {
      const { withFrames } = await import("./clouds/event_frames.ts");
      return (send) => withBetasInBody(withFrames(send));
    },
  },
  "vertex-anthropic": {
    ...ANTHROPIC,
    adjust: inSteps(adjustForAnthropic, (body) => withVersion(body, "vertex-2023-10-16", [])),
    authorize: bearer,
    path: {
      template: "/publishers/anthropic/models/{model}:{method}",
      methods: { whole: "rawPredict", stream: "streamRawPredict" },
    },
  },
  "vertex-gemini": { shaping: {}, authorize: bearer },
};
