import type { Command } from "commander";
import { accountCommand } from "./account.ts";
import { alertsCommand } from "./alerts.ts";
import { backupCommands } from "./backup.ts";
import { codesCommand } from "./codes.ts";
import { completionCommand } from "./completion.ts";
import { configCommand } from "./config.ts";
import { creditCommands } from "./credits.ts";
import { doctorCommand } from "./doctor.ts";
import { environmentCommands } from "./environment.ts";
import { importCommand } from "./import.ts";
import { initCommand } from "./init.ts";
import { keyCommand } from "./key.ts";
import { logCommand } from "./log.ts";
import { modelsCommands } from "./models.ts";
import { paymentsCommand } from "./payments.ts";
import { reloadCommand } from "./reload.ts";
import { requestsCommand } from "./requests.ts";
import { simulateCommand } from "./simulate.ts";
import { teamCommand } from "./team.ts";
import { usageCommand } from "./usage.ts";
import { versionCommand } from "./version.ts";
import type { CommandContext } from "./context.ts";

/** Adds all commands but `serve`. */
export function addCommands(program: Command, context: CommandContext): void {
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
}
