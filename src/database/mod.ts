/**
 * The database: the only authority on accounts, keys, money, windows and usage.
 *
 * Promise: what a resolved write has committed is there after a crash; writes of concurrent
 * requests share one commit; the schema is migrated in one transaction and a newer one refused.
 * Leaves to others: what is written. SQL stands beside the noun that it serves.
 *
 * @module
 */

export { backUp, databaseBytes, foldLog, type Restored, restoreFile } from "./copies.ts";
export { DatabaseClock } from "./clock.ts";
export {
  type Database,
  DatabaseError,
  databaseRefusal,
  type GroupWrite,
  type Json,
  type JsonObject,
  type ObserveCommit,
  type ReadOptions,
  type Row,
  type Statement,
  type Value,
} from "./database.ts";
export { migrate, type Migrated, type Migration, MIGRATIONS, schemaVersion } from "./migrate.ts";
export { openDatabase, type OpenOptions } from "./open.ts";
export { type Reading, readTogether } from "./reading.ts";
export { type SchemaDifference, schemaDifferences } from "./schema.ts";
