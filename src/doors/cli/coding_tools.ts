import { dirname } from "../../ground/std/mod.ts";
import { clientEnvironment, type ClientGateway } from "./client_environment.ts";
import { shellWord } from "./format.ts";
import { crushConfig, opencodeConfig, piExtension } from "./tool_files.ts";
import type { ToolModel } from "./tool_models.ts";

/** How a tool is started so that it talks to a gateway. */
export interface ToolSetup {
  readonly env: Readonly<Record<string, string>>;
  /** Arguments before the user's own. */
  readonly args?: readonly ToolArguments[];
}

/** Arguments that belong together. */
interface ToolArguments {
  readonly args: readonly string[];
  /** Left out if the user gives one of these options. */
  readonly unless?: readonly string[];
}

/** A program that is known. */
export interface KnownTool {
  readonly title: string;
  /** Names of its program. */
  readonly programs: readonly string[];
  /** Packages that `npx` and its like run it from. */
  readonly packages?: readonly string[];
  /** The argument that makes the program this tool, as in `gh copilot`. */
  readonly subcommand?: string;
  /** Why it is not started: it would send prompts past the gateway. With what to do instead. */
  readonly refused?: string;
}

/** A tool that can be set up. */
export interface CodingTool extends KnownTool {
  /** The command that installs it. Default: npm, with the first of its packages. */
  readonly install?: string;
  /** First arguments with which it does something else and takes none of these arguments. */
  readonly subcommands?: readonly string[];
  /** A file that it reads its providers from. May hold the key. */
  readonly file?: {
    readonly name: string;
    readonly content: (gateway: ClientGateway) => string;
  };
  /**
   * @param gateway Where it shall go.
   * @param file Path of its file, if it has one.
   */
  setUp(gateway: ClientGateway, file: string): ToolSetup;
}

/** Providers of cloud services that Claude Code prefers to any base address. */
const CLAUDE_CLOUDS = ["BEDROCK", "VERTEX", "FOUNDRY", "MANTLE", "ANTHROPIC_AWS"];

const QWEN_SUBCOMMANDS = [
  "auth",
  "board",
  "channel",
  "extensions",
  "hooks",
  "mcp",
  "review",
  "sandbox",
  "serve",
  "sessions",
  "update",
];

/** The tools that `sluice run` sets up, one row each. docs/clients/ has a page on each that was tested. */
export const CODING_TOOLS: readonly CodingTool[] = [
  {
    title: "Claude Code",
    programs: ["claude"],
    packages: ["@anthropic-ai/claude-code"],
    // the variables of the user's own settings file win over those of the environment, these over both
    file: {
      name: "settings.json",
      content: (gateway) =>
        JSON.stringify({
          env: claudeEnvironment(gateway),
          ...(gateway.renewal && { apiKeyHelper: gateway.renewal.map(shellWord).join(" ") }),
        }),
    },
    setUp: (gateway, file) => ({
      env: claudeEnvironment(gateway),
      args: [{ args: ["--settings", file], unless: ["--settings"] }],
    }),
  },
  {
    title: "Codex",
    programs: ["codex"],
    packages: ["@openai/codex"],
    setUp: (gateway) => ({
      env: clientEnvironment(gateway),
      args: [
        ...[
          'model_provider="sluice"',
          'model_providers.sluice.name="Sluice"',
          `model_providers.sluice.base_url=${JSON.stringify(`${gateway.url}/v1`)}`,
          ...codexKey(gateway),
          'model_providers.sluice.wire_api="responses"',
        ].map((setting) => ({ args: ["-c", setting] })),
        ...codexModel(gateway.models.main).map((setting) => ({
          args: ["-c", setting],
          unless: ["--model", "-m"],
        })),
      ],
    }),
  },
  {
    title: "opencode",
    programs: ["opencode"],
    packages: ["opencode-ai"],
    setUp: (gateway) => ({
      env: {
        ...clientEnvironment(gateway),
        OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(gateway)),
      },
    }),
  },
  {
    title: "Cline",
    programs: ["cline"],
    packages: ["cline"],
    file: {
      name: "providers.json",
      content: ({ url, key, models: { main } }) =>
        JSON.stringify({
          version: 1,
          lastUsedProvider: "openai-compatible",
          modes: {},
          providers: {
            "openai-compatible": {
              settings: {
                provider: "openai-compatible",
                apiKey: key,
                model: main?.id,
                baseUrl: `${url}/v1`,
              },
              updatedAt: new Date(0).toISOString(),
              tokenSource: "manual",
            },
          },
        }),
    },
    setUp: (gateway, file) => ({
      env: { ...clientEnvironment(gateway), CLINE_PROVIDER_SETTINGS_PATH: file },
    }),
  },
  {
    title: "pi",
    programs: ["pi"],
    packages: ["@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"],
    subcommands: ["install", "remove", "uninstall", "update", "list", "config"],
    file: { name: "sluice.mjs", content: piExtension },
    setUp: (gateway, file) => ({
      env: clientEnvironment(gateway),
      args: [
        { args: ["--extension", file] },
        ...(gateway.models.main === undefined ? [] : [
          { args: ["--provider", "sluice"], unless: ["--provider"] },
          { args: ["--model", gateway.models.main.id], unless: ["--model"] },
        ]),
      ],
    }),
  },
  {
    title: "Qwen Code",
    programs: ["qwen"],
    packages: ["@qwen-code/qwen-code"],
    subcommands: QWEN_SUBCOMMANDS,
    setUp: (gateway) => ({
      env: {
        ...clientEnvironment(gateway),
        ...(gateway.models.main !== undefined && { OPENAI_MODEL: gateway.models.main.id }),
        QWEN_DEFAULT_AUTH_TYPE: "openai",
      },
      // the user's own settings file wins over the environment
      args: [
        { args: ["--auth-type", "openai"], unless: ["--auth-type"] },
        { args: ["--openai-base-url", `${gateway.url}/v1`], unless: ["--openai-base-url"] },
        ...(gateway.models.main === undefined
          ? []
          : [{ args: ["--model", gateway.models.main.id], unless: ["--model", "-m"] }]),
      ],
    }),
  },
  {
    title: "aider",
    programs: ["aider"],
    packages: ["aider-chat", "aider"],
    install: "python -m pip install aider-install && aider-install",
    setUp: (gateway) => ({
      env: {
        ...clientEnvironment(gateway),
        OPENAI_API_BASE: `${gateway.url}/v1`,
        ...(gateway.models.main !== undefined && gateway.models.small !== undefined && {
          AIDER_MODEL: `openai/${gateway.models.main.id}`,
          AIDER_WEAK_MODEL: `openai/${gateway.models.small.id}`,
          AIDER_EDITOR_MODEL: `openai/${gateway.models.main.id}`,
        }),
      },
      // a repository's .env and settings file win over the environment
      args: [{
        args: ["--openai-api-base", `${gateway.url}/v1`],
        unless: ["--openai-api-base"],
      }],
    }),
  },
  {
    title: "Crush",
    programs: ["crush"],
    packages: ["@charmland/crush"],
    file: {
      name: "crush.json",
      content: (gateway) => JSON.stringify(crushConfig(gateway)),
    },
    setUp: (gateway, file) => ({
      env: { ...clientEnvironment(gateway), CRUSH_GLOBAL_CONFIG: dirname(file) },
    }),
  },
  {
    title: "goose",
    programs: ["goose"],
    install: "see https://block.github.io/goose",
    setUp: (gateway) => ({
      env: {
        ...clientEnvironment(gateway),
        GOOSE_PROVIDER: "openai",
        OPENAI_HOST: gateway.url,
        OPENAI_BASE_PATH: "v1/chat/completions",
        ...(gateway.models.main !== undefined && { GOOSE_MODEL: gateway.models.main.id }),
      },
    }),
  },
];

const OTHERS = `Use one of: ${CODING_TOOLS.map(({ programs }) => programs[0]).join(", ")}`;

/** Tools that send prompts to the servers of those who make them. */
const OF_OWN_SERVERS: readonly KnownTool[] = [
  { title: "Cursor", programs: ["cursor", "cursor-agent"] },
  { title: "Amp", programs: ["amp"], packages: ["@sourcegraph/amp"] },
  { title: "Auggie", programs: ["auggie"], packages: ["@augmentcode/auggie"] },
  { title: "Kiro", programs: ["kiro", "kiro-cli"] },
  { title: "Windsurf", programs: ["windsurf"] },
];

const COPILOT = {
  title: "GitHub Copilot",
  refused: `GitHub Copilot sends prompts to GitHub. ${OTHERS}`,
};

/** Tools that send prompts to hosts of their own, whatever their environment says. */
export const TOOLS_PAST_US: readonly (KnownTool & { readonly refused: string })[] = [
  ...OF_OWN_SERVERS.map((tool) => ({
    ...tool,
    refused:
      `${tool.title} sends prompts to its own servers and cannot use another address. ${OTHERS}`,
  })),
  { ...COPILOT, programs: ["copilot"], packages: ["@github/copilot"] },
  { ...COPILOT, programs: ["gh"], subcommand: "copilot" },
  {
    title: "Gemini CLI",
    programs: ["gemini"],
    packages: ["@google/gemini-cli"],
    refused: "Gemini CLI speaks only Google's API and sends prompts there. " +
      "Use its descendant instead: sluice run -- qwen",
  },
];

function claudeEnvironment(gateway: ClientGateway): Record<string, string> {
  return {
    ...clientEnvironment(gateway),
    // it would win over the command that prints another key
    ...(gateway.renewal && { ANTHROPIC_AUTH_TOKEN: "" }),
    ...Object.fromEntries(CLAUDE_CLOUDS.map((name) => [`CLAUDE_CODE_USE_${name}`, ""])),
    ...claudeContext(gateway.models.main),
  };
}

/** Claude Code takes a model that it does not know for one with a million tokens, and compacts too late. */
function claudeContext(model: ToolModel | undefined): Record<string, string> {
  const tokens = model?.contextTokens;
  return tokens === undefined || tokens >= 1_000_000
    ? {}
    : { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(tokens) };
}

function codexKey({ renewal: [command, ...args] = [] }: ClientGateway): string[] {
  return command === undefined ? ['model_providers.sluice.env_key="OPENAI_API_KEY"'] : [
    `model_providers.sluice.auth.command=${JSON.stringify(command)}`,
    `model_providers.sluice.auth.args=${JSON.stringify(args)}`,
  ];
}

/** Codex does not know the gateway's models, and compacts a conversation by its configured context window. */
function codexModel(model: ToolModel | undefined): string[] {
  if (model === undefined) return [];
  const { id, contextTokens } = model;
  return [
    `model=${JSON.stringify(id)}`,
    ...(contextTokens === undefined ? [] : [`model_context_window=${contextTokens}`]),
  ];
}
