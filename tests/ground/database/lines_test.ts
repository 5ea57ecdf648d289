/** Several threads over one embedded file. */

import { EmbeddedDatabase, type GroupWrite } from "../../../src/ground/database/mod.ts";
import { type Numbered, PassedOn } from "../../../src/ground/database/file/embedded_protocol.ts";
import { assertEquals, assertRejects } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";
import { ADD as WRITE_BEHIND, THINGS } from "../../fake/things.ts";

const ADD: GroupWrite<{ id: string; line: number }, void> = {
  name: "add",
  key: "id",
  statements: [
    "insert into things (id, line) select value ->> 'id', value ->> 'line' from json_each(?)",
  ],
};

Deno.test("threads write and read one file over lines of their own", async () => {
  await using dir = await tempDir();
  const database = await EmbeddedDatabase.open(`${dir.path}/sluice.db`, { durability: "full" });
  await database.batch([{ sql: "create table things (id text primary key, line integer)" }]);
  const lines = [1, 2, 3].map(() => EmbeddedDatabase.over(database.line!(() => {})));
  await Promise.all(lines.flatMap((line, at) =>
    Array.from(
      { length: 200 },
      (_, number) => line.write(ADD, { id: `${at} ${number}`, line: at }),
    )
  ));
  const counted = "select line, count(*) as things from things group by line order by line";
  const all = [0, 1, 2].map((line) => ({ line, things: 200 }));
  assertEquals(await database.all(counted), all);
  assertEquals(await lines[1]!.all(counted), all);

  // a fault concerns the thread that has it
  await assertRejects(() => lines[0]!.write(ADD, { id: "0 0", line: 9 }), Error, "UNIQUE");
  await lines[2]!.write(ADD, { id: "later", line: 2 });

  // a line that is closed leaves the file open for the others
  await lines[0]!.close();
  await assertRejects(() => lines[0]!.all(counted), Error, "closed");
  assertEquals((await lines[1]!.one("select count(*) as n from things"))?.n, 601);
  await Promise.all(lines.map((line) => line.close()));
  await database.close();
});

Deno.test("what one line has passed on is found by another's questions, whichever of both arrives first", async () => {
  await using dir = await tempDir();
  const database = await EmbeddedDatabase.open(`${dir.path}/sluice.db`, { durability: "normal" });
  await database.batch([{ sql: THINGS }]);
  const things = async () => (await database.one("select count(*) as n from things"))?.n;
  const { port, passedOn } = database.line!(() => {});
  const line = new PassedOn(passedOn);
  const { name: write, statements } = WRITE_BEHIND;
  for (let n = 1; n <= 20; n++) {
    line.add(); // on its way
    const asked = [things(), things()];
    const items = JSON.stringify([[`thing ${n}`, 0]]);
    const ask = { type: "behind", write, statements, items, count: 1 } as const;
    port.postMessage({ id: -1, ask, after: 0 } satisfies Numbered);
    assertEquals(await Promise.all(asked), [n, n]);
  }
  line.add(); // and never arrives: its thread has died
  assertEquals([await things(), await things()], [20, 20]);
  port.close();
  await database.close();
});

Deno.test("the ends of lines are told when the database's thread dies", async () => {
  await using dir = await tempDir();
  const database = await EmbeddedDatabase.open(`${dir.path}/sluice.db`, { durability: "normal" });
  const line = EmbeddedDatabase.over(database.line!(() => {}));
  await line.one("select 1 as one");
  line.fail("it died");
  await assertRejects(() => line.one("select 1 as one"), Error, "closed");
  await line.close();
  await database.close();
});
