import { type Definitions, VERSIONS } from "../definitions.ts";
import { COLUMNS, hasTable, objectsMadeBy, REFERENCES, schemaObjects } from "./catalog.ts";
import { createStatement } from "./rule_objects.ts";

/** Definitions for SQLite, in a file and on a libSQL server. */
export const SQLITE_DEFINITIONS: Definitions = {
  hasTable,
  objects: schemaObjects,
  objectsMadeBy,
  first: [VERSIONS],
  ofSteps: (migrations) => migrations.flatMap(({ statements }) => statements),
  create: (object) => [createStatement(object)],
  // dropping a view drops its triggers as well
  drop: (object) => `drop ${object.replace(" ", " if exists ")}`,
  columns: COLUMNS,
  insertRows: (table, columns) =>
    `insert into ${table} (${columns.join(", ")})
      select ${columns.map((name) => `value ->> '${name}'`).join(", ")} from json_each(?)`,
  references: REFERENCES,
  setColumns: (table, columns, key) =>
    `update ${table} set ${columns.map((name) => `${name} = given.value ->> '${name}'`).join(", ")}
      from json_each(?) as given
      where ${key.map((name) => `${table}.${name} = given.value ->> '${name}'`).join(" and ")}`,
  // a server does not keep this from one statement to the next
  loosened: () =>
    Promise.resolve({
      before: ["pragma foreign_keys = off"],
      after: ["pragma foreign_key_check", "pragma foreign_keys = on"],
    }),
};
