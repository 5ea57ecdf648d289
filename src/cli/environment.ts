import type { Command } from "commander";
import { Catalog } from "../catalog/mod.ts";
import type { Config } from "../config/mod.ts";
import { SILENT } from "../telemetry/mod.ts";
import { type GatewayAddress, gatewayAddress } from "./address.ts";
import { type CommandContext, type CommandParts, CommandStatus } from "./context.ts";
import { parseDuration } from "./format.ts";
import {
  activeAccount,
  type PlaceOptions,
  print,
  withJson,
  withParts,
  withPlace,
} from "./settings.ts";

interface Options extends PlaceOptions {
  readonly account?: string;
}

/** Lifetime of the key that `run` creates, in case it is killed before it can revoke the key. */
const RUN_KEY_MS = 7 * 86_400_000;

/** `sluice env` and `sluice run`. */
export function environmentCommands(program: Command, context: CommandContext): void {
  withJson(withPlace(
    program.command("env").description(
      "print environment variables for clients, to eval in a shell",
    )
      .option("--account <email>", "account email (default: owner)")
      .option("--expires <duration>", "lifetime of the key, e.g. 12h, 30d, 8w", "30d"),
  )).addHelpText(
    "after",
    '\nCreates a key, or prints SLUICE_OWNER_KEY if it is set.\n\nExample:\n  eval "$(sluice env)"',
  ).action((options: Options & { json?: boolean; expires: string }) =>
    withParts(context, options, async (parts, config) => {
      const lifeMs = parseDuration(options.expires);
      const { url, answers } = await gatewayAddress(config);
      const secret = given(config, options)?.secret ??
        (await issue(parts, options, { name: "sluice env", lifeMs, nowMs: context.now() })).secret;
      const variables = clientEnvironment(config, url, secret);
      print(
        context,
        options,
        variables,
        (all) => Object.entries(all).map(([name, value]) => `export ${name}='${value}'\n`).join(""),
      );
      if (!answers) {
        context.err(
          `sluice: no gateway is running on ${config.settings.data}; start one with: sluice\n`,
        );
      }
    }, { make: true })
  );

  withPlace(
    program.command("run").description(
      "run a coding tool with the environment that sluice env prints",
    )
      .usage("[options] -- PROGRAM [ARGS…]")
      .argument("<program>", "program to run").argument("[args...]", "arguments of the program")
      .option("--account <email>", "account email (default: owner)"),
  ).addHelpText(
    "after",
    "\nThe key is revoked when the program ends. If no gateway is running, one is started for the\nprogram and stopped with it. To run several programs, start a gateway first: sluice\n" +
      "\nExamples:\n  sluice run -- claude\n  sluice run --account ada@example.com -- python agent.py",
  ).action(async (name: string, args: string[], options: Options) => {
    const status = await withParts(
      context,
      options,
      (parts, config) => runWithKey(context, { parts, config, options, name, args }),
      { make: true, serving: true },
    );
    if (status !== 0) throw new CommandStatus(status);
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
  // before a gateway starts, which would create the owner's first key without showing it
  const key = given(config, options) ?? await issue(parts, options, {
    name: `sluice run ${name}`.slice(0, 100),
    lifeMs: RUN_KEY_MS,
    nowMs: context.now(),
  });
  try {
    const { url, close } = await reachable(context, config);
    try {
      return await context.runProgram(name, args, clientEnvironment(config, url, key.secret));
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

/** Returns the running gateway, or starts one that runs until `close()`. */
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

/** Returns the owner's key from the settings, if the command is about the owner; then no key is created. */
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
 * Returns the variables that clients read:
 *
 * - OpenAI SDKs and most tools: `OPENAI_BASE_URL` (with `/v1`), `OPENAI_API_KEY`.
 * - Anthropic SDKs: `ANTHROPIC_BASE_URL` (without `/v1`), `ANTHROPIC_AUTH_TOKEN`.
 * - Claude Code: the same, and available models, since unknown names need `ANTHROPIC_MODEL`.
 *
 * `ANTHROPIC_API_KEY` is set to empty: Claude Code would ask the user about it, and an older key must not be sent as well.
 */
function clientEnvironment(
  { settings }: Config,
  url: string,
  secret: string,
): Record<string, string> {
  const catalog = new Catalog(settings);
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
