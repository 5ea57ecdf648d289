import { claudeName } from "../../settings/catalog/mod.ts";
import type { ToolModels } from "./tool_models.ts";

/** What a client needs to reach a gateway. */
export interface ClientGateway {
  /** Base address, without a slash at its end. */
  readonly url: string;
  readonly key: string;
  readonly models: ToolModels;
  /** A command that prints a key which is valid, where `key` ends soon: a tool that can runs it again and again. */
  readonly renewal?: readonly string[];
}

/**
 * The variables that clients read, by SDK:
 *
 * - OpenAI SDKs and most tools: `OPENAI_BASE_URL` (with `/v1`), `OPENAI_API_KEY`.
 * - Anthropic SDKs: `ANTHROPIC_BASE_URL` (without), `ANTHROPIC_AUTH_TOKEN`.
 * - Claude Code: the same, and models that are served, for all of the names that it uses by itself.
 *
 * `ANTHROPIC_API_KEY` is emptied: Claude Code would ask a person about it, and an earlier one must
 * not go to this gateway beside its own. The tracing of OpenAI's Agents SDK is off: it sends prompts to
 * OpenAI whatever the base address is.
 */
export function clientEnvironment({ url, key, models }: ClientGateway): Record<string, string> {
  return {
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: key,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_API_KEY: "",
    OPENAI_AGENTS_DISABLE_TRACING: "1",
    ...claudeModels(models),
  };
}

/** Claude Code's picker and its 1M-token models know a model only by such a name. */
function claudeModels({ main, small }: ToolModels): Record<string, string> {
  if (main === undefined || small === undefined) return {};
  const name = claudeName(main.id);
  return {
    ANTHROPIC_MODEL: name,
    ANTHROPIC_DEFAULT_FABLE_MODEL: name,
    ANTHROPIC_DEFAULT_OPUS_MODEL: name,
    ANTHROPIC_DEFAULT_SONNET_MODEL: name,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: claudeName(small.id),
  };
}
