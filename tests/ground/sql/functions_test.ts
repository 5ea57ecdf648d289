/** What the functions promise that engines spell differently, by what each engine makes of them. */

import fc from "fast-check";
import { assert, assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";
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
  wholeTable,
  withoutIndex,
} from "../../../src/ground/sql/mod.ts";
import { VALUES } from "./values.ts";

for (const engine of ["file", "server"] as const) {
  Deno.test(`functions that engines spell differently are what they promise: ${engine}`, async () => {
    await using bench = await ledgerBench(engine);
    const { database } = bench;
    for (const [sql, value] of VALUES) {
      assertEquals([sql, (await database.one(`select ${sql} as value`))?.value], [sql, value]);
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
      "create table marks (name text not null, n integer not null, primary key (name, n)) strict",
      "create index marks_by_n on marks (n)",
      "insert into marks values ('a', 1), ('a', 2), ('b', 2)",
    ].map((sql) => ({ sql })));
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

Deno.test("a text is found by its parts in any case of ASCII, whatever signs of patterns are in it", async () => {
  await using bench = await ledgerBench("file");
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
      assertEquals((await bench.database.one(found, [text, containing(`${text}x`)]))?.is_found, 0);
    }),
    { numRuns: sized(100, 1_000) },
  );
});
