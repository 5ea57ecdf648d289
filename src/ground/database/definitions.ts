import type { Database } from "./database.ts";
import type { Migration } from "./migrations/mod.ts";
import type { RuleObject } from "./rule_objects.ts";

/** A table, index, trigger, view or whatever else an engine makes of a schema. */
export interface SchemaObject {
  /** Such as `table accounts`. */
  readonly object: string;
  /** The table that it is of. */
  readonly table: string;
  /** What it is made of, the same for all that are made by the same statements. */
  readonly definition: string;
}

/** How a schema and its rules are defined for an engine. */
export interface Definitions {
  /** Whether a database has a table. */
  hasTable(database: Database, name: string): Promise<boolean>;
  /** All objects of a database. */
  objects(database: Database): Promise<readonly SchemaObject[]>;
  /**
   * The objects that statements make where there are none.
   *
   * @param database Whose engine it is. It stays as it is.
   */
  objectsMadeBy(
    statements: readonly string[],
    database: Database,
  ): Promise<readonly SchemaObject[]>;
  /** Statements that an empty database gets first: the table of versions, and what steps need before. */
  readonly first: readonly string[];
  /** Statements of steps, oldest first. */
  ofSteps(migrations: readonly Migration[]): string[];
  /** Statements that create what a rule is made of. */
  create(object: RuleObject): string[];
  /**
   * The statement that drops it, if it is there.
   *
   * @param object Such as `trigger entries_delete_is_refused`.
   */
  drop(object: string): string;
  /** A query of all columns: `of_table`, `name`, and `place`, from 1 on, in the primary key, or 0. */
  readonly columns: string;
  /** The statement that inserts rows, whose argument is a JSON array of objects. */
  insertRows(table: string, columns: readonly string[]): string;
  /**
   * A query of what tables refer to: `of_table`, `column` and `parent`. Undefined where {@linkcode loosened} lets rows be inserted in
   * whatever order.
   */
  readonly references?: string;
  /** The statement that sets columns of rows that are there, whose argument is a JSON array of objects. Undefined where that is. */
  setColumns?(table: string, columns: readonly string[], key: readonly string[]): string;
  /**
   * Statements before rows are inserted in whatever order, and after it: those return the rows that refer to others which are not there,
   * or fail.
   */
  loosened(
    database: Database,
  ): Promise<{ readonly before: readonly string[]; readonly after: readonly string[] }>;
}

/** The table that lists the steps of a database. */
export const VERSIONS = `create table if not exists schema_versions (
    version integer primary key,
    name text not null,
    applied_at_ms integer not null
  ) strict`;
