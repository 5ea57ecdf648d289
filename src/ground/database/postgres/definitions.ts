import { lockRowsInBlock, POSTGRES_FUNCTIONS, render } from "../../sql/mod.ts";
import type { Migration } from "../migrations/mod.ts";
import { type Definitions, VERSIONS } from "../definitions.ts";
import { COLUMNS, hasTable, objectsMadeBy, schemaObjects, withoutReferences } from "./catalog.ts";
import { columnsOf, type RuleObject, type Trigger } from "../rule_objects.ts";

/**
 * What the schema needs before its first step: functions, and the collation of names that are told apart whatever the case of their
 * letters.
 */
const PRELUDE: readonly string[] = [
  ...POSTGRES_FUNCTIONS,
  "create collation nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
];

/** What steps did to rows that there were before: PostgreSQL begins with none. */
const MOVES_ROWS = /^insert into \w+(?: \([^)]*\))?\s+select /;

/** Statements of steps of the schema, for an empty database. */
function schemaStatements(migrations: readonly Migration[]): string[] {
  return migrations.flatMap(({ statements }) => statements)
    .filter((sql) => !MOVES_ROWS.test(sql)).map(schemaStatement);
}

/** A text, a comment, the type that is too small, or SQLite's options at the end of a table. */
const SQLITES = /'(?:[^']|'')*'|--[^\n]*|\binteger\b|\)\s*(?:strict)?(?:,?\s*without rowid)?\s*$/g;

/** A statement of a step of the schema as PostgreSQL understands it. */
function schemaStatement(sql: string): string {
  return render(sql, "postgres").replace(
    SQLITES,
    (found) => found === "integer" ? "bigint" : found.startsWith(")") ? ")" : found,
  );
}

const TYPES = { integer: "bigint", text: "text" } as const;

/** The statements that create what a rule is made of: a trigger is a function as well. */
function createStatements(object: RuleObject): string[] {
  return definitions(object).map((sql) => render(sql, "postgres"));
}

function definitions(object: RuleObject): string[] {
  if ("query" in object) return [`create view ${object.view} as\n  ${object.query}`];
  if ("view" in object) {
    const columns = columnsOf(object).map((column) =>
      `null::${TYPES[object.columns[column]!]} as ${column}`
    );
    return [`create view ${object.view} as select ${columns.join(", ")} where false`];
  }
  const { trigger, event, on } = object;
  const columns = "columns" in object && object.columns !== undefined
    ? ` of ${object.columns.join(", ")}`
    : "";
  return [
    `create function ${trigger}() returns trigger language plpgsql as $body$
#variable_conflict use_column
begin
  ${bodyOf(object).map((statement) => `${statement};`).join("\n  ")}
end $body$`,
    `create trigger ${trigger} ${event}${columns} on ${on} for each row ${
      isCheap(object) ? `when (${object.when}) ` : ""
    }execute function ${trigger}()`,
  ];
}

/** Whether the trigger itself can look at the condition, which costs no call of its function. */
function isCheap({ event, when }: Trigger): boolean {
  return when !== undefined && event !== "instead of insert" &&
    !/\bselect\b/.test(render(when, "postgres"));
}

/**
 * Statements of a trigger's function. What it needs to itself is locked before anything is read, by a statement of its own: each
 * statement sees what was committed before it began, and the lock has waited for those who had it.
 */
function bodyOf(object: Trigger): string[] {
  const { event, when } = object;
  const result = `return ${event === "before delete" ? "old" : "new"}`;
  if ("onPostgres" in object && object.onPostgres !== undefined) return [object.onPostgres, result];
  const locks = "locks" in object && object.locks || [];
  const statements = "refuses" in object
    ? [
      `raise exception using message = '${object.refuses}', errcode = 'integrity_constraint_violation'`,
    ]
    : object.statements;
  return [
    ...locks.map(lockRowsInBlock),
    ...(when === undefined || isCheap(object)
      ? []
      : [`if (${when}) is not true then ${result}; end if`]),
    ...statements,
    result,
  ];
}

/** Definitions for PostgreSQL. */
export const POSTGRES_DEFINITIONS: Definitions = {
  hasTable,
  objects: schemaObjects,
  objectsMadeBy,
  first: [schemaStatement(VERSIONS), ...PRELUDE],
  ofSteps: schemaStatements,
  create: createStatements,
  drop: (object) => {
    const [kind, name] = object.split(" ");
    return kind === "trigger"
      ? `drop function if exists ${name}() cascade`
      : `drop view if exists ${name} cascade`;
  },
  columns: COLUMNS,
  insertRows: (table, columns) =>
    `insert into ${table} (${columns.join(", ")})
      select ${columns.join(", ")} from json_populate_recordset(null::${table}, (?)::json)`,
  loosened: withoutReferences,
};
