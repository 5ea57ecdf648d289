import type { Command } from "commander";
import { VERSION } from "../../ground/platform/mod.ts";
import type { CommandContext } from "./context.ts";
import { defineCommand } from "./define_command.ts";

/** The libSQL driver's version; the same as in the import map. */
const LIBSQL = "0.5.29";

/** `sluice version` */
export function versionCommand(program: Command, context: CommandContext): void {
  defineCommand(program, context, {
    name: "version",
    description: "print the versions of Sluice, Deno and libSQL",
    run({ print }) {
      print(
        { sluice: VERSION, deno: Deno.version.deno, libsql: LIBSQL },
        (all) => `sluice ${all.sluice}\ndeno ${all.deno}\nlibsql ${all.libsql}\n`,
      );
    },
  });
}
