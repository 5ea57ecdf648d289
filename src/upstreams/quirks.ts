import type { QuirkName } from "../config/mod.ts";
import type { Shaping } from "../dialects/mod.ts";

/**
 * What known upstreams depart from their dialect in.
 *
 * - `moonshot`: sampling is fixed and other values are refused; the output limit is
 *   `max_completion_tokens` (platform.moonshot.ai, chat API).
 * - `openai`: the output limit is `max_completion_tokens`; reasoning models refuse `max_tokens`.
 * - `anthropic`: signatures of reasoning are verified.
 * - the others take the dialect as it is; the name documents the upstream.
 */
export const QUIRKS: Readonly<Record<QuirkName, Shaping>> = {
  moonshot: { fixedSampling: true, outputLimit: "max_completion_tokens" },
  openai: { outputLimit: "max_completion_tokens" },
  anthropic: { signedReasoning: true },
  openrouter: {},
  deepseek: { outputLimit: "max_tokens" },
  vllm: { outputLimit: "max_tokens" },
  ollama: { outputLimit: "max_tokens" },
};
