/**
 * The database: the only authority on accounts, keys, money, windows and usage.
 *
 * Promise: what a resolved write has committed is there after a crash; writes of concurrent
 * requests share one commit; the schema is migrated and the rules are installed in one transaction, a newer
 * schema is refused and newer rules are kept. Leaves to others: what is written and what decides. SQL is in
 * the folder of the noun that owns the table.
 *
 * `engine.ts` is what an engine does; `file/` is that of an embedded libSQL file, `server/` that of a libSQL server, and `sqlite/` what
 * both have in common: how SQLite names failures and keeps its schema. `postgres/` is that of PostgreSQL. `open.ts` chooses; `definitions_of.ts` has how the schema of each is defined.
 *
 * @module
 */

export { Aside } from "./aside.ts";
export { backUp, databaseBytes, foldLog, restoreFile } from "./file/copies.ts";
export { DatabaseClock } from "./clock.ts";
export { allOf, ifGiven } from "./conditions.ts";
export { copyDatabase } from "./copy_rows.ts";
export {
  type Condition,
  type Database,
  DatabaseError,
  type DatabaseLine,
  type FailureKind,
  type FileState,
  forReports,
  type GroupWrite,
  type ItemLock,
  type JsonObject,
  type ObserveCommit,
  type ReadOptions,
  type RefusedItem,
  type Replica,
  type Row,
  type Statement,
  type Value,
} from "./database.ts";
export { isOpened, type OpenedDatabase } from "./engine.ts";
export { EmbeddedDatabase } from "./file/embedded.ts";
export { keepFileThreads } from "./file/file_threads.ts";
export { foreignOutboxes } from "./foreign_outboxes.ts";
export { migrate } from "./migrate.ts";
export { type Migration, MIGRATIONS } from "./migrations/mod.ts";
export { fillDatabase, openAsItIs, openDatabase, type OpenOptions } from "./open.ts";
export { probeWrite } from "./probe.ts";
export { type PostgresHealth, postgresHealth } from "./postgres/health.ts";
export { isPostgres, placeOf as postgresPlaceOf } from "./postgres/engine.ts";
export { hasOutbox, outboxPlaces } from "./outbox.ts";
export {
  columnsOf,
  type ColumnType,
  type Intake,
  isDecision,
  type Lock,
  type RuleObject,
  type Trigger,
} from "./rule_objects.ts";
export {
  hashOfRules,
  objectsOfRules,
  type Rule,
  type RuleSet,
  statementsOfRules,
} from "./rules.ts";
export { ReadAside, type ReadFor } from "./read_aside.ts";
export { type Reading, readTogether } from "./reading.ts";
export { type Scan, scanRows } from "./scan.ts";
export { ServerDatabase } from "./server/server.ts";
export { schemaDifferences } from "./schema.ts";
export {
  type AnnouncedGateway,
  announcedGateway,
  type Announcement,
  AnnouncementFile,
  proofOf,
} from "./announcement.ts";
export {
  databaseAlone,
  DirectoryInUse,
  type GatewayIdentity,
  gatewayIdentity,
  gatewayIdsOf,
  lockHolders,
  refuseLinks,
} from "./gateway_identity.ts";
export { refusalOf } from "./database_refusal.ts";
export { WrappedDatabase } from "./wrapped_database.ts";
export * from "../sql/mod.ts";
