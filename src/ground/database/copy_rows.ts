import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { type Database, DatabaseError, type Row, type Value } from "./database.ts";
import { definitionsOf } from "./definitions_of.ts";
import { migrate, schemaVersion } from "./migrate.ts";
import { stepsOf } from "./migrations/mod.ts";
import type { RuleSet } from "./rules.ts";

/** Rows of a table that were copied. */
export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
}

/** A table of a database. */
interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Columns that tell its rows apart. */
  readonly key: readonly string[];
  /** Columns that refer to other rows of it, where those must be there first. */
  readonly own: readonly string[];
}

/** What each database has of its own. */
const NOT_COPIED = ["schema_versions", "installed_rules"];
/** Characters of a page, which its rows are counted for, and the most rows of one. */
const PAGE_CHARS = 2_000_000;
const MAX_PAGE_ROWS = 5_000;
const FIRST_PAGE_ROWS = 100;
/** How long a server may take for a page. */
const PATIENCE_MS = 120_000;

/**
 * Copies all rows into a database that has neither schema nor rules yet, page by page, and gives it both. Rules decide nothing meanwhile,
 * as they come last, when the rows of both are the same: as many, with the same digests.
 *
 * @param source Has the schema of this program. It is only read.
 * @param target As an engine fills it.
 * @param options.tell Called with what is being done.
 * @throws {DatabaseError} If it is not empty, or if rows did not arrive as they were.
 */
export async function copyDatabase(
  source: Database,
  target: Database,
  { rules, now, tell }: {
    readonly rules: RuleSet;
    readonly now: () => number;
    readonly tell: (what: string) => void;
  },
): Promise<CopiedTable[]> {
  if (await schemaVersion(target) !== 0) {
    throw new DatabaseError(
      "SLUICE_NOT_EMPTY",
      `Cannot copy to ${target.place}: it has a database of Sluice already. Name an empty one`,
    );
  }
  const migrations = stepsOf(target);
  await migrate(target, { now, migrations });
  const { insertRows, setColumns, loosened } = definitionsOf(target);
  const { before, after } = await loosened(target);
  for (const sql of before) await target.all(sql);
  const tables = await (target.isUnfinished ? parentsFirst(target) : tablesOf(target));
  for (const { name } of tables.toReversed()) await target.batch([{ sql: `delete from ${name}` }]);
  const sent: { readonly table: Table; readonly digest: Digest }[] = [];
  for (const table of tables) {
    const { name, columns, key, own } = table;
    const digest = new Digest();
    const write = (sql: string, rows: readonly string[]) =>
      target.batch([{ sql, args: [`[${rows.join(",")}]`] }]).catch((cause) => {
        throw new DatabaseError(cause.code, `Cannot copy rows of ${name}: ${cause.message}`, {
          cause,
        });
      });
    const sql = insertRows(name, columns.filter((column) => !own.includes(column)));
    for await (const rows of pagesOf(source, table)) {
      rows.forEach((row) => digest.add(row));
      await write(sql, rows);
      tell(`${name}, ${digest.rows} rows`);
    }
    if (own.length > 0) {
      const set = setColumns!(name, own, key);
      for await (const rows of pagesOf(source, table)) await write(set, rows);
    }
    const [counted] = await source.all(`select count(*) as rows from ${table.name}`, [], {
      patienceMs: PATIENCE_MS,
    });
    if (counted!.rows !== digest.rows) {
      throw differs(table.name, `${digest.rows} rows, not ${counted!.rows}`);
    }
    sent.push({ table, digest });
  }
  for (const sql of after) {
    const [fault] = await target.all(sql);
    if (fault !== undefined) {
      throw differs(String(fault.table), "rows refer to others that are not there");
    }
  }
  for (const { table, digest } of sent) {
    tell(`${table.name}, compared`);
    const arrived = new Digest();
    for await (const rows of pagesOf(target, table)) rows.forEach((row) => arrived.add(row));
    if (arrived.text !== digest.text) {
      throw differs(table.name, `${arrived.text}, not ${digest.text}`);
    }
  }
  await migrate(target, { now, rules, migrations });
  return sent.map(({ table: { name }, digest: { rows } }) => ({ table: name, rows }));
}

function differs(table: string, how: string): DatabaseError {
  return new DatabaseError("SLUICE_COPY", `The copy of ${table} is not what was copied: ${how}`);
}

/** What rows are together, in whatever order they come. */
class Digest {
  rows = 0;
  readonly #all = new Uint8Array(32);

  add(row: string): void {
    this.rows++;
    // none is there twice, so that none takes another's away
    createHash("sha256").update(row).digest().forEach((byte, at) => this.#all[at]! ^= byte);
  }

  get text(): string {
    return `${this.rows} rows with the digest ${Buffer.from(this.#all).toString("hex")}`;
  }
}

async function tablesOf(database: Database): Promise<Table[]> {
  const found = Object.groupBy(
    await database.all(definitionsOf(database).columns),
    ({ of_table }) => String(of_table),
  );
  return Object.entries(found).filter(([name]) => !NOT_COPIED.includes(name))
    .map(([name, columns = []]) => {
      const key = columns.filter(({ place }) => Number(place) > 0)
        .toSorted((one, other) => Number(one.place) - Number(other.place));
      return {
        name,
        columns: namesOf(columns),
        key: namesOf(key.length > 0 ? key : columns),
        own: [],
      };
    });
}

/** The tables of a database in which nothing refers to rows that are not there: each behind those that it refers to. */
export async function parentsFirst(database: Database): Promise<Table[]> {
  const references = Map.groupBy(
    await database.all(definitionsOf(database).references!),
    ({ of_table }) => String(of_table),
  );
  const left = new Map((await tablesOf(database)).map((table) => [table.name, table]));
  const ordered: Table[] = [];
  while (left.size > 0) {
    const free = [...left.values()].filter(({ name }) =>
      (references.get(name) ?? []).every(({ parent }) =>
        parent === name || !left.has(String(parent))
      )
    );
    if (free.length === 0) {
      throw new DatabaseError(
        "SLUICE_SCHEMA",
        `Tables of ${database.place} refer to each other in a circle: ${
          [...left.keys()].join(", ")
        }`,
      );
    }
    for (const table of free) {
      left.delete(table.name);
      const own = (references.get(table.name) ?? []).filter(({ parent }) => parent === table.name);
      ordered.push({ ...table, own: own.map(({ column }) => String(column)) });
    }
  }
  return ordered;
}

function namesOf(columns: readonly Row[]): string[] {
  return columns.map(({ name }) => String(name));
}

/** All rows of a table as JSON objects, in pages of bounded size. */
async function* pagesOf(
  database: Database,
  { name, columns, key }: Table,
): AsyncGenerator<readonly string[]> {
  const order = key.join(", ");
  const behind = `where (${order}) > (${key.map(() => "?").join(", ")})`;
  let last: Value[] = [];
  for (let limit = FIRST_PAGE_ROWS;;) {
    const rows = await database.all(
      `select ${columns.join(", ")} from ${name} ${
        last.length === 0 ? "" : behind
      } order by ${order} limit ?`,
      [...last, limit],
      { patienceMs: PATIENCE_MS },
    );
    const page = rows.map((row) => JSON.stringify(row));
    if (page.length > 0) yield page;
    if (page.length < limit) return;
    last = key.map((column) => rows.at(-1)![column]!);
    const charsOfRow = page.reduce((sum, row) => sum + row.length, 0) / page.length;
    limit = Math.max(1, Math.min(MAX_PAGE_ROWS, Math.floor(PAGE_CHARS / charsOfRow)));
  }
}
