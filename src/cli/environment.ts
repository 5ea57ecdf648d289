import type { Command } from "commander";
import type { Catalog } from "../catalog/mod.ts";
import type { Config } from "../config/mod.ts";
import { SILENT } from "../telemetry/mod.ts";
import { checkKey, type GatewayAddress, gatewayAddress, refuseOther } from "./address.ts";
import { type CommandContext, type CommandParts, CommandStatus } from "./context.ts";
import { argument, defineCommand, option } from "./define_command.ts";
import { parseDuration } from "./format.ts";
import { servedCatalog } from "./served_catalog.ts";
import { activeAccount } from "./settings.ts";

interface Options {
  readonly account?: string;
}

/** A key that `run` leaves behind when it is killed ends by itself. */
const RUN_KEY_MS = 7 * 86_400_000;

/** `sluice env` and `sluice run`: the settings that clients and coding tools read. */
export function environmentCommands(program: Command, context: CommandContext): void {
  defineCommand<Options & { expires: string }>(program, context, {
    name: "env",
    description: "print environment variables for clients, to eval in a shell",
    options: [
      option("--account <email>", "account email (default: owner)"),
      option("--expires <duration>", "lifetime of the key, e.g. 12h, 30d, 8w", "30d"),
    ],
    help:
      '\nIssues a key, or prints SLUICE_OWNER_KEY where that is set.\n\nExample:\n  eval "$(sluice env)"',
    opens: "new database",
    async run({ options, parts, config, print }) {
      const lifeMs = parseDuration(options.expires);
      const address = await gatewayAddress(config);
      refuseOther(address, config);
      const { url, answers } = address;
      const secret = given(config, options)?.secret ??
        (await issue(parts, options, { name: "sluice env", lifeMs, nowMs: context.now() })).secret;
      await checkKey(address, config, secret);
      print(
        clientEnvironment(await servedCatalog(config, context), url, secret),
        (all) => Object.entries(all).map(([name, value]) => `export ${name}='${value}'\n`).join(""),
      );
      if (!answers) {
        context.err(
          `sluice: no gateway is running on ${config.settings.data}; start one with: sluice\n`,
        );
      }
    },
  });

  defineCommand<Options & { program: string; args: string[] }>(program, context, {
    name: "run",
    description: "run a coding tool with the environment that sluice env prints",
    usage: "[options] -- PROGRAM [ARGS…]",
    arguments: [
      argument("<program>", "program to run"),
      argument("[args...]", "arguments of the program"),
    ],
    options: [option("--account <email>", "account email (default: owner)")],
    help:
      "\nThe key is revoked when the program ends. If no gateway is running, one is started for the\nprogram and stopped with it. To run several programs, start a gateway first: sluice\n" +
      "\nExamples:\n  sluice run -- claude\n  sluice run --account ada@example.com -- python agent.py",
    opens: "new database",
    serving: true,
    json: false,
    async run({ options, parts, config }) {
      const { program: name, args } = options;
      const status = await runWithKey(context, { parts, config, options, name, args });
      if (status !== 0) throw new CommandStatus(status);
    },
  });
}

interface Run {
  readonly parts: CommandParts;
  readonly config: Config;
  readonly options: Options;
  readonly name: string;
  readonly args: readonly string[];
}

async function runWithKey(context: CommandContext, run: Run): Promise<number> {
  const { parts, config, options, name, args } = run;
  // before a gateway starts, which would make the owner a first key and show it to nobody
  const key = given(config, options) ?? await issue(parts, options, {
    name: `sluice run ${name}`.slice(0, 100),
    lifeMs: RUN_KEY_MS,
    nowMs: context.now(),
  });
  try {
    const { url, close } = await reachable(context, config);
    try {
      const catalog = await servedCatalog(config, context);
      return await context.runProgram(name, args, clientEnvironment(catalog, url, key.secret));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      throw new Error(`Cannot run ${name}: program not found`, { cause: error });
    } finally {
      await close();
    }
  } finally {
    if (key.id !== undefined) await parts.keys.revoke(key.id);
  }
}

/** The gateway that runs, or one of our own for as long as it is needed. */
async function reachable(
  context: CommandContext,
  config: Config,
): Promise<Pick<GatewayAddress, "url"> & { close(): Promise<unknown> }> {
  const { local, answers } = await gatewayAddress(config);
  if (answers) return { url: local, close: () => Promise.resolve() };
  const gateway = await context.openGateway(
    { ...config, settings: { ...config.settings, host: "127.0.0.1", port: 0 } },
    SILENT,
  );
  const own = gateway.listen().url;
  context.err(
    `sluice: no gateway is running on ${config.settings.data}; started one at ${own} until the program ends\n`,
  );
  return { url: own, close: () => gateway.stop() };
}

/** The key that the environment gives the owner: nothing is issued then. */
function given(
  { settings: { owner } }: Config,
  { account }: Options,
): { readonly id?: string; readonly secret: string } | undefined {
  const isOwner = account === undefined || account.toLowerCase() === owner.email.toLowerCase();
  return isOwner && owner.key !== undefined ? { secret: owner.key.reveal() } : undefined;
}

async function issue(
  parts: CommandParts,
  options: Options,
  { name, lifeMs, nowMs }: { name: string; lifeMs: number; nowMs: number },
) {
  const account = await activeAccount(parts, options.account);
  return await parts.keys.issue(account, { name, expiresAtMs: nowMs + lifeMs });
}

/**
 * What clients read, by SDK:
 *
 * - OpenAI SDKs and most tools: `OPENAI_BASE_URL` (with `/v1`), `OPENAI_API_KEY`.
 * - Anthropic SDKs: `ANTHROPIC_BASE_URL` (without), `ANTHROPIC_AUTH_TOKEN`.
 * - Claude Code: the same, and models that are served here; a name that it does not know needs
 *   `ANTHROPIC_MODEL`.
 *
 * `ANTHROPIC_API_KEY` is emptied: Claude Code would ask a person about it, and an earlier one must
 * not go to this gateway beside its own.
 */
function clientEnvironment(
  catalog: Catalog,
  url: string,
  secret: string,
): Record<string, string> {
  const model = catalog.example("svc-k3");
  const small = catalog.find("svc-k2")?.id;
  return {
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: secret,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: secret,
    ANTHROPIC_API_KEY: "",
    ...(model !== undefined && { ANTHROPIC_MODEL: `claude-${model}` }),
    ...(small !== undefined && { ANTHROPIC_DEFAULT_HAIKU_MODEL: `claude-${small}` }),
  };
}
