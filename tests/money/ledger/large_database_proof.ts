import { writeLargeDatabase } from "../../../bench/large_database.ts";
import { openDatabase } from "../../../src/ground/database/mod.ts";
import { audit, RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test("the books of the database that benchmarks read are closed", async () => {
  await using dir = await tempDir();
  const { requests, nowMs } = await writeLargeDatabase(dir.path, 20_000);
  const database = await openDatabase({
    file: `${dir.path}/sluice.db`,
    durability: "normal",
    rules: RULES,
    now: () => nowMs,
  });
  assertEquals((await audit(database)).mismatches, []);
  const { n } = (await database.one("select count(*) as n from usage_records"))!;
  assert(Math.abs(Number(n) - requests) < 500, `${n} records`);
  await database.close();
});
