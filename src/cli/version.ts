import type { Command } from "commander";
import { VERSION } from "../platform/mod.ts";
import type { CommandContext } from "./context.ts";
import { print, withJson } from "./settings.ts";

/** Version of the libSQL driver, as in the import map. */
const LIBSQL = "0.5.29";

/** `sluice version` */
export function versionCommand(program: Command, context: CommandContext): void {
  withJson(program.command("version").description("print the versions of Sluice, Deno and libSQL"))
    .action((options: { json?: boolean }) =>
      print(
        context,
        options,
        { sluice: VERSION, deno: Deno.version.deno, libsql: LIBSQL },
        (all) => `sluice ${all.sluice}\ndeno ${all.deno}\nlibsql ${all.libsql}\n`,
      )
    );
}
