import type { QuirkName } from "../config/mod.ts";
import type { JsonObject, Shaping } from "../dialects/mod.ts";
import { adjustForMoonshot } from "./quirks/moonshot.ts";

/** What a known upstream departs from its dialect in. */
export interface Quirk {
  readonly shaping: Shaping;
  /** Changes a finished request body to what the upstream takes. */
  readonly adjust?: (body: JsonObject) => JsonObject;
}

/**
 * The known upstreams.
 *
 * - `moonshot`: sampling and `n` are fixed and other values are refused; the output limit is
 *   `max_completion_tokens` (platform.moonshot.ai, chat API); the rest is in `quirks/moonshot.ts`.
 * - `openai`: the output limit is `max_completion_tokens`; reasoning models refuse `max_tokens`.
 * - `anthropic`: signatures of reasoning are verified.
 * - `ollama`: `n` is not looked at (docs.ollama.com, OpenAI compatibility).
 * - the others take the dialect as it is; the name documents the upstream.
 */
export const QUIRKS: Readonly<Record<QuirkName, Quirk>> = {
  moonshot: {
    shaping: { fixedSampling: true, outputLimit: "max_completion_tokens", singleAnswer: true },
    adjust: adjustForMoonshot,
  },
  openai: { shaping: { outputLimit: "max_completion_tokens" } },
  anthropic: { shaping: { signedReasoning: true } },
  openrouter: { shaping: {} },
  deepseek: { shaping: { outputLimit: "max_tokens" } },
  vllm: { shaping: { outputLimit: "max_tokens" } },
  ollama: { shaping: { outputLimit: "max_tokens", singleAnswer: true } },
};
