import { findKnownProvider } from "../../../settings/known_providers/mod.ts";
import type { BackName } from "../../../wire/dialects/mod.ts";

/** A provider that speaks one of the dialects. */
export interface Provider {
  /** Base URL if the configuration has none. */
  readonly url?: string;
  readonly dialect?: BackName;
  /** Environment variable of the key if the configuration has none. */
  readonly keyVariable?: string;
  /** What follows the base URL of the configuration, unless it ends with it. */
  readonly path?: string;
}

/** Providers by the prefix of `litellm_params.model`. */
export const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: known("openai"),
  anthropic: { ...known("anthropic"), path: "/v1" },
  azure: { keyVariable: "AZURE_API_KEY", path: "/openai/v1" },
  cerebras: known("cerebras"),
  custom_openai: {},
  dashscope: known("alibaba"),
  deepinfra: known("deepinfra"),
  deepseek: known("deepseek"),
  fireworks_ai: known("fireworks-ai", "FIREWORKS_AI_API_KEY"),
  gemini: known("google"),
  groq: known("groq"),
  hosted_vllm: { keyVariable: "HOSTED_VLLM_API_KEY" },
  litellm_proxy: {},
  llamafile: { url: "http://127.0.0.1:8080/v1" },
  lm_studio: { url: "http://127.0.0.1:1234/v1" },
  mistral: known("mistral"),
  moonshot: known("moonshot"),
  nvidia_nim: known("nvidia", "NVIDIA_NIM_API_KEY"),
  ollama: { url: "http://127.0.0.1:11434/v1", path: "/v1" },
  ollama_chat: { url: "http://127.0.0.1:11434/v1", path: "/v1" },
  openai_like: {},
  openrouter: known("openrouter"),
  perplexity: known("perplexity", "PERPLEXITYAI_API_KEY"),
  together_ai: known("together", "TOGETHERAI_API_KEY"),
  xai: known("xai"),
};

/** A provider that the gateway knows, too; `keyVariable` where LiteLLM reads another one. */
function known(id: string, keyVariable?: string): Provider {
  const { url, dialect, keyVariables } = findKnownProvider(id)!;
  const isChat = dialect === "chat";
  return { url, keyVariable: keyVariable ?? keyVariables[0]!, ...(isChat ? {} : { dialect }) };
}

/** Other providers that the gateway knows, by their IDs: what they need is not in the configuration. */
export const CLOUDS: Readonly<Record<string, readonly string[]>> = {
  azure_ai: ["azure", "azure-anthropic"],
  databricks: ["databricks"],
  snowflake: ["snowflake-cortex"],
};

/** Providers that speak a protocol of their own. */
const OTHERS = (
  "ai21 azure_ai azure_text baseten bedrock bedrock_converse cloudflare codestral cohere " +
  "cohere_chat databricks github github_copilot huggingface nlp_cloud oobabooga palm petals " +
  "predibase replicate sagemaker sagemaker_chat sambanova snowflake text-completion-openai " +
  "triton vertex_ai vertex_ai_beta vllm volcengine voyage watsonx watsonx_text"
).split(" ");

/** A model of the configuration and who provides it. */
export interface ProvidedModel {
  readonly provider: string;
  readonly model: string;
}

/**
 * Splits `openai/gpt-4o` into provider and model. Without a prefix, names of OpenAI's and Anthropic's models say the
 * provider; with a base URL of its own, any other is OpenAI-compatible.
 *
 * @returns `undefined` if the provider cannot be told.
 */
export function providedModel(
  name: string,
  { provider: named, hasUrl }: { readonly provider: string | undefined; readonly hasUrl: boolean },
): ProvidedModel | undefined {
  const slash = name.indexOf("/");
  const prefix = name.slice(0, Math.max(slash, 0));
  if (named !== undefined) {
    return { provider: named, model: prefix === named ? name.slice(slash + 1) : name };
  }
  if (Object.hasOwn(PROVIDERS, prefix) || OTHERS.includes(prefix)) {
    return { provider: prefix, model: name.slice(slash + 1) };
  }
  if (/^(gpt-|chatgpt-|o\d|ft:gpt)/.test(name)) return { provider: "openai", model: name };
  if (/^claude/.test(name)) return { provider: "anthropic", model: name };
  return hasUrl ? { provider: "openai", model: name } : undefined;
}

/**
 * Makes the base URL of an upstream.
 *
 * @param given The configuration's `api_base`, without a slash at its end.
 */
export function upstreamUrl(provider: Provider, given: string | undefined): string | undefined {
  if (given === undefined) return provider.url;
  const { path = "" } = provider;
  const bare = given.replace(/\/(chat\/completions|messages|responses)$/, "")
    .replace(/\/openai\/deployments(\/.*)?$/, ""); // Azure's older addresses
  return path === "" || bare.endsWith(path) ? bare : `${bare}${path}`;
}
