import type { Command } from "commander";
import { copySealKey } from "../../wire/sealing/mod.ts";
import {
  copyDatabase,
  type Database,
  DirectoryInUse,
  fillDatabase,
  gatewayIdentity,
  gatewayIdsOf,
  hasOutbox,
  openAsItIs,
  type OpenOptions,
  postgresHealth,
} from "../../ground/database/mod.ts";
import { dirname, joinPath } from "../../ground/std/mod.ts";
import { audit, lentToGateways, RULES } from "../../money/ledger/mod.ts";
import { recordStatement } from "../../people/operation_log/mod.ts";
import { databaseFile, faultOfDatabaseUrl, type Settings } from "../../settings/config/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { shellBy } from "./operate.ts";
import { progress } from "./progress.ts";
import { exists } from "./settings.ts";

/** A database, with the directories where the key of its seals may be if it is a file. */
interface Side {
  readonly open: OpenOptions;
  readonly file: string | undefined;
  readonly directories: readonly string[];
}

/** `sluice migrate` */
export function migrateCommand(program: Command, context: CommandContext): void {
  defineCommand<{ to?: string; from?: string }>(program, context, {
    name: "migrate",
    description: "copy the database to another engine: a file, PostgreSQL or a libSQL server",
    options: [
      option("--to <url>", "copy the database of the settings to this one"),
      option("--from <url>", "copy this one to the database of the settings"),
    ],
    help:
      "\nA URL is postgres://…, file:PATH or that of a libSQL server. Stop all gateways first. The copy is there whole or\n" +
      "not at all: rows are compared, and both databases are audited. The one that is copied stays as it is.\n" +
      "PGPASSWORD, or ~/.pgpass, gives a password that is not to be in the list of processes.\n" +
      "\nExamples:\n  sluice migrate --to postgres://sluice@db.internal/sluice\n" +
      "  SLUICE_DATABASE_URL=file:back.db sluice migrate --from postgres://sluice@db.internal/sluice",
    opens: "settings",
    serving: false,
    async run({ options: { to, from }, config: { settings }, print }) {
      const url = to ?? from;
      if (url === undefined || to !== undefined && from !== undefined) {
        throw new UsageError("name the other database by either --to or --from");
      }
      const fault = faultOfDatabaseUrl(url);
      if (fault !== undefined) {
        throw new UsageError(`${to === undefined ? "--from" : "--to"} ${fault}`);
      }
      const own = sideOf(settings, true, context.now);
      const other = sideOf({ ...settings, database: { url } }, false, context.now);
      const [source, target] = to === undefined ? [other, own] : [own, other];
      const isServer = source.file === undefined; // who uses a file has its directory
      if (source.file !== undefined && !await exists(source.file)) {
        throw new Error(`Cannot migrate: no database found at ${source.file}`);
      }

      using locks = new DisposableStack();
      const files = [own, other].flatMap(({ file }) => file === undefined ? [] : [dirname(file)]);
      for (const directory of new Set([settings.data, ...files])) {
        locks.use(await alone(directory));
      }
      using told = progress(context, "migrating:");
      const database = await openAsItIs(source.open);
      try {
        if (isServer) await refuseRunning(database, settings.data, context.now());
        await refuseMismatches(database, told.tell);
        const copied = await fillDatabase(target.open, async (copy) => {
          const { now } = context;
          const tables = await copyDatabase(database, copy, { rules: RULES, now, tell: told.tell });
          await copySealKey(
            isServer ? [database] : source.directories,
            target.file === undefined ? [copy] : target.directories,
            now(),
          );
          await copy.batch([recordStatement(shellBy(), {
            operation: "database.migrate",
            about: {},
            atMs: now(),
            after: { from: database.place },
          })]);
          await refuseMismatches(copy, told.tell);
          if (isServer) await refuseRunning(database, settings.data, now());
          return { to: target.file ?? copy.place, tables };
        });
        told.end();
        const rows = copied.tables.reduce((sum, table) => sum + table.rows, 0);
        print(
          { from: database.place, ...copied, rows },
          () =>
            `Copied ${
              rows.toLocaleString("en-US")
            } rows of ${copied.tables.length} tables from ${database.place} to ${copied.to}. ` +
            "The audit of both finds no mismatches.\n" +
            (to === undefined
              ? "Start the gateways with these settings.\n"
              : "Set database.url (SLUICE_DATABASE_URL) to it, and start the gateways.\n"),
        );
      } finally {
        await database.close();
      }
    },
  });
}

function sideOf(settings: Settings, isOwn: boolean, now: () => number): Side {
  const { data, durability, database: { url, token } } = settings;
  const file = databaseFile(settings);
  return {
    file,
    // another file may be used with these settings, or by a gateway of its own directory
    directories: file === undefined ? [] : isOwn ? [data] : [...new Set([dirname(file), data])],
    open: {
      file,
      durability,
      rules: RULES,
      now,
      outboxDirectory: data,
      ...(url !== undefined && { server: { url, token: token?.reveal() } }),
    },
  };
}

async function alone(directory: string): Promise<Disposable> {
  return await gatewayIdentity(directory).catch((cause) => {
    if (!(cause instanceof DirectoryInUse)) throw cause;
    throw new Error(`Cannot migrate: a gateway is running on ${directory}. Stop it first`, {
      cause,
    });
  });
}

/** @throws {Error} If a gateway uses the database of a server, or has kept what that has not. */
async function refuseRunning(database: Database, data: string, nowMs: number): Promise<void> {
  const health = await postgresHealth(database);
  const running = health?.others ??
    (await lentToGateways(database)).filter(({ leaseUntilMs }) => leaseUntilMs > nowMs).length;
  if (running > 0) {
    throw new Error(
      `Cannot migrate: gateways or commands are using ${database.place}. Stop them, and wait until their connections and ` +
        "leases have ended",
    );
  }
  for (const id of await gatewayIdsOf(data)) {
    if (!await hasOutbox([joinPath(data, "gateway.server")], id)) continue;
    throw new Error(
      `Cannot migrate: ${data} has settlements that ${database.place} has not. Start its gateway once, and stop it`,
    );
  }
}

async function refuseMismatches(database: Database, tell: (what: string) => void): Promise<void> {
  const { mismatches } = await audit(database, (check) => tell(`audit of ${check}`));
  const [first] = mismatches;
  if (first === undefined) return;
  throw new Error(
    `Cannot migrate: the audit of ${database.place} finds ${mismatches.length} rows that do not match, such as ` +
      `${first.noun} ${first.id} (${first.kind}): see sluice credits audit`,
  );
}
