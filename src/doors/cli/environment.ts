import type { Command } from "commander";
import type { Config } from "../../settings/config/mod.ts";
import { SILENT } from "../../ground/telemetry/mod.ts";
import { checkKey, type GatewayAddress, gatewayAddress, refuseOther } from "./address.ts";
import { clientEnvironment, type ClientGateway } from "./client_environment.ts";
import { ClientKeys, type ClientKeyUse } from "./client_keys.ts";
import { recogniseProgram, toolArguments } from "./recognise_program.ts";
import { type CommandContext, type CommandParts, CommandStatus } from "./context.ts";
import { argument, defineCommand, option } from "./define_command.ts";
import { parseDuration, shellWord } from "./format.ts";
import { signedInGateway } from "./signed_in_gateway.ts";
import { type ToolModels, toolModels } from "./tool_models.ts";
import { activeAccount, type PlaceOptions, readSettings } from "./settings.ts";
import { resolvePath } from "../../ground/std/mod.ts";

interface Options extends PlaceOptions {
  readonly account?: string;
}

const KEY_LIFE = "30d";

/** `sluice env` and `sluice run`: the settings that clients and coding tools read. */
export function environmentCommands(program: Command, context: CommandContext): void {
  defineCommand<Options & { expires: string }>(program, context, {
    name: "env",
    description: "print environment variables for clients, to eval in a shell",
    options: [
      option("--account <email>", "account email (default: owner)"),
      option("--expires <duration>", "lifetime of the key, e.g. 12h, 30d, 8w", KEY_LIFE),
    ],
    help:
      "\nThe key is kept for the next time in this directory, and renewed before it expires. With\nSLUICE_OWNER_KEY, " +
      "that key is printed; after sluice auth login the gateway's address and your token, which is valid\nfor an hour." +
      '\n\nExample:\n  eval "$(sluice env)"',
    opens: "new database",
    check: ({ options }) => void parseDuration("--expires", options.expires),
    async instead({ options, print }) {
      const signedIn = await signedInGateway(context, options, "env");
      if (signedIn === undefined) return false;
      print(clientEnvironment(signedIn.gateway), exported);
      const until = new Date(signedIn.expiresAtMs).toISOString().slice(11, 16);
      context.err(`sluice: the token is valid until ${until} UTC\n`);
      return true;
    },
    rehearse: ({ parts, options }) => activeAccount(parts, options.account),
    async run({ options, parts, config, print }) {
      const lifeMs = parseDuration("--expires", options.expires);
      const address = await gatewayAddress(config);
      refuseOther(address, config);
      const { url, local, answers } = address;
      const name = "sluice env";
      const { secret } = await keyOf(context, { parts, config, options }, {
        tool: "env",
        name,
        lifeMs,
      });
      await checkKey(address, config, secret);
      const models = await toolModels(context, config, answers ? local : undefined);
      print(
        clientEnvironment({ url, key: secret, models }),
        exported,
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
    description: "run a coding tool or another program with a key of this gateway",
    usage: "[options] -- PROGRAM [ARGS…]",
    arguments: [
      argument("<program>", "program to run"),
      argument("[args...]", "arguments of the program"),
    ],
    options: [option("--account <email>", "account email (default: owner)")],
    help:
      "\nClaude Code, Codex, opencode, Cline, pi, Qwen Code, aider and goose are set up to use the gateway's\nmodels. Other programs get the environment that sluice env prints.\n" +
      "\nThe key is kept for the next run in this directory, and renewed before it expires. If no gateway is\nrunning, one is started for the program and stopped with it. To run several programs, start a\ngateway first: sluice\n" +
      "\nAfter sluice auth login, programs use that gateway in your name, unless --account, --data or --config\nnames another.\n" +
      "\nExamples:\n  sluice run -- claude\n  sluice run --account ada@example.com -- python agent.py",
    opens: "new database",
    json: false,
    async check({ options, config }) {
      await refuseProgram(context, options.program, options.args);
      if (!(await gatewayAddress(config)).answers) await servingConfig(context, options);
    },
    async instead({ options }) {
      const { program, args } = options;
      const signedIn = await signedInGateway(
        context,
        options,
        recogniseProgram(program, args).name,
      );
      if (signedIn === undefined) return false;
      await refuseProgram(context, program, args);
      const status = await startProgram(context, { program, args, ...signedIn });
      if (status !== 0) throw new CommandStatus(status);
      return true;
    },
    rehearse: ({ parts, options }) => activeAccount(parts, options.account),
    async run({ options, parts, config }) {
      const { program, args } = options;
      const status = await runProgram(context, { parts, config, options, program, args });
      if (status !== 0) throw new CommandStatus(status);
    },
  });
}

/** Lines for a shell. */
function exported(all: Readonly<Record<string, string>>): string {
  return Object.entries(all).map(([name, value]) => `export ${name}=${shellWord(value)}\n`).join(
    "",
  );
}

interface Run {
  readonly parts: CommandParts;
  readonly config: Config;
  readonly options: Options;
}

interface ProgramRun extends Run {
  readonly program: string;
  readonly args: readonly string[];
}

async function runProgram(context: CommandContext, run: ProgramRun): Promise<number> {
  const { config, options, program, args } = run;
  const { name } = recogniseProgram(program, args);
  const use = { tool: name, name: `sluice run ${name}`.slice(0, 100) };
  // before a gateway starts, which would make the owner a first key and show it to nobody
  const { secret, file } = await keyOf(context, run, {
    ...use,
    lifeMs: parseDuration("lifetime", KEY_LIFE),
  });
  const { url, close } = await reachable(context, config, options);
  try {
    const models = await toolModels(context, config, url);
    sayIfSimulated(context, name, models);
    return await startProgram(context, {
      program,
      args,
      gateway: { url, key: secret, models },
      file,
    });
  } finally {
    await close();
  }
}

/** Starts a program that is set up for a gateway, and resolves with its exit status. */
async function startProgram(
  context: CommandContext,
  { program, args, gateway, file }: Pick<ProgramRun, "program" | "args"> & {
    readonly gateway: ClientGateway;
    readonly file: HeldKey["file"];
  },
): Promise<number> {
  const { tool, argsFrom } = recogniseProgram(program, args);
  try {
    if (tool === undefined) {
      return await context.runProgram(program, args, clientEnvironment(gateway));
    }
    const path = tool.file === undefined
      ? ""
      : await file(tool.file.name, tool.file.content(gateway));
    const setup = tool.setUp(gateway, path);
    return await context.runProgram(
      program,
      [...args.slice(0, argsFrom), ...toolArguments(tool, setup, args.slice(argsFrom))],
      { ...setup.env },
    );
  } catch (error) {
    throw error instanceof Deno.errors.NotFound ? notFound(program, args, error) : error;
  }
}

/** @throws {Error} If a program is not there, or cannot be run as it is given. */
async function refuseProgram(
  { env: { PATH }, directory }: CommandContext,
  program: string,
  args: readonly string[],
): Promise<void> {
  const { name, refused } = recogniseProgram(program, args);
  if (refused !== undefined) throw new Error(`Cannot run ${name}: ${refused}`);
  if (PATH === undefined || Deno.build.os === "windows") return; // the system finds it by rules of its own
  const folders = program.includes("/") ? [""] : PATH.split(":");
  for (const folder of folders) {
    const found = await Deno.stat(resolvePath(directory, folder, program)).catch(() => undefined);
    if (found?.isFile) return;
  }
  throw notFound(program, args);
}

function notFound(program: string, args: readonly string[], cause?: unknown): Error {
  const { tool, argsFrom } = recogniseProgram(program, args);
  const advice = tool === undefined || argsFrom > 0
    ? "check the name and PATH"
    : `install ${tool.title} with: ${tool.install ?? `npm install -g ${tool.packages![0]}`}`;
  return new Error(`Cannot run ${program}: program not found; ${advice}`, { cause });
}

/** Without a model, a person would take what the simulator says for the tool's own fault. */
function sayIfSimulated(context: CommandContext, name: string, { main, small }: ToolModels): void {
  const simulated = [...new Set([main, small])].flatMap((model) =>
    model?.isSimulated ? [model.id] : []
  );
  if (simulated.length === 0) return;
  context.err(
    `sluice: the built-in simulator replies to ${name} (${
      simulated.join(", ")
    }), and calls none of its tools. Connect a model with: sluice init (or set SLUICE_UPSTREAM_URL)\n`,
  );
}

/** The gateway that runs, or one of our own for as long as it is needed. */
async function reachable(
  context: CommandContext,
  config: Config,
  options: PlaceOptions,
): Promise<Pick<GatewayAddress, "url"> & { close(): Promise<unknown> }> {
  const { local, answers } = await gatewayAddress(config);
  if (answers) return { url: local, close: () => Promise.resolve() };
  const own = await servingConfig(context, options);
  const gateway = await context.openGateway(
    { ...own, settings: { ...own.settings, host: "127.0.0.1", port: 0 } },
    SILENT,
    { isWithoutExport: true }, // a coding tool has variables of its own, such as for gRPC
  );
  const { url } = await gateway.listen();
  context.err(
    `sluice: no gateway is running on ${config.settings.data}; started one at ${url} until the program ends\n`,
  );
  return { url, close: () => gateway.stop() };
}

/** The settings of a gateway that is started here. One that runs has keys of upstreams in its own environment. */
async function servingConfig(context: CommandContext, options: PlaceOptions): Promise<Config> {
  return await readSettings(context, options, { namesPlaces: true });
}

interface HeldKey {
  readonly secret: string;
  /** Writes a file for the program beside its key, and resolves with its path. */
  file(name: string, text: string): Promise<string>;
}

/** The key that the environment gives the owner, or the one that is kept for this use. */
async function keyOf(
  context: CommandContext,
  { parts, config: { settings }, options }: Run,
  use: Omit<ClientKeyUse, "directory">,
): Promise<HeldKey> {
  const { data, owner } = settings;
  const kept = new ClientKeys({
    data,
    keys: parts.keys,
    now: () => parts.clock.now(),
    warn: (text) => context.err(`sluice: ${text}\n`),
  });
  const account = await activeAccount(parts, options.account);
  const here = { ...use, directory: context.directory };
  const isOwner = account.email.toLowerCase() === owner.email.toLowerCase();
  return {
    secret: isOwner && owner.key !== undefined
      ? owner.key.reveal()
      : await kept.keyFor(account, here),
    async file(name, text) {
      const path = kept.pathFor(account, here, name);
      await kept.write(path, text);
      return path;
    },
  };
}
