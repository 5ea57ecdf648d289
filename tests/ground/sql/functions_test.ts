/** What the functions promise that engines spell differently, by what each engine makes of them. */

import fc from "fast-check";
import { DatabaseError, type Value } from "../../../src/ground/database/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { ledgerBench, possible, tablesIn } from "../../fake/ledger.ts";
import { sized } from "../../tier.ts";
import {
  byIndex,
  CLOCK_MS,
  containing,
  elementsOf,
  isLike,
  randomBelow,
  randomHex,
  ROW,
  sumOf,
  wholeTable,
  withoutIndex,
} from "../../../src/ground/sql/mod.ts";
import { POSTGRES } from "../../../src/ground/sql/postgres.ts";
import { SQLITE } from "../../../src/ground/sql/sqlite.ts";
import { VALUES } from "./values.ts";

for (const engine of possible(["file", "server", "postgres"])) {
  Deno.test(`functions that engines spell differently are what they promise: ${engine}`, async () => {
    await using bench = await ledgerBench(engine);
    const { database } = bench;
    for (const [sql, value] of VALUES) {
      const { value: is } = (await database.one(`select ${sql} as value`))!;
      assertEquals([sql, withoutSpaces(is)], [sql, value]);
    }
    const chance = `${randomHex(4)} as hex, ${randomBelow(3)} as below`;
    const rows = await database.all(`select ${chance} from ${elementsOf("'[1,2,3,4,5,6,7,8]'")}`);
    assert(
      rows.every(({ hex, below }) =>
        /^[0-9a-f]{8}$/.test(String(hex)) && [0, 1, 2].includes(Number(below))
      ),
    );
    assertEquals(new Set(rows.map(({ hex }) => hex)).size, rows.length);
    const before = Date.now() - 1;
    const { ms } = (await database.one(`select ${CLOCK_MS} as ms`))!;
    assert(Number.isInteger(ms) && Number(ms) >= before && Number(ms) <= Date.now() + 1);
  });

  Deno.test(`rows, and tables read in some way, are the same as without: ${engine}`, async () => {
    await using bench = await ledgerBench(engine);
    const { database } = bench;
    await database.batch([
      ...tablesIn(
        database,
        "create table marks (name text not null, n integer not null, primary key (name, n)) strict",
      ),
      { sql: "create index marks_by_n on marks (n)" },
      { sql: "insert into marks values ('a', 1), ('a', 2), ('b', 2)" },
    ]);
    const names = async (from: string) =>
      (await database.all(`select name, n from ${from} order by n, name`)).length;
    assertEquals(await names(byIndex("marks", "marks_by_n")), 3);
    assertEquals(await names(`${wholeTable("marks")} where ${withoutIndex("n")} = 2`), 2);
    await database.batch([{
      sql:
        `delete from marks where ${ROW} in (select ${ROW} from marks order by n desc, name limit 1)`,
    }]);
    assertEquals(await database.all("select name, n from marks order by n"), [
      { name: "a", n: 1 },
      { name: "b", n: 2 },
    ]);
  });
}

Deno.test("each argument is written once, in its place: it may be one of a statement, which are counted", () => {
  for (const spelling of [SQLITE, POSTGRES]) {
    for (
      const [name, write] of Object.entries(spelling) as [string, (...args: string[]) => string][]
    ) {
      const args = Array.from({ length: Math.max(write.length, 3) }, (_, at) => `(given ${at})`);
      if (name === "paddedHex") args[1] = "8"; // a number of the program
      const places = [...write(...args).matchAll(/\(given (\d)\)/g)].map(([, at]) => Number(at));
      const inOrder = [...new Set(places)].toSorted();
      assertEquals([name, places], [name, inOrder]);
    }
  }
});

/** Engines write JSON with spaces or without. */
function withoutSpaces(value: Value | undefined): Value | undefined {
  return /^[[{]/.test(String(value)) ? JSON.stringify(JSON.parse(String(value))) : value;
}

for (const engine of possible(["file", "postgres"])) {
  Deno.test(`a text is found by its parts in any case of ASCII, whatever signs of patterns are in it: ${engine}`, async () => {
    await using bench = await ledgerBench(engine);
    const signs = fc.string({ unit: fc.constantFrom(..."aBz*?[]^-!%_\\ é"), maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(signs, signs, signs, async (before, part, after) => {
        const text = `${before}${part}${after}`;
        const found = `select ${isLike("?", "?")} as is_found`;
        const other = part.replace(
          /[a-z]/gi,
          (one) => one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase(),
        );
        for (const sought of [part, other]) {
          assertEquals(
            (await bench.database.one(found, [text, containing(sought)]))?.is_found,
            1,
            `${text}: ${sought}`,
          );
        }
        assertEquals(
          (await bench.database.one(found, [text, containing(`${text}x`)]))?.is_found,
          0,
        );
      }),
      { numRuns: sized(100, 1_000) },
    );
  });

  Deno.test(`a sum beyond 64 bits is none: ${engine}`, async () => {
    await using bench = await ledgerBench(engine);
    const largest = "select 9223372036854775807 as n union all select 1";
    const sum = () => bench.database.all(`select ${sumOf("n")} from (${largest}) as given`);
    await assertRejects(sum, DatabaseError);
  });
}
