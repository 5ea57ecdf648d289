/** Known deviations of upstreams from their dialect, by name; see `requests/upstreams/quirks.ts`. */
export const QUIRK_NAMES = [
  "none",
  "moonshot",
  "openai",
  "anthropic",
  "openrouter",
  "deepseek",
  "dashscope",
  "mistral",
  "vllm",
  "ollama",
  "think_tags",
  "azure",
  "bedrock-mantle",
  "bedrock-mantle-anthropic",
  "bedrock-anthropic",
  "vertex-anthropic",
  "vertex-gemini",
] as const;
/** Name of a known deviation. */
export type QuirkName = typeof QUIRK_NAMES[number];
