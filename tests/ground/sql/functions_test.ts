/** What the functions promise that engines spell differently, by what each engine makes of them. */

import fc from "fast-check";
import { assert, assertEquals } from "../../assert.ts";
import type { Value } from "../../../src/ground/database/mod.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { sized } from "../../tier.ts";
import {
  byIndex,
  CLOCK_MS,
  containing,
  elementsOf,
  greatest,
  iif,
  integerAt,
  integersOf,
  isLike,
  isSame,
  isSameButForCase,
  isWhole,
  jsonArray,
  jsonArrayOfRows,
  jsonObject,
  jsonOf,
  lastCharacter,
  least,
  membersOf,
  paddedHex,
  positionIn,
  randomBelow,
  randomHex,
  ROW,
  textAt,
  textsOf,
  wholeTable,
  withoutIndex,
} from "../../../src/ground/sql/mod.ts";

/** Expressions with what they are. */
const VALUES: readonly (readonly [sql: string, value: Value])[] = [
  [least("3", "1", "2"), 1],
  [greatest("1", "3"), 3],
  [least("1", "null"), null],
  [greatest("null", "1"), null],
  [least("'b'", "'a'"), "a"],
  [iif("1 = 1", "'yes'", "'no'"), "yes"],
  [iif("1 = null", "1", "2"), 2],
  [positionIn("'a:b:c'", "':'"), 2],
  [positionIn("'abc'", "':'"), 0],
  [lastCharacter("'ab*'"), "*"],
  [paddedHex("255", 12), "0000000000ff"],
  [`count(*) filter (where ${isSameButForCase("'Ab'", "'aB'")})`, 1],
  [`count(*) filter (where ${isSameButForCase("'a'", "'b'")})`, 0],
  [`count(*) filter (where ${isSame("'Ab'", "'aB'")})`, 0],
  [`count(*) filter (where ${isWhole("9007199254740991 * 2")})`, 1],
  [`count(*) filter (where ${isWhole("9007199254740991 * 9007199254740991")})`, 0],
  [
    `(select count(*) from (select 'b' as name) as given where name in ${textsOf(`'["a","b"]'`)})`,
    1,
  ],
  [`(select count(*) from ${elementsOf("null")})`, 0],
  [`(select sum(value) from ${integersOf("'[1,2]'")})`, 3],
  [`(select days.value from ${integersOf("'[7]'", "days")})`, 7],
  [`(select key || value from ${membersOf(`'{"a":"b"}'`)})`, "ab"],
  [`(select ${textAt("one.value", "id")} from ${elementsOf(`'[{"id":"x"}]'`, "one")})`, "x"],
  [`(select ${textAt("value", 1)} from ${elementsOf(`'[["a","b"]]'`)})`, "b"],
  [`(select ${integerAt("value", "n")} + 1 from ${elementsOf(`'[{"n":4}]'`)})`, 5],
  [`(select ${textAt("value", "none")} from ${elementsOf("'[{}]'")})`, null],
  [`(select count(*) from ${elementsOf(textAt(`'{"of":["a","b"]}'`, "of"))})`, 2],
  [
    jsonObject({ a: "1", b: jsonOf("'[2]'"), c: jsonArray("'x'", "null") }),
    `{"a":1,"b":[2],"c":["x",null]}`,
  ],
  [
    `(select ${jsonObject("n as number, name")} from (select 1 as n, 'x' as name) as given)`,
    `{"number":1,"name":"x"}`,
  ],
  [`(select ${jsonArrayOfRows("value")} from ${elementsOf(`'["a"]'`)} where value = 'b')`, "[]"],
  ["1 is distinct from null and not null is distinct from null", 1],
  [`(select string_agg(value, ',') from ${elementsOf(`'["a","b"]'`)})`, "a,b"],
];

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
