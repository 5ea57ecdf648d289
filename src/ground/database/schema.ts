import { createHash } from "node:crypto";
import type { Database } from "./database.ts";
import type { SchemaObject } from "./definitions.ts";
import { definitionsOf } from "./definitions_of.ts";
import { FIRST, stepsOf } from "./migrations/mod.ts";
import { hashOfRules, objectsOfRules, type RuleSet, statementsOfRules } from "./rules.ts";

/** A table, index, trigger or view that is not as migrations and rules make it. */
export interface SchemaDifference {
  /** Such as `trigger entries_delete_is_refused`; `rules` for the record of those that are installed. */
  readonly object: string;
  /** Digest of its statement as it is, without comments; `none` if there is no such object. */
  readonly found: string;
  /** Digest of its statement as migrations and rules make it; `none` for an object of nobody's. */
  readonly expected: string;
}

/**
 * Compares the schema with the one that migrations and rules make, the list of applied migrations with the
 * program's, and the record of the installed rules with its rules. Other tables, views and functions are
 * left alone; triggers and indexes are not, as they may change what our rows are.
 *
 * @param rules The rules that the database should have.
 */
export async function schemaDifferences(
  database: Database,
  rules: RuleSet,
): Promise<SchemaDifference[]> {
  const definitions = definitionsOf(database);
  const expected = new Map(await expectedSchema(database, rules));
  const ours = new Set([...expected.keys()].filter((object) => object.startsWith("table ")));
  const found = new Map<string, string>();
  for (const { object, table, definition } of await definitions.objects(database)) {
    const foreign = /^(table|view|function|collation) /.test(object) ||
      (object.startsWith("index ") && !ours.has(`table ${table}`));
    if (!foreign || expected.has(object)) found.set(object, definition);
  }
  const versions = await database.all(
    "select version, name from schema_versions order by version",
  );
  for (const { version, name } of versions) found.set(`migration ${version}`, String(name));
  for (const { version, name } of stepsOf(database)) expected.set(`migration ${version}`, name);
  if (found.has("table installed_rules")) {
    const rows = await database.all("select id, revision, hash, objects from installed_rules");
    found.set("rules", JSON.stringify(rows));
  }
  expected.set(
    "rules",
    JSON.stringify([{
      id: 1,
      revision: rules.revision,
      hash: hashOfRules(rules, definitions),
      objects: JSON.stringify(objectsOfRules(rules)),
    }]),
  );

  return [...new Set([...expected.keys(), ...found.keys()])].toSorted()
    .filter((object) => expected.get(object) !== found.get(object))
    .map((object) => ({
      object,
      found: digest(found.get(object)),
      expected: digest(expected.get(object)),
    }));
}

/** What was made of rules before, where an engine makes it always the same: it takes a fifth of a second. */
const MADE = new WeakMap<RuleSet, ReadonlyMap<string, string>>();

async function expectedSchema(
  database: Database,
  rules: RuleSet,
): Promise<ReadonlyMap<string, string>> {
  const known = MADE.get(rules);
  // a server says it in its own words, and may be replaced by a newer one
  if (known !== undefined && database.dialect !== "postgres") return known;
  const definitions = definitionsOf(database);
  const made = byObject(
    await definitions.objectsMadeBy([
      ...definitions.first,
      ...definitions.ofSteps(stepsOf(database)),
      ...statementsOfRules(rules, definitions),
    ], database),
  );
  if (database.dialect !== "postgres") MADE.set(rules, made);
  return made;
}

/**
 * The tables and indexes of the first step that a database lacks, or has otherwise.
 *
 * @returns Such as `table accounts`.
 */
export async function unlikeFirst(database: Database): Promise<string[]> {
  const { first, ofSteps, objects, objectsMadeBy } = definitionsOf(database);
  const found = byObject(await objects(database));
  return (await objectsMadeBy([...first, ...ofSteps([FIRST])], database))
    .filter(({ object, definition }) => found.get(object) !== definition)
    .map(({ object }) => object);
}

/** Definitions by object. */
function byObject(objects: readonly SchemaObject[]): Map<string, string> {
  return new Map(objects.map(({ object, definition }) => [object, definition]));
}

function digest(text: string | undefined): string {
  return text === undefined ? "none" : createHash("sha256").update(text).digest("hex").slice(0, 12);
}
