import type { Command } from "commander";
import { databaseFile, databaseKindOf, type Settings } from "../../settings/config/mod.ts";
import {
  backUp,
  type Database,
  databaseAlone,
  DirectoryInUse,
  gatewayIdentity,
  restoreFile,
} from "../../ground/database/mod.ts";
import { recordStatement } from "../../people/operation_log/mod.ts";
import { dirname, resolvePath } from "../../ground/std/mod.ts";
import { isStandardOutput, removeLeftovers } from "../../ground/files/mod.ts";
import { randomText } from "../../ground/platform/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { shellBy } from "./operate.ts";
import { argument, defineCommand } from "./define_command.ts";
import { size } from "./format.ts";
import { progress } from "./progress.ts";

/** What copies servers' databases instead. */
const SERVERS = {
  postgres:
    "PostgreSQL: use pg_dump and pg_restore, or its recovery to a point in time (docs/operating.md)",
  libsql: "a libSQL server: use the server's own backup tools",
};

function ofServer({ database }: Settings): string {
  return SERVERS[databaseKindOf(database.url) === "postgres" ? "postgres" : "libsql"];
}

/** `sluice backup` and `sluice restore` */
export function backupCommands(program: Command, context: CommandContext): void {
  defineCommand<{ file: string }>(program, context, {
    name: "backup",
    description: "copy the database; the gateway may keep running",
    arguments: [
      argument("<file>", "path of the copy, replacing an existing file; - for standard output"),
    ],
    help:
      "\nThe copy is a consistent snapshot, verified before it is renamed into place. Only a regular file is\n" +
      "replaced: no link, pipe, device or directory.\n" +
      "\nExamples:\n  sluice backup /backups/sluice-$(date +%F).db\n" +
      "  sluice backup - | gzip > sluice.db.gz",
    opens: "database",
    async run({ options, parts: { database }, config, print }) {
      const own = databaseFile(config.settings);
      if (own === undefined) throw new Error(`Cannot back up ${ofServer(config.settings)}`);
      if (isStandardOutput(options.file)) return await backUpToOutput(context, database, own);
      const to = resolvePath(context.directory, options.file);
      using told = progress(context, "copying");
      const { bytes, schema } = await backUp(database, to, told.tell);
      told.end();
      print(
        { file: to, bytes, schema },
        () => `Copied ${size(bytes)} to ${to} (schema ${schema}).\n`,
      );
    },
  });

  defineCommand<{ file: string }>(program, context, {
    name: "restore",
    description: "replace the database with a backup",
    arguments: [argument("<file>", "path of a file made by sluice backup")],
    help: "\nStop the gateway first. The previous database is kept beside the restored one.\n" +
      "\nExample:\n  sluice restore /backups/sluice-2026-11-20.db",
    opens: "settings",
    serving: false,
    async run({ options, config, print }) {
      const file = databaseFile(config.settings);
      if (file === undefined) throw new Error(`Cannot restore ${ofServer(config.settings)}`);
      const from = resolvePath(context.directory, options.file);
      if (from === file) throw new Error(`Cannot restore ${from} onto itself`);
      const { isFile } = await Deno.stat(from).catch((error) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
        throw new Error(`Cannot restore ${from}: file not found`, { cause: error });
      });
      if (!isFile) throw new Error(`Cannot restore ${from}: it is not a regular file`);
      await Deno.mkdir(dirname(file), { recursive: true, mode: 0o700 });
      const running = (error: unknown) => {
        if (!(error instanceof DirectoryInUse)) throw error;
        throw new Error(`Cannot restore: a gateway is running on ${file}. Stop it first`, {
          cause: error,
        });
      };
      using _alone = await gatewayIdentity(config.settings.data).catch(running);
      using _file = await databaseAlone(config.settings.data, file).catch(running);
      const { schema, bytes, before } = await restoreFile(from, file, {
        nowMs: context.now(),
        outboxDirectory: config.settings.data,
        note: (copy) => noteRestore(copy, { from, atMs: context.now() }),
      });
      print(
        { file, bytes, schema, before: before ?? null },
        () =>
          `Restored ${size(bytes)} to ${file} (schema ${schema}).\n` +
          (before === undefined ? "" : `The previous database was kept as ${before}.\n`) +
          "Check it with: sluice credits audit\n",
      );
    },
  });
}

/** Copies a database beside it, where there is room for one, and writes the copy to standard output. */
async function backUpToOutput(
  { outBytes }: CommandContext,
  database: Database,
  file: string,
): Promise<void> {
  if (outBytes === undefined) {
    throw new UsageError(
      "cannot write a database to a terminal: redirect the output, or name a file",
    );
  }
  const copy = `${file}.download`;
  await removeLeftovers(copy);
  const own = `${copy}.${randomText(12)}.partial`;
  await backUp(database, own);
  using opened = await Deno.open(own).finally(() => Deno.remove(own)); // it stays readable
  for await (const bytes of opened.readable) {
    if (!outBytes(bytes)) throw new Error("The copy is incomplete: its reader ended early");
  }
}

/** Records in the log of a restored database when it was restored. */
async function noteRestore(
  copy: Database,
  { from, atMs }: { readonly from: string; readonly atMs: number },
): Promise<void> {
  await copy.batch([
    recordStatement(shellBy(), {
      operation: "database.restore",
      about: {},
      atMs,
      after: { file: from },
    }),
  ]);
}
