import { Command, CommanderError } from "commander";
import { AccountError } from "../../people/accounts/mod.ts";
import { ConfigError } from "../../settings/config/mod.ts";
import { DatabaseError, DirectoryInUse } from "../../ground/database/mod.ts";
import { repeatingPlaces } from "./advised_commands.ts";
import { closestString, levenshteinDistance } from "../../ground/std/mod.ts";
import { VERSION } from "../../ground/platform/mod.ts";
import { type CommandContext, CommandStatus, Refused, UsageError } from "./context.ts";
import { serveCommand } from "./serve.ts";

/**
 * For systemd, of a gateway that cannot start with its settings, however often it is tried: `EX_CONFIG` of sysexits.h. Its unit restarts
 * what failed otherwise (deploy/sluice.service).
 */
const CONFIG_STATUS = 78;

/**
 * Carries out a command line.
 *
 * @returns The exit status: 0 done, 1 failed, 2 wrong usage; for systemd 78 if the settings of a gateway are invalid.
 */
export async function runCommand(
  args: readonly string[],
  shell: CommandContext,
): Promise<number> {
  const repeated = repeatingPlaces(args);
  const context: CommandContext = {
    ...shell,
    out: (text) => shell.out(repeated(text, program)),
    err: (text) => shell.err(repeated(text, program)),
  };
  const program = await build(args, context, shell);
  const [first = ""] = args;
  const known = program.commands.map((one) => one.name());
  if (!first.startsWith("-") && first !== "" && first !== "help" && !known.includes(first)) {
    const near = closestString(first, known);
    // of a word that is no slip of the pen, the nearest one is a riddle
    const isSlip = levenshteinDistance(first, near) <= Math.max(1, Math.floor(first.length / 2));
    const next = isSlip ? `did you mean ${near}? (see --help)` : "see --help for all of them";
    context.err(`sluice: there is no command '${first}'; ${next}\n`);
    return 2;
  }
  try {
    await program.parseAsync([...args], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof CommandStatus) return error.status;
    if (error instanceof UsageError) {
      context.err(`sluice: ${error.message}\n`);
      return 2;
    }
    context.err(`sluice: ${messageOf(error)}\n`);
    const isInvalid = error instanceof ConfigError && isServe(args);
    return isInvalid && isUnit(context.env) ? CONFIG_STATUS : 1;
  }
}

/** Whether systemd has started this very process (systemd.exec(5)): others only inherit the variable. */
function isUnit({ SYSTEMD_EXEC_PID: pid }: CommandContext["env"]): boolean {
  return pid === String(Deno.pid);
}

/**
 * Whether the gateway is to be started, without a question for help. The other commands are not loaded then: they and what they
 * need would hold megabytes for as long as it runs.
 */
function isServe(args: readonly string[]): boolean {
  const [first = "serve"] = args;
  return (first === "serve" || first.startsWith("-")) &&
    !args.some((one) => one === "--help" || one === "-h");
}

async function build(
  args: readonly string[],
  context: CommandContext,
  shell: CommandContext,
): Promise<Command> {
  const program = new Command("sluice")
    .description("An LLM gateway in one executable: three dialects, any upstream, exact credits.")
    .version(VERSION, "--version", "print the version")
    .enablePositionalOptions()
    .showHelpAfterError("(see --help)")
    .configureOutput({
      writeOut: shell.out, // help, with examples
      writeErr: context.err,
      outputError: (text, write) => write(text.replace(/^error: /, "sluice: ")),
      getOutHasColors: () => context.colour,
      getErrHasColors: () => context.colour,
    })
    .exitOverride();
  serveCommand(program, context);
  if (!isServe(args)) {
    const { addCommands } = await import("./commands.ts");
    addCommands(program, context);
  }
  return program;
}

/** Errors that people can act on are one sentence; bugs are printed with their stack. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const forPeople = error instanceof ConfigError || error instanceof AccountError ||
    error instanceof DatabaseError || error.constructor === Error ||
    error instanceof DirectoryInUse || error instanceof Refused ||
    Object.values(Deno.errors).some((kind) => error instanceof kind);
  return forPeople ? error.message : error.stack ?? error.message;
}
