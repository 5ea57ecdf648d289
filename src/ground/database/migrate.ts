import { type Database, DatabaseError, type Statement } from "./database.ts";
import type { Definitions } from "./definitions.ts";
import { definitionsOf } from "./definitions_of.ts";
import { FIRST, type Migration, MIGRATIONS, schemaFault } from "./migrations/mod.ts";
import {
  dropRules,
  type InstalledRules,
  installedRules,
  installRules,
  keepsRules,
  type RuleSet,
} from "./rules.ts";
import { unlikeFirst } from "./schema.ts";

/** Other programs that change the database at the same moment and are waited for. */
const MAX_ATTEMPTS = 5;

/** A database that came to the first step's schema in smaller steps lists the first one only from now on. */
const TAKE_OVER: readonly Statement[] = [
  { sql: "delete from schema_versions where version < ?", args: [FIRST.version] },
  {
    sql: "update schema_versions set name = ? where version = ?",
    args: [FIRST.name, FIRST.version],
  },
];

/** What migrating did. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
  /** Whether this call installed the rules. */
  readonly installedRules: boolean;
}

/** How to migrate. */
export interface MigrateOptions {
  readonly now: () => number;
  /** The rules to install; undefined leaves those of the database as they are. */
  readonly rules?: RuleSet | undefined;
  /** Called before a database that holds data is changed; what it throws keeps the database as it is. */
  readonly mayChange?: (() => Promise<void>) | undefined;
  /** Copies the database before a schema that holds data is changed. */
  readonly copy?: ((fromVersion: number) => Promise<void> | undefined) | undefined;
  /** The steps to apply; tests pass others. */
  readonly migrations?: readonly Migration[] | undefined;
}

/** What a database has. */
interface State {
  readonly version: number;
  /** Whether it came to this schema in steps that are older than the first one. */
  readonly isCarriedOver: boolean;
  readonly rules: InstalledRules | undefined;
}

/**
 * Brings schema and rules up to date: all missing steps and the new rules in one transaction. Of several
 * programs that do so at once, one succeeds and the others find it done.
 *
 * @throws {DatabaseError} `SLUICE_NEWER` when the database was written by a newer Sluice, `SLUICE_OLDER` when it is older
 *   than the first step, `SLUICE_SCHEMA` when it came there in other steps and is not the same.
 */
export async function migrate(database: Database, options: MigrateOptions): Promise<Migrated> {
  const { now, rules, mayChange, copy, migrations = MIGRATIONS } = options;
  const definitions = definitionsOf(database);
  const latest = migrations.at(-1)!.version;
  for (let attempt = 1;; attempt++) {
    const state = await stateOf(database, latest);
    const from = state.version;
    const missing = migrations.filter(({ version }) => version > from);
    const replacing =
      rules !== undefined && (missing.length > 0 || !keepsRules(state.rules, rules, definitions))
        ? rules
        : undefined;
    if (missing.length === 0 && replacing === undefined && !state.isCarriedOver) {
      return { from, to: latest, installedRules: false };
    }
    if (state.isCarriedOver) await refuseUnlike(database);
    if (from > 0) await mayChange?.();
    try {
      if (from > 0 && missing.length > 0) await copy?.(from);
      await database.batch(
        changes(state, missing, { nowMs: now(), rules: replacing, definitions }),
      );
      return { from, to: latest, installedRules: replacing !== undefined };
    } catch (error) {
      // another program may have been first: then there is less to do, or nothing
      const isChanged = JSON.stringify(await stateOf(database, latest)) !== JSON.stringify(state);
      if (!isChanged || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** The statements of one transaction. */
function changes(
  { version, isCarriedOver, rules: before }: State,
  missing: readonly Migration[],
  { nowMs, rules, definitions }: {
    readonly nowMs: number;
    readonly rules: RuleSet | undefined;
    readonly definitions: Definitions;
  },
): Statement[] {
  return [
    ...(version === 0 ? definitions.first.map((sql) => ({ sql })) : []),
    ...(isCarriedOver ? TAKE_OVER : []),
    // First, so that of two gateways that start at once only one carries the step out.
    ...missing.map(({ version, name }) => ({
      sql: "insert into schema_versions (version, name, applied_at_ms) values (?, ?, ?)",
      args: [version, name, nowMs],
    })),
    ...(rules === undefined ? [] : dropRules(before?.objects ?? [], definitions)),
    ...definitions.ofSteps(missing).map((sql) => ({ sql })),
    ...(rules === undefined ? [] : installRules(rules, { before, nowMs, definitions })),
  ];
}

/** A schema that the program does not know is refused before anything else of it is read. */
async function stateOf(database: Database, latest: number): Promise<State> {
  const { version, oldest } = await listedSteps(database);
  const fault = schemaFault(version, { latest });
  if (fault !== undefined) {
    throw new DatabaseError(
      fault.code,
      `Cannot use ${database.place} as ${fault.why}. ${fault.remedy}`,
    );
  }
  const rules = version === 0 ? undefined : await installedRules(database);
  return { version, isCarriedOver: version > 0 && oldest < FIRST.version, rules };
}

/** What builds before made in smaller steps is the same; what somebody has changed since is not. */
async function refuseUnlike(database: Database): Promise<void> {
  const unlike = await unlikeFirst(database);
  if (unlike.length === 0) return;
  throw new DatabaseError(
    "SLUICE_SCHEMA",
    `Cannot use ${database.place} as its schema is not the one of version ${FIRST.version}: ` +
      `${unlike.slice(0, 3).join(", ")} differ${
        unlike.length === 1 ? "s" : ""
      }. Undo what changed it, or ` +
      "restore a backup",
  );
}

/** The schema's version; 0 for an empty database. */
export async function schemaVersion(database: Database): Promise<number> {
  return (await listedSteps(database)).version;
}

/** The latest and the oldest step that a database lists; 0 for an empty one. */
async function listedSteps(
  database: Database,
): Promise<{ version: number; oldest: number }> {
  if (!await definitionsOf(database).hasTable(database, "schema_versions")) {
    return { version: 0, oldest: 0 };
  }
  const row = await database.one(
    "select max(version) as version, min(version) as oldest from schema_versions",
  );
  return { version: Number(row?.version ?? 0), oldest: Number(row?.oldest ?? 0) };
}
