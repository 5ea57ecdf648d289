import {
  type Database,
  DatabaseError,
  forReports,
  type Row,
  sumOf,
} from "../../ground/database/mod.ts";
import { BALANCES } from "./audit/balances.ts";
import { BUDGETS, checkPeriods } from "./audit/budgets.ts";
import { type Check, type Mismatch, type Noun, PROMISE_OF, queryOf } from "./audit/check.ts";
import { HOLDS } from "./audit/holds.ts";
import { HOURS } from "./audit/hours.ts";
import { checkRefused, checkSchema, checkTiers, LISTS } from "./audit/lists.ts";
import { LOTS } from "./audit/lots.ts";
import { ORDERS } from "./audit/orders.ts";
import { RECORDS } from "./audit/records.ts";
import { TAGS } from "./audit/tags.ts";
import { WINDOWS } from "./audit/windows.ts";
import { HAS_LAPSED } from "./rules/sql/shared.ts";

export type { Mismatch, Noun } from "./audit/check.ts";

/** A row that does not add up, and the promise that it breaks. */
export interface Finding extends Mismatch {
  /** Its number in `docs/promises.md`. */
  readonly promise: `P${number}`;
}

/** What the audit found. */
export interface AuditReport {
  readonly accounts: number;
  readonly lots: number;
  readonly entries: number;
  readonly holds: number;
  /** Credits that are lent to gateways, which admit requests on them. */
  readonly lentCredits: number;
  /** Those of them that gateways may not spend any more and have not returned: their outboxes may have what they sold. */
  readonly unreturned: {
    readonly gateways: number;
    readonly credits: number;
  };
  /** What was lent to gateways and is not waited for any more, as operators have decided. */
  readonly writtenOff: {
    readonly loans: number;
    readonly credits: number;
  };
  readonly records: number;
  readonly mismatches: readonly Finding[];
  /** Charges that were above what was left; the rest was not taken. */
  readonly uncollected: {
    readonly requests: number;
    readonly credits: number;
  };
  /** Charges that gateways have made again: the database had lost them after acknowledging them, as a standby was promoted. */
  readonly late: {
    readonly requests: number;
    readonly credits: number;
    /** IDs of the accounts, up to a hundred. */
    readonly accounts: readonly string[];
  };
}

/** Max rows that are named per check. */
const MAX_ROWS = 100;
/** Records that a check reads at a time. */
const RANGE_RECORDS = 100_000;
/** How long a libSQL server may take for one check. */
const CHECK_MS = 120_000;

const CHECKS: readonly Check[] = [
  ...LOTS,
  ...ORDERS,
  ...BALANCES,
  ...BUDGETS,
  ...HOLDS,
  ...HOURS,
  ...TAGS,
  ...RECORDS,
  ...WINDOWS,
  ...LISTS,
];

const COUNTS = `select (select count(*) from accounts) as accounts,
  (select count(*) from lots) as lots, (select count(*) from entries) as entries,
  (select count(*) from holds) as holds,
  (select coalesce(${
  sumOf("credits")
}, 0) from loans) as lent_credits, (select count(*) from usage_records) as records`;

const LENT = `select
    (select count(distinct gateway_id) from loans where ${HAS_LAPSED}) as lapsed_gateways,
    (select coalesce(${sumOf("credits")}, 0) from loans where ${HAS_LAPSED}) as lapsed_credits,
    (select count(*) from loan_write_offs) as written_off_loans,
    (select coalesce(${sumOf("credits")}, 0) from loan_write_offs) as written_off_credits`;

const UNCOLLECTED = `select
    (select count(*) from usage_records where charged_credits < price_credits)
      + (select coalesce(${sumOf("uncollected_requests")}, 0) from pruned_records) as requests,
    (select coalesce(${sumOf("price_credits - charged_credits")}, 0) from usage_records
      where charged_credits < price_credits)
      + (select coalesce(${sumOf("uncollected_credits")}, 0) from pruned_records) as credits`;

const LATE = `select account_id, count(*) as requests, ${sumOf("charged_credits")} as credits
    from usage_records where details like '%"late":true%'
    group by 1 order by 1`;

/**
 * Recomputes every derived row from entries and records, and compares the schema with the one that
 * migrations and rules make. Reads only, so that writers are not held up: a replica, if there is one, but for schema and outboxes.
 *
 * @param progress Called with the name of each check before it runs.
 */
export async function audit(
  database: Database,
  progress: (check: string) => void = () => {},
): Promise<AuditReport> {
  progress("schema");
  const mismatches: Mismatch[] = await checkSchema(database);
  const isWhole = mismatches.length === 0;
  const attempt = async <T>(
    noun: Noun,
    name: string,
    work: () => Promise<T>,
  ): Promise<T | undefined> => {
    progress(name);
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DatabaseError) || isWhole && !error.isAboutTheData) throw error;
      mismatches.push({
        noun: isWhole ? noun : "schema", // a table or a column that is missing; the schema's mismatches name it
        kind: "unreadable", // such as credits that cannot be added up
        id: name,
        found: error.message,
        expected: null,
      });
      return undefined;
    }
  };
  for (const check of CHECKS) {
    const found = await attempt(check.noun, check.name, () => run(database, check));
    mismatches.push(...found ?? []);
  }
  mismatches.push(...await attempt("budget", "time zones", () => checkPeriods(database)) ?? []);
  mismatches.push(...await attempt("tier", "tiers", () => checkTiers(database)) ?? []);
  progress("refused settlements");
  mismatches.push(...await checkRefused(database));
  const counts = await attempt("account", "counts", () => first(database, COUNTS));
  const lent = await attempt("loan", "lent", () => first(database, LENT));
  const uncollected = await attempt("record", "uncollected", () => first(database, UNCOLLECTED));
  const late = await attempt("record", "late", () => all(database, LATE)) ?? [];
  const count = (row: Row | undefined, column: string) => Number(row?.[column] ?? 0);
  return {
    accounts: count(counts, "accounts"),
    lots: count(counts, "lots"),
    entries: count(counts, "entries"),
    holds: count(counts, "holds"),
    lentCredits: count(counts, "lent_credits"),
    unreturned: {
      gateways: count(lent, "lapsed_gateways"),
      credits: count(lent, "lapsed_credits"),
    },
    writtenOff: {
      loans: count(lent, "written_off_loans"),
      credits: count(lent, "written_off_credits"),
    },
    records: count(counts, "records"),
    mismatches: mismatches.map((one) => ({ ...one, promise: PROMISE_OF[one.noun] })),
    uncollected: {
      requests: count(uncollected, "requests"),
      credits: count(uncollected, "credits"),
    },
    late: {
      requests: late.reduce((sum, row) => sum + count(row, "requests"), 0),
      credits: late.reduce((sum, row) => sum + count(row, "credits"), 0),
      accounts: late.slice(0, MAX_ROWS).map((row) => String(row.account_id)),
    },
  };
}

async function all(database: Database, sql: string): Promise<Row[]> {
  return await forReports(database).all(sql, [], { patienceMs: CHECK_MS });
}

async function first(database: Database, sql: string): Promise<Row | undefined> {
  return (await all(database, sql))[0];
}

async function run(database: Database, check: Check): Promise<Mismatch[]> {
  const mismatches: Mismatch[] = [];
  for await (const range of check.byRecords ? recordRanges(database) : [[]]) {
    const rows = await forReports(database).all(`${queryOf(check)} limit ${MAX_ROWS}`, range, {
      patienceMs: CHECK_MS,
    });
    for (const row of rows) mismatches.push(...mismatchesOf(check, row));
    if (mismatches.length >= MAX_ROWS) break;
  }
  return mismatches;
}

/** The request ids between which a query is run, oldest first. */
async function* recordRanges(database: Database): AsyncGenerator<[string, string]> {
  for (let from = "";;) {
    const last = await first(
      database,
      `select request_id from usage_records where request_id > '${from.replaceAll("'", "''")}'
        order by request_id limit 1 offset ${RANGE_RECORDS}`,
    );
    const to = last === undefined ? "\u{10ffff}" : String(last.request_id);
    yield [from, to];
    if (last === undefined) return;
    from = to;
  }
}

function mismatchesOf(check: Check, row: Row): Mismatch[] {
  const noun = row.noun === undefined ? check.noun : row.noun as Mismatch["noun"];
  return Object.keys(row).flatMap((column) => {
    const kind = /^found_(.*)$/.exec(column)?.[1];
    if (kind === undefined) return [];
    const [found, expected] = [row[column] ?? null, row[`expected_${kind}`] ?? null];
    return found === expected ? [] : [{ noun, kind, id: String(row.id), found, expected }];
  });
}
