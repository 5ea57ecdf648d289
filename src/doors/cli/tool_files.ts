import type { ClientGateway } from "./client_environment.ts";
import type { ToolModel } from "./tool_models.ts";

/** OpenCode's settings: the gateway is its only provider. */
export function opencodeConfig({ url, models: { all, main, small } }: ClientGateway) {
  return {
    ...(main !== undefined && { model: `sluice/${main.id}` }),
    ...(small !== undefined && { small_model: `sluice/${small.id}` }),
    enabled_providers: ["sluice"],
    provider: {
      sluice: {
        npm: "@ai-sdk/openai-compatible",
        name: "Sluice",
        options: { baseURL: `${url}/v1`, apiKey: "{env:OPENAI_API_KEY}" },
        models: Object.fromEntries(all.map(({ id, contextTokens, maxOutputTokens }) => [id, {
          name: id,
          ...(contextTokens !== undefined && maxOutputTokens !== undefined && {
            limit: { context: contextTokens, output: maxOutputTokens },
          }),
        }])),
      },
    },
  };
}

/** Crush's settings: the gateway is its only provider. */
export function crushConfig({ url, models: { all, main, small } }: ClientGateway) {
  const chosen = (model: ToolModel | undefined) => ({ provider: "sluice", model: model?.id });
  return {
    options: { disable_default_providers: true, disable_provider_auto_update: true },
    models: { large: chosen(main), small: chosen(small) },
    providers: {
      sluice: {
        name: "Sluice",
        type: "openai-compat",
        base_url: `${url}/v1`,
        api_key: "$OPENAI_API_KEY",
        models: all.map(({ id, contextTokens = 128_000, maxOutputTokens = 32_000 }) => ({
          id,
          name: id,
          context_window: contextTokens,
          default_max_tokens: Math.min(maxOutputTokens, 32_000),
        })),
      },
    },
  };
}

/** Pi's own providers ignore the environment's addresses, so they are pointed at the gateway too. */
export function piExtension({ url, models: { all } }: ClientGateway): string {
  const provider = {
    baseUrl: `${url}/v1`,
    apiKey: "OPENAI_API_KEY",
    api: "openai-completions",
    models: all.map(({ id, contextTokens = 128_000, maxOutputTokens = 32_000 }) => ({
      id,
      name: id,
      reasoning: false,
      input: ["text", "image"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: contextTokens,
      maxTokens: maxOutputTokens,
    })),
  };
  return `export default function (pi) {
  pi.registerProvider("sluice", ${JSON.stringify(provider)});
  pi.registerProvider("openai", { baseUrl: ${JSON.stringify(`${url}/v1`)} });
  pi.registerProvider("anthropic", { baseUrl: ${JSON.stringify(url)} });
}
`;
}
