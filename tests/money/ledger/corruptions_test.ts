import { schemaDifferences } from "../../../src/ground/database/mod.ts";
import { audit, RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { tempDir } from "../../fake/temp.ts";
import { isProof, sized } from "../../tier.ts";
import {
  type Corruption,
  FREE,
  generatedCorruptions,
  isNamed,
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
const DRAWN = 5;
/** This many of the generated corruptions are drawn for the gate. */
const GENERATED = 50;

/** A history in a file of its own. */
async function historyFile(): Promise<{ file: string } & AsyncDisposable> {
  const dir = await tempDir();
  const file = `${dir.path}/history.db`;
  await writeHistory(file);
  return { file, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

/** Some of them, each at most once. */
function draw<T>(random: Random, all: readonly T[], most: number): Set<T> {
  return new Set(Array.from({ length: most }, () => random.pick(all)));
}

/**
 * What the audit misses of these corruptions of a history.
 *
 * The proofs make the whole audit for each. The gate makes the checks that read a table which the corruption names, and
 * the whole audit for some that are drawn.
 */
async function missedOf(
  file: string,
  corruptions: readonly Corruption[],
  random: Random,
): Promise<string[]> {
  const drawn = draw(random, corruptions, DRAWN);
  const missed: string[] = [];
  await withEach(file, corruptions, async (database, one, { id, touched }) => {
    const isWhole = isProof || drawn.has(one) || one.triggers === true;
    const { mismatches } = await audit(isWhole ? database : onlyReadersOf(database, touched));
    if (isNamed(mismatches, one, id)) return;
    const instead = [...new Set(mismatches.map(({ noun, kind, id }) => `${noun}/${kind} ${id}`))];
    missed.push(`${one.name}: ${one.noun} ${id ?? ""} not named, but ${instead.slice(0, 6)}`);
  });
  return missed;
}

Deno.test("the audit names every corruption that somebody thought of", async () => {
  const seed = testSeed();
  await using history = await historyFile();
  const missed = await missedOf(history.file, NAMED_CORRUPTIONS, new Random(seed));
  assertEquals(missed, [], `SLUICE_TEST_SEED=${seed}`);
  assert(NAMED_CORRUPTIONS.length >= 35);
});

Deno.test("the audit names a change of each column, and each deleted and phantom row", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using history = await historyFile();
  const all = generatedCorruptions(history.file);
  const some = sized([...draw(random, all, GENERATED)], all);
  assertEquals(await missedOf(history.file, some, random), [], `SLUICE_TEST_SEED=${seed}`);
  assert(all.length >= 120);
});

Deno.test("the audit names each table, index, trigger and view that was dropped or changed", async () => {
  const seed = testSeed();
  await using history = await historyFile();
  const all = schemaCorruptions(history.file);
  assert(all.length >= 90);
  // one by one, each has SQLite read the whole schema again: the gate does so with a few
  const random = new Random(seed);
  const some = sized([...draw(random, all, DRAWN)], all);
  assertEquals(await missedOf(history.file, some, random), [], `SLUICE_TEST_SEED=${seed}`);
  const byKind = Map.groupBy(all, ({ kind }) => kind!);
  const atOnce = [...byKind].map(([name, those]): Corruption => ({
    name,
    sql: those.flatMap(({ sql }) => sql),
    noun: "schema",
    triggers: true,
  }));
  assert(atOnce.length >= 6, [...byKind.keys()].join(", "));
  await withEach(history.file, atOnce, async (database, { name }) => {
    const found = new Set(
      (await schemaDifferences(database, RULES))
        .filter(({ found, expected }) => found !== expected)
        .map(({ object }) => `${object}${name.slice(name.indexOf(" "))}`),
    );
    const those = byKind.get(name)!;
    assertEquals(those.filter((one) => !found.has(one.name)).map((one) => one.name), []);
  });
});

Deno.test("every column of every ledger table is covered by the corpus or free for a reason", async () => {
  await using history = await historyFile();
  const raw = openRaw(history.file);
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
  const covered = new Set(generatedCorruptions(history.file).map(({ name }) => name));
  const open = columns.filter(([table, column]) =>
    !OTHER_TABLES.includes(table) && !empty.includes(table) &&
    FREE[`${table}.${column}`] === undefined && !covered.has(`${table}.${column} changed`)
  );
  assertEquals(open, []);
  assertEquals(empty, ["decisions", "settling"], "the history has rows of every other table");
  const known = new Set(columns.map(([table, column]) => `${table}.${column}`));
  assertEquals(Object.keys(FREE).filter((name) => !known.has(name)), []);
});
