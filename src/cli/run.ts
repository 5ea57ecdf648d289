import { Command, CommanderError } from "commander";
import { AccountError } from "../accounts/mod.ts";
import { ConfigError } from "../config/mod.ts";
import { DatabaseError, DirectoryInUse } from "../database/mod.ts";
import { closestString } from "../std/mod.ts";
import { VERSION } from "../platform/mod.ts";
import { accountCommand } from "./account.ts";
import { alertsCommand } from "./alerts.ts";
import { configCommand } from "./config.ts";
import { backupCommands } from "./backup.ts";
import { codesCommand } from "./codes.ts";
import { completionCommand } from "./completion.ts";
import { type CommandContext, CommandStatus, UsageError } from "./context.ts";
import { creditCommands } from "./credits.ts";
import { doctorCommand } from "./doctor.ts";
import { environmentCommands } from "./environment.ts";
import { importCommand } from "./import.ts";
import { initCommand } from "./init.ts";
import { keyCommand } from "./key.ts";
import { logCommand } from "./log.ts";
import { paymentsCommand } from "./payments.ts";
import { reloadCommand } from "./reload.ts";
import { usageCommand } from "./usage.ts";
import { modelsCommands } from "./models.ts";
import { requestsCommand } from "./requests.ts";
import { serveCommand } from "./serve.ts";
import { teamCommand } from "./team.ts";
import { simulateCommand } from "./simulate.ts";
import { versionCommand } from "./version.ts";

/** Carries out a command line; answers the exit status: 0 done, 1 failed, 2 wrong usage. */
export async function runCommand(
  args: readonly string[],
  context: CommandContext,
): Promise<number> {
  const program = build(context);
  const [first = ""] = args;
  const known = program.commands.map((one) => one.name());
  if (!first.startsWith("-") && first !== "" && first !== "help" && !known.includes(first)) {
    const near = closestString(first, known);
    context.err(`sluice: there is no command '${first}'; did you mean ${near}? (see --help)\n`);
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
    return 1;
  }
}

function build(context: CommandContext): Command {
  const program = new Command("sluice")
    .description("An LLM gateway in one executable: three dialects, any upstream, exact credits.")
    .version(VERSION, "--version", "print the version")
    .enablePositionalOptions()
    .showHelpAfterError("(see --help)")
    .configureOutput({
      writeOut: context.out,
      writeErr: context.err,
      getOutHasColors: () => context.colour,
      getErrHasColors: () => context.colour,
    })
    .exitOverride();
  serveCommand(program, context);
  initCommand(program, context);
  importCommand(program, context);
  environmentCommands(program, context);
  accountCommand(program, context);
  keyCommand(program, context);
  teamCommand(program, context);
  creditCommands(program, context);
  paymentsCommand(program, context);
  codesCommand(program, context);
  usageCommand(program, context);
  modelsCommands(program, context);
  requestsCommand(program, context);
  alertsCommand(program, context);
  logCommand(program, context);
  reloadCommand(program, context);
  configCommand(program, context);
  doctorCommand(program, context);
  backupCommands(program, context);
  simulateCommand(program, context);
  completionCommand(program, context);
  versionCommand(program, context);
  return program;
}

/** Errors that people can act on are one sentence; bugs are printed with their stack. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const forPeople = error instanceof ConfigError || error instanceof AccountError ||
    error instanceof DatabaseError || error.constructor === Error ||
    error instanceof DirectoryInUse ||
    Object.values(Deno.errors).some((kind) => error instanceof kind);
  return forPeople ? error.message : error.stack ?? error.message;
}
