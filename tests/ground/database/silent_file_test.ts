/** A file that does not answer: who waits for it, and who is told. */

import DatabaseConstructor from "libsql";
import {
  DatabaseError,
  EmbeddedDatabase,
  type FileState,
} from "../../../src/ground/database/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { ADD, THINGS } from "../../fake/things.ts";

interface Connection {
  exec(sql: string): void;
  close(): void;
}

Deno.test("a file that does not answer is away after two seconds, and those who wait are told after five", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/a.db`;
  let tick = 0;
  const database = await EmbeddedDatabase.open(path, {
    durability: "full",
    monotonicNow: () => tick,
  });
  await database.batch([
    { sql: THINGS },
    { sql: "create table database_identity (only_row integer primary key, id text)" },
    { sql: "insert into database_identity values (1, 'the-database')" },
  ]);
  const states: FileState[] = [];
  await database.keepOutbox({
    gatewayId: "gw",
    onFault: () => {},
    onRefused: () => {},
    onState: (state) => states.push(state),
  });
  const isDetached = () => database.outbox!.isDetached;
  assertEquals(isDetached(), false);

  // somebody else writes and does not come to an end: the file's thread waits for that, as for a disk
  const other = new DatabaseConstructor(path) as unknown as Connection;
  other.exec("begin immediate");
  const written = database.batch([{ sql: "insert into things values ('1', 1)" }]);
  tick += 2_000;
  assertEquals(isDetached(), false);
  tick += 1;
  assert(isDetached());
  await until(() => states.length > 0, { what: "the state to be told" });
  assertEquals(states[0], { isUsable: false, code: "SLUICE_SILENT", message: "no answer" });
  await database.writeBehind!(ADD, { id: "2", n: 2 }); // in the outbox
  assertEquals(database.outbox!.kept, 1);
  const read = database.all("select 1");
  tick += 3_000;
  const { kind } = await assertRejects(() => read, DatabaseError, "no answer");
  assertEquals(kind, "unusable");

  other.exec("rollback");
  other.close();
  await written;
  assertEquals([isDetached(), database.outbox!.kept], [false, 0]);
  await until(() => states.at(-1)!.isUsable, { what: "the end of it to be told" });
  assertEquals((await database.one("select sum(n) as n from things"))?.n, 3);
  await database.close();
});
