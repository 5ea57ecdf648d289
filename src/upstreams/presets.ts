import type { QuirkName } from "../config/mod.ts";
import type { DialectName } from "../dialects/mod.ts";

/** A well-known upstream, for `sluice init` and the docs. */
export interface Preset {
  /** The name that it gets under `upstreams`. */
  readonly name: string;
  readonly title: string;
  readonly url: string;
  /** Host names of the same service besides that of `url`. */
  readonly otherHosts?: readonly string[];
  readonly dialect: DialectName;
  /** Other dialects that it speaks with the same quirks. */
  readonly otherDialects?: readonly DialectName[];
  readonly quirks?: QuirkName;
  /** Environment variable that its own SDK reads the key from; undefined where there is no key. */
  readonly keyVariable?: string;
  /** Where the address is documented. */
  readonly source: string;
}

/** Services, in the order in which routes try them. */
export const SERVICES: readonly Preset[] = [
  {
    name: "moonshot",
    title: "Moonshot AI",
    url: "https://api.moonshot.ai/v1",
    otherHosts: ["api.moonshot.cn"],
    dialect: "chat",
    quirks: "moonshot",
    keyVariable: "MOONSHOT_API_KEY",
    source: "https://platform.moonshot.ai/docs/api/chat",
  },
  {
    name: "anthropic",
    title: "Anthropic",
    url: "https://api.anthropic.com/v1",
    dialect: "messages",
    quirks: "anthropic",
    keyVariable: "ANTHROPIC_API_KEY",
    source: "https://docs.anthropic.com/en/api/messages",
  },
  {
    name: "openai",
    title: "OpenAI",
    url: "https://api.openai.com/v1",
    dialect: "chat",
    otherDialects: ["responses"],
    quirks: "openai",
    keyVariable: "OPENAI_API_KEY",
    source: "https://platform.openai.com/docs/api-reference/chat",
  },
  {
    name: "openrouter",
    title: "OpenRouter",
    url: "https://openrouter.ai/api/v1",
    dialect: "chat",
    quirks: "openrouter",
    keyVariable: "OPENROUTER_API_KEY",
    source: "https://openrouter.ai/docs/api-reference/overview",
  },
  {
    name: "deepseek",
    title: "DeepSeek",
    url: "https://api.deepseek.com/v1",
    dialect: "chat",
    quirks: "deepseek",
    keyVariable: "DEEPSEEK_API_KEY",
    source: "https://api-docs.deepseek.com/",
  },
];

/** Programs that serve models on this machine, at their usual ports. */
export const LOCAL_SERVERS: readonly Preset[] = [
  {
    name: "ollama",
    title: "Ollama",
    url: "http://127.0.0.1:11434/v1",
    dialect: "chat",
    quirks: "ollama",
    source: "https://github.com/ollama/ollama/blob/main/docs/openai.md",
  },
  {
    name: "vllm",
    title: "vLLM",
    url: "http://127.0.0.1:8000/v1",
    dialect: "chat",
    quirks: "vllm",
    source: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
  },
  {
    name: "lmstudio",
    title: "LM Studio",
    url: "http://127.0.0.1:1234/v1",
    dialect: "chat",
    source: "https://lmstudio.ai/docs/app/api/endpoints/openai",
  },
];

/**
 * The quirks of a service by its host name. A service's other interface, at the same host, departs from its dialect in
 * other ways, so that the dialect must be a known one.
 *
 * @param url Base URL of an upstream.
 * @returns `undefined` if the host is not a known one.
 */
export function quirksByHost(url: string, dialect: DialectName): QuirkName | undefined {
  const { hostname } = new URL(url); // lower case, whatever was written
  const host = hostname.replace(/\.$/, "");
  return SERVICES.find((preset) =>
    [preset.dialect, ...preset.otherDialects ?? []].includes(dialect) &&
    [new URL(preset.url).hostname, ...preset.otherHosts ?? []].includes(host)
  )?.quirks;
}
