import { type Database, DatabaseError, type Statement } from "./database.ts";
import { ACCOUNTS_KEYS_USAGE } from "./migrations/0001_accounts_keys_usage.ts";
import { LEDGER } from "./migrations/0002_ledger.ts";
import { CONSOLE } from "./migrations/0003_console.ts";
import { LEASES } from "./migrations/0004_leases.ts";
import { AUDIT } from "./migrations/0005_audit.ts";
import { BOUNDS } from "./migrations/0006_bounds.ts";
import { TAKE_BACKS } from "./migrations/0007_take_backs.ts";
import { RULES_ASIDE } from "./migrations/0008_rules.ts";
import { CACHE_SAVINGS } from "./migrations/0009_cache_savings.ts";
import { REASONS } from "./migrations/0010_reasons.ts";
import { LOANS } from "./migrations/0011_loans.ts";
import { KEPT_ITEMS } from "./migrations/0012_kept_items.ts";
import { BUDGETS } from "./migrations/0013_budgets.ts";
import { TEAMS } from "./migrations/0014_teams.ts";
import { ALERTS } from "./migrations/0015_alerts.ts";
import { TAGS } from "./migrations/0016_tags.ts";
import { PAYMENTS } from "./migrations/0017_payments.ts";
import { OPERATIONS } from "./migrations/0018_operations.ts";
import { USAGE_TOTALS } from "./migrations/0019_usage_totals.ts";
import { STATEMENTS } from "./migrations/0020_statements.ts";
import { PAYMENT_STATES } from "./migrations/0021_payment_states.ts";
import { DAY_TOTALS } from "./migrations/0022_day_totals.ts";
import { CHECKOUT_OPTIONS } from "./migrations/0023_checkout_options.ts";
import { IDENTITY } from "./migrations/0024_identity.ts";
import { EXTRAS } from "./migrations/0025_extras.ts";
import { OPEN_INPUT } from "./migrations/0026_open_input.ts";
import { OWN_KEYS } from "./migrations/0027_own_keys.ts";
import {
  dropRules,
  type InstalledRules,
  installedRules,
  installRules,
  keepsRules,
  type RuleSet,
} from "./rules.ts";

/**
 * One step of the schema: tables, columns, indexes, changes of data. Released steps are never edited, only
 * followed by others. No rule is installed while it runs, so what a trigger keeps in step it does itself.
 */
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
  { version: 8, name: "rules", statements: RULES_ASIDE },
  { version: 9, name: "cache savings", statements: CACHE_SAVINGS },
  { version: 10, name: "reasons", statements: REASONS },
  { version: 11, name: "loans", statements: LOANS },
  { version: 12, name: "kept items", statements: KEPT_ITEMS },
  { version: 13, name: "budgets", statements: BUDGETS },
  { version: 14, name: "teams", statements: TEAMS },
  { version: 15, name: "alerts", statements: ALERTS },
  { version: 16, name: "tags", statements: TAGS },
  { version: 17, name: "payments", statements: PAYMENTS },
  { version: 18, name: "operations", statements: OPERATIONS },
  { version: 19, name: "usage totals", statements: USAGE_TOTALS },
  { version: 20, name: "statements", statements: STATEMENTS },
  { version: 21, name: "payment states", statements: PAYMENT_STATES },
  { version: 22, name: "day totals", statements: DAY_TOTALS },
  { version: 23, name: "checkout options", statements: CHECKOUT_OPTIONS },
  { version: 24, name: "identity", statements: IDENTITY },
  { version: 25, name: "extras", statements: EXTRAS },
  { version: 26, name: "open input", statements: OPEN_INPUT },
  { version: 27, name: "own keys", statements: OWN_KEYS },
];

/** From this one on the database says which rules it has; before, migrations made them. */
const FIRST_WITH_RULES = 8;
/** Other programs that change the database at the same moment and are waited for. */
const MAX_ATTEMPTS = 5;

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
  readonly copy?: ((fromVersion: number) => Promise<void>) | undefined;
  /** The steps to apply; tests pass fewer. */
  readonly migrations?: readonly Migration[];
}

/** What a database has. */
interface State {
  readonly version: number;
  readonly rules: InstalledRules | undefined;
}

/**
 * Brings schema and rules up to date: all missing steps and the new rules in one transaction. Of several
 * programs that do so at once, one succeeds and the others find it done.
 *
 * @throws {DatabaseError} `SLUICE_NEWER` when the database was written by a newer Sluice.
 */
export async function migrate(database: Database, options: MigrateOptions): Promise<Migrated> {
  const { now, rules, mayChange, copy, migrations = MIGRATIONS } = options;
  const latest = migrations.at(-1)!.version;
  for (let attempt = 1;; attempt++) {
    const state = await stateOf(database, latest);
    const from = state.version;
    const missing = migrations.filter(({ version }) => version > from);
    const replacing = rules !== undefined && (missing.length > 0 || !keepsRules(state.rules, rules))
      ? rules
      : undefined;
    if (missing.length === 0 && replacing === undefined) {
      return { from, to: latest, installedRules: false };
    }
    if (from > 0) {
      await mayChange?.();
      if (missing.length > 0) await copy?.(from);
    }
    try {
      await database.batch(changes(state, missing, { nowMs: now(), rules: replacing }));
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
  { version, rules: before }: State,
  missing: readonly Migration[],
  { nowMs, rules }: { readonly nowMs: number; readonly rules: RuleSet | undefined },
): Statement[] {
  return [
    ...(version === 0 ? [{ sql: CREATE_VERSIONS }] : []),
    // First, so that of two gateways that start at once only one carries the step out.
    ...missing.map(({ version, name }) => ({
      sql: "insert into schema_versions (version, name, applied_at_ms) values (?, ?, ?)",
      args: [version, name, nowMs],
    })),
    ...(rules === undefined ? [] : dropRules(before?.objects ?? [])),
    ...missing.flatMap(({ statements }) => statements.map((sql) => ({ sql }))),
    ...(rules === undefined ? [] : installRules(rules, { before, nowMs })),
  ];
}

function refuseNewer(database: Database, version: number, latest: number): void {
  if (version <= latest) return;
  throw new DatabaseError(
    "SLUICE_NEWER",
    `Cannot use ${database.place} as it was written by a newer Sluice: its schema is version ` +
      `${version}, this program knows up to ${latest}. Install the newer program or restore a backup`,
  );
}

/** A newer schema is refused before anything else of it is read. */
async function stateOf(database: Database, latest: number): Promise<State> {
  const version = await schemaVersion(database);
  refuseNewer(database, version, latest);
  const rules = version < FIRST_WITH_RULES ? undefined : await installedRules(database);
  return { version, rules };
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
