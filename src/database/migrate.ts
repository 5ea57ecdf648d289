import { type Database, DatabaseError } from "./database.ts";
import { ACCOUNTS_KEYS_USAGE } from "./migrations/0001_accounts_keys_usage.ts";
import { LEDGER } from "./migrations/0002_ledger.ts";
import { CONSOLE } from "./migrations/0003_console.ts";
import { LEASES } from "./migrations/0004_leases.ts";
import { AUDIT } from "./migrations/0005_audit.ts";
import { BOUNDS } from "./migrations/0006_bounds.ts";
import { TAKE_BACKS } from "./migrations/0007_take_backs.ts";

/** One step of the schema. Released steps are never edited, only followed by others. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
}

/** Every step, oldest first. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "accounts, keys and usage", statements: ACCOUNTS_KEYS_USAGE },
  { version: 2, name: "credits", statements: LEDGER },
  { version: 3, name: "console", statements: CONSOLE },
  { version: 4, name: "leases", statements: LEASES },
  { version: 5, name: "audit", statements: AUDIT },
  { version: 6, name: "bounds", statements: BOUNDS },
  { version: 7, name: "take-backs", statements: TAKE_BACKS },
];

const CREATE_VERSIONS = `
  create table if not exists schema_versions (
    version integer primary key,
    name text not null,
    applied_at_ms integer not null
  ) strict`;

/** What migrating did. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
}

/** How to migrate. */
export interface MigrateOptions {
  readonly now: () => number;
  /** Copies the database before a schema that holds data is changed. */
  readonly copy?: (fromVersion: number) => Promise<void>;
  /** The steps to apply; tests pass fewer. */
  readonly migrations?: readonly Migration[];
}

/**
 * Brings the schema up to date: all missing steps in one transaction.
 *
 * @throws {DatabaseError} `SLUICE_NEWER` when the database was written by a newer Sluice.
 */
export async function migrate(database: Database, options: MigrateOptions): Promise<Migrated> {
  const { now, copy, migrations = MIGRATIONS } = options;
  const latest = migrations.at(-1)!.version;
  const from = await schemaVersion(database);
  if (from > latest) {
    throw new DatabaseError(
      "SLUICE_NEWER",
      `Cannot use ${database.place} as it was written by a newer Sluice: its schema is version ` +
        `${from}, this program knows up to ${latest}. Install the newer program or restore a backup`,
    );
  }
  if (from === latest) return { from, to: latest };
  if (from > 0) await copy?.(from);
  const missing = migrations.filter(({ version }) => version > from);
  try {
    await database.batch([
      { sql: CREATE_VERSIONS },
      // First, so that of two gateways that start at once only one carries the step out.
      ...missing.map(({ version, name }) => ({
        sql: "insert into schema_versions (version, name, applied_at_ms) values (?, ?, ?)",
        args: [version, name, now()],
      })),
      ...missing.flatMap(({ statements }) => statements.map((sql) => ({ sql }))),
    ]);
  } catch (error) {
    if (await schemaVersion(database) === latest) return { from: latest, to: latest };
    throw error;
  }
  return { from, to: latest };
}

/** The schema's version; 0 for an empty database. */
export async function schemaVersion(database: Database): Promise<number> {
  const table = await database.one(
    "select count(*) as n from sqlite_master where type = 'table' and name = 'schema_versions'",
  );
  if (table?.n !== 1) return 0;
  const row = await database.one(
    "select coalesce(max(version), 0) as version from schema_versions",
  );
  return Number(row?.version ?? 0);
}
