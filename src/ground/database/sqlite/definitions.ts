import { type Definitions, VERSIONS } from "../definitions.ts";
import { hasTable, objectsMadeBy, schemaObjects } from "./catalog.ts";
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
};
