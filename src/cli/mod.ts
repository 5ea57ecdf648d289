/**
 * Implements the commands, one file per command group.
 *
 * Promise: data goes to standard output, everything else to standard error; every command that prints data has `--json`;
 * the exit status is 0 on success, 1 on failure, 2 on wrong usage. No SQL.
 *
 * @module
 */

export type { CommandContext, CommandParts, ServedGateway } from "./context.ts";
export { runCommand } from "./run.ts";
