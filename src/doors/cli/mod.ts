/**
 * Commands: the same nouns from the shell, one file per command group. A command of an operation is made from its definition
 * (`operation_command.ts`), so that options, validation and `--json` are the API's.
 *
 * Promise: data on standard output and the rest on standard error; `--json` wherever data is
 * printed; exit status 0 done, 1 failed, 2 wrong usage; for systemd 78 if the settings of a gateway are invalid. No SQL.
 *
 * @module
 */

export type { CommandParts, ServedGateway } from "./context.ts";
export { runCommand } from "./run.ts";
