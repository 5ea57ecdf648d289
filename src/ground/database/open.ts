import { replaceFile } from "../files/mod.ts";
import { dirname } from "../std/mod.ts";
import { type Database, DatabaseError } from "./database.ts";
import { EmbeddedDatabase, type EmbeddedOptions } from "./embedded.ts";
import { makeDirectory } from "./gateway_identity.ts";
import { migrate, schemaVersion } from "./migrate.ts";
import type { Migration } from "./migrations/mod.ts";
import type { RuleSet } from "./rules.ts";
import { ServerDatabase } from "./server.ts";

/** Where the database is and what is asked of it. */
export interface OpenOptions extends Omit<EmbeddedOptions, "readOnly"> {
  /** Path of the embedded file; undefined to use a server. */
  readonly file: string | undefined;
  /** Address and token of a libSQL server. */
  readonly server?: { readonly url: string; readonly token: string | undefined };
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
  const database = await connect(options);
  try {
    await migrate(database, {
      now: options.now,
      rules: options.rules,
      mayChange: options.mayMigrate,
      migrations: options.migrations,
      copy: async (version) => {
        if (options.file === undefined) return; // a server's operator keeps its copies
        await copyFile(database, version, `${options.file}.before-schema-${version + 1}`);
      },
    });
    if (database instanceof EmbeddedDatabase) {
      await database.identify();
      const { rules: { behind = [] }, outboxes = "take" } = options;
      if (outboxes !== "leave") await database.takeOutboxes(behind);
    }
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function connect(
  { file, server, durability, observe, beside, onState }: OpenOptions,
): Promise<Database> {
  if (file === undefined) {
    if (server === undefined) throw new TypeError("Cannot open a database without file or server");
    return ServerDatabase.connect({ ...server, durability }, observe);
  }
  await makeDirectory(dirname(file));
  // made here, for its owner alone: its log and every copy take the same mode
  await createPrivate(file);
  try {
    return await EmbeddedDatabase.open(file, { durability, observe, beside, onState });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const code = error instanceof DatabaseError ? error.code : "SQLITE_CANTOPEN";
    throw new DatabaseError(code, `Cannot open the database ${file}: ${why}`, { cause: error });
  }
}

/**
 * Makes a file for its owner alone, if it is not there. One that is there is not opened: closing it would
 * drop all locks that this process has on it (fcntl(2)), those of the connections to it included.
 */
async function createPrivate(path: string): Promise<void> {
  try {
    (await Deno.open(path, { write: true, createNew: true, mode: 0o600 })).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}

/**
 * A consistent copy, made while others read and write. Replaces an older copy of that name.
 *
 * @throws {DatabaseError} When another program has changed the schema meanwhile: its copy is the right one.
 */
async function copyFile(database: Database, version: number, to: string): Promise<void> {
  await replaceFile(to, (beside) => database.all("vacuum into ?", [beside]), {
    mode: 0o600,
    async check() {
      if (await schemaVersion(database) === version) return;
      throw new DatabaseError(
        "SLUICE_SCHEMA",
        `Cannot copy ${database.place}: it is being migrated`,
      );
    },
  });
}
