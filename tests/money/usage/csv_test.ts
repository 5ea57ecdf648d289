import { csvLine } from "../../../src/money/usage/csv.ts";
import { assert, assertEquals } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

/** What begins a formula in a spreadsheet; the wide ones where East Asian text is usual. */
const FORMULA = /^[=+\-@＝＋－＠]/u;

Deno.test("csvLine(): no cell begins like a formula, whichever separator a spreadsheet takes", () => {
  const seed = testSeed();
  const random = new Random(seed);
  const parts = [..."=+-@＝＋－＠;,\t\r\n\"' ax1|"];
  for (let round = 0; round < sized(500, 100_000); round++) {
    const text = Array.from({ length: random.integer(0, 8) }, () => random.pick(parts)).join("");
    const line = csvLine(["first", text, 1]);
    // with commas, quotes are read; a program that separates by others meets them within a cell
    const [, quoted, plain] = /^first,(?:"((?:[^"]|"")*)"|([^]*?)),1\r\n$/.exec(line)!;
    const cell = quoted?.replaceAll('""', '"') ?? plain!;
    for (const piece of [cell, ...cell.split(";"), ...cell.split(/[\t\r\n]/)]) {
      const isNumber = /^-1+$/.test(cell);
      assert(isNumber || !FORMULA.test(piece), `seed ${seed}: ${JSON.stringify([text, line])}`);
    }
    assertEquals(
      cell.replaceAll("'", ""),
      text.replaceAll("'", ""),
      `seed ${seed}: nothing but apostrophes is added`,
    );
  }
  assertEquals(csvLine(["a;b", "a-b", -1, "x=1"]), "a;b,a-b,-1,x=1\r\n");
  assertEquals(csvLine(["-2.50", "-2.50+1", "-2;-2"]), "-2.50,'-2.50+1,'-2;'-2\r\n");
});
