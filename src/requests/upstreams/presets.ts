import {
  fillUrl,
  type KnownProvider,
  knownProviders,
  providersIn,
  type QuirkName,
} from "../../settings/known_providers/mod.ts";
import type { BackName } from "../../wire/dialects/mod.ts";

/** An upstream that can be used as it is, for `sluice init` and the docs. */
export interface Preset {
  /** The name that it gets under `upstreams`. */
  readonly name: string;
  readonly title: string;
  readonly url: string;
  readonly dialect: BackName;
  readonly quirks?: QuirkName | undefined;
  /** The known provider that it is. */
  readonly provider?: KnownProvider;
  /** Environment variable that holds its key; undefined where there is no key. */
  readonly keyVariable?: string;
  /** Where the address is documented. */
  readonly source: string;
}

/**
 * Lists the known providers that the environment holds a key of, and what their addresses need.
 *
 * @returns The presets, in the order in which routes try them.
 */
export function presetsIn(env: Readonly<Record<string, string>>): Preset[] {
  return providersIn(env).map(({ provider, keyVariable }) => {
    const { id, title, dialect, quirks, source } = provider;
    const parts = Object.entries(provider.holes).map(([hole, name]) => [hole, env[name]]);
    const { url } = fillUrl(provider, Object.fromEntries(parts));
    return { name: id, title, url, dialect, quirks, provider, keyVariable, source };
  });
}

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
export function quirksByHost(url: string, dialect: BackName): QuirkName | undefined {
  const { hostname } = new URL(url); // lower case, whatever was written
  const host = hostname.replace(/\.$/, "");
  return knownProviders().find((provider) =>
    provider.quirks !== undefined &&
    [provider.dialect, ...provider.otherDialects].includes(dialect) &&
    (hostPattern(provider.url)?.test(host) || provider.otherHosts.includes(host))
  )?.quirks;
}

/** Hosts that a provider's URL can have; undefined where all of the host is the customer's. */
function hostPattern(url: string): RegExp | undefined {
  const [, host = ""] = /^https?:\/\/([^/:]+)/.exec(url) ?? [];
  if (/^\{\w+\}$/.test(host)) return undefined;
  const escaped = host.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[a-z0-9-]+");
  return new RegExp(`^${escaped}$`);
}
