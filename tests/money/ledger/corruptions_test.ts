import { schemaDifferences } from "../../../src/ground/database/mod.ts";
import { audit, RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { tempDir } from "../../fake/temp.ts";
import { isProof } from "../../tier.ts";
import {
  type Corruption,
  FREE,
  generatedCorruptions,
  NAMED_CORRUPTIONS,
  NOUNS,
  onlyReadersOf,
  openRaw,
  OTHER_TABLES,
  schemaCorruptions,
  withEach,
  writeHistory,
} from "./corruptions.ts";

/** Of this many corruptions, drawn again in each run, the gate makes the whole audit. */
const DRAWN = 20;

/**
 * What the audit misses of these corruptions of a history.
 *
 * The proofs make the whole audit for each. The gate makes the checks that read a table which the corruption names, or
 * compares the schema where it is one of the schema, and the whole audit for some that are drawn.
 */
async function missed(
  corruptionsOf: (file: string) => readonly Corruption[],
): Promise<{ readonly missed: string[]; readonly all: number }> {
  await using dir = await tempDir();
  const history = `${dir.path}/history.db`;
  await writeHistory(history);
  const corruptions = corruptionsOf(history);
  const seed = testSeed();
  const random = new Random(seed);
  const drawn = new Set(
    Array.from({ length: DRAWN }, () => random.pick(corruptions)),
  );
  const missed: string[] = [];
  await withEach(history, corruptions, async (database, one, { id, touched }) => {
    const isWhole = isProof || drawn.has(one);
    const found = isWhole || one.triggers === true && one.noun !== "schema"
      ? (await audit(database)).mismatches
      : one.noun === "schema"
      ? (await schemaDifferences(database, RULES)).map(({ object, found, expected }) => (
        { noun: "schema", kind: "schema", id: object, found, expected }
      ))
      : (await audit(onlyReadersOf(database, touched))).mismatches;
    const named = found.some((row) =>
      row.noun === one.noun && (id === undefined || row.id === id) && row.found !== row.expected
    );
    if (named) return;
    const instead = [...new Set(found.map(({ noun, kind, id }) => `${noun}/${kind} ${id}`))];
    missed.push(
      `${one.name}: ${one.noun} ${id ?? ""} not named, but ${instead.slice(0, 6)}${
        isWhole ? ` (SLUICE_TEST_SEED=${seed})` : ""
      }`,
    );
  });
  return { missed, all: corruptions.length };
}

Deno.test("the audit names every corruption that somebody thought of", async () => {
  const { missed: names, all } = await missed(() => NAMED_CORRUPTIONS);
  assertEquals(names, []);
  assert(all >= 35);
});

Deno.test("the audit names a change of each column, and each deleted and phantom row", async () => {
  const { missed: names, all } = await missed(generatedCorruptions);
  assertEquals(names, []);
  assert(all >= 120);
});

Deno.test("the audit names each table, index, trigger and view that was dropped or changed", async () => {
  const { missed: names, all } = await missed(schemaCorruptions);
  assertEquals(names, []);
  assert(all >= 90);
});

Deno.test("every column of every ledger table is covered by the corpus or free for a reason", async () => {
  await using dir = await tempDir();
  const history = `${dir.path}/history.db`;
  await writeHistory(history);
  const raw = openRaw(history);
  const columns = raw.prepare(
    `select tables.name as "table", columns.name as "column", (
        select count(*) from pragma_table_info(tables.name)
      ) as n
      from sqlite_master as tables join pragma_table_info(tables.name) as columns
      where tables.type = 'table' and tables.name not like 'sqlite_%'
        and tables.name not like 'libsql_%'`,
  ).all([]).map((row) => [String(row.table), String(row.column)] as const);
  const empty = Object.keys(NOUNS).filter((table) =>
    raw.prepare(`select count(*) as n from ${table}`).all([])[0]!.n === 0
  );
  raw.close();
  const covered = new Set(generatedCorruptions(history).map(({ name }) => name));
  const open = columns.filter(([table, column]) =>
    !OTHER_TABLES.includes(table) && !empty.includes(table) &&
    FREE[`${table}.${column}`] === undefined && !covered.has(`${table}.${column} changed`)
  );
  assertEquals(open, []);
  assertEquals(empty, ["decisions", "settling"], "the history has rows of every other table");
  const known = new Set(columns.map(([table, column]) => `${table}.${column}`));
  assertEquals(Object.keys(FREE).filter((name) => !known.has(name)), []);
});
