import { type Database, DatabaseError } from "./database.ts";
import type { Engine, ServerPlace } from "./engine.ts";
import { fileEngine, type FileEngineOptions } from "./file/engine.ts";
import { migrate, schemaVersion } from "./migrate.ts";
import { type Migration, MIGRATIONS } from "./migrations/mod.ts";
import type { RuleSet } from "./rules.ts";
import { isPostgres, postgresEngine } from "./postgres/engine.ts";
import { serverEngine } from "./server/engine.ts";

/** Where the database is and what is asked of it. */
export interface OpenOptions extends FileEngineOptions {
  /** Path of the embedded file; undefined to use a server. */
  readonly file: string | undefined;
  /** A libSQL server, or PostgreSQL. */
  readonly server?: ServerPlace;
  /** What decides in this database; installed unless it has the same or newer ones. */
  readonly rules: RuleSet;
  readonly now: () => number;
  /** Called before schema or rules of a database in use are changed; what it throws keeps them as they are. */
  readonly mayMigrate?: (() => Promise<void>) | undefined;
  /** What becomes of what outboxes have kept. Default: `take`. Within a gateway `leave`, as it writes that itself. */
  readonly outboxes?: "take" | "leave" | undefined;
  /** The steps of the schema; tests pass others. */
  readonly migrations?: readonly Migration[] | undefined;
}

/**
 * Opens the database and brings its schema and its rules up to date.
 *
 * @throws {DatabaseError} As {@linkcode migrate} for a schema that the program does not know.
 */
export async function openDatabase(options: OpenOptions): Promise<Database> {
  const engine = engineOf(options);
  const database = await engine.open();
  try {
    await migrate(database, {
      now: options.now,
      rules: options.rules,
      mayChange: options.mayMigrate,
      migrations: options.migrations,
      copy: (version) => engine.copyBefore?.(database, version),
    });
    await database.identify?.();
    const { rules: { behind = [] }, outboxes = "take" } = options;
    if (outboxes !== "leave") await database.takeOutboxes(behind);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Opens a database as it is: what gateways have kept for it that ended is written, and nothing else.
 *
 * @throws {DatabaseError} If its schema is not this program's.
 */
export async function openAsItIs(options: OpenOptions): Promise<Database> {
  const database = await engineOf(options).open();
  try {
    const { version } = MIGRATIONS.at(-1)!;
    const found = await schemaVersion(database);
    if (found !== version) {
      throw new DatabaseError(
        "SLUICE_SCHEMA",
        found === 0
          ? `There is no database of Sluice at ${database.place}`
          : `The schema of ${database.place} is version ${found}, this program's is ${version}: start its gateway once with this program`,
      );
    }
    await database.identify?.();
    await database.takeOutboxes(options.rules.behind ?? []);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Makes a database whole or not at all, by what its engine has for that.
 *
 * @throws {DatabaseError} If it cannot.
 */
export async function fillDatabase<T>(
  options: OpenOptions,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  return await engineOf(options).fill(work);
}

function engineOf({ file, server, ...use }: OpenOptions): Engine {
  if (file !== undefined) return fileEngine(file, use);
  if (server === undefined) throw new TypeError("Cannot open a database without file or server");
  return isPostgres(server.url)
    ? postgresEngine(server.url, { ...server, ...use, password: server.token })
    : serverEngine(server, use);
}
