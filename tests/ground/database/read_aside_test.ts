import { DatabaseError, EmbeddedDatabase, ReadAside } from "../../../src/ground/database/mod.ts";
import { TimeSlices } from "../../../src/ground/fair_share/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { DEADLINE_MS, inTime, tempDir } from "../../fake/temp.ts";

const LONG = `with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000)
  select count(*) as n from n`;

Deno.test("reads aside hold up no write, see what was written, and write nothing", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/sluice.db`;
  const database = await EmbeddedDatabase.open(path, { durability: "normal" });
  await database.batch([{ sql: "create table t (a integer) strict" }]);
  let readers = 0;
  let isRead = false;
  const written = Promise.withResolvers<void>();
  const aside = new ReadAside(database, async () => {
    readers++;
    const reader = await EmbeddedDatabase.open(path, { durability: "normal", readOnly: true });
    const one = reader.one.bind(reader);
    reader.one = async (sql, args) => {
      const row = await one(sql, args);
      if (sql === LONG) {
        isRead = true;
        // the report is over once all writes are: a write that waited for it would never end
        await written.promise;
      }
      return row;
    };
    return reader;
  }, new TimeSlices());
  for (let at = 1; at <= 50; at++) {
    await aside.batch([{ sql: "insert into t (a) values (?)", args: [at] }]);
    assertEquals((await aside.one("select count(*) as n from t"))?.n, at);
  }
  assertEquals(readers, 1);
  await assertRejects(() => aside.all("insert into t (a) values (0)"), DatabaseError, "readonly");
  const report = aside.readFor("ada", () => aside.one(LONG));
  let beside = 0;
  for (let at = 0; at < 20; at++) {
    const write = aside.batch([{ sql: "insert into t (a) values (0)" }]);
    assertEquals((await inTime(write, DEADLINE_MS, "it waits for the report")).length, 1);
    if (!isRead) beside++;
  }
  assert(beside > 5, `${beside} writes while the thread of reads was at work`);
  written.resolve();
  assertEquals((await report)?.n, 3_000_000);
  await aside.close();
  await database.close();
});

Deno.test("a database whose reads cannot be opened is read itself", async () => {
  await using dir = await tempDir();
  const database = await EmbeddedDatabase.open(`${dir.path}/a.db`, { durability: "normal" });
  const aside = new ReadAside(
    database,
    () => Promise.reject(new DatabaseError("SQLITE_CANTOPEN", "no")),
    new TimeSlices(),
  );
  assertEquals((await aside.one("select 1 as n"))?.n, 1);
  await aside.close();
  await database.close();
});
