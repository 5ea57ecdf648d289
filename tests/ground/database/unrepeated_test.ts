/** A write whose answer is lost was perhaps done: only what may be done twice is sent again. */

import { DatabaseError, type GroupWrite } from "../../../src/ground/database/mod.ts";
import { ServerDatabase } from "../../../src/ground/database/server/server.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { sqldServer } from "../../fake/sqld.ts";
import { tempDir } from "../../fake/temp.ts";

/** Passes connections on to a server of this machine; can lose an answer with its connection. */
function losingWay(port: number) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const running: Promise<void>[] = [];
  const way = { losing: false, lost: 0, connections: 0 };
  const close = (connection: Deno.TcpConn) => {
    if (!open.delete(connection)) return;
    connection.close();
  };
  const pass = async (from: Deno.TcpConn, to: Deno.TcpConn, isAnswer: boolean) => {
    const buffer = new Uint8Array(65_536);
    try {
      for (let size; (size = await from.read(buffer)) !== null;) {
        if (isAnswer && way.losing) {
          way.losing = false;
          way.lost++;
          break; // the write is done, its answer never arrives
        }
        for (let bytes = buffer.slice(0, size); bytes.length > 0;) {
          bytes = bytes.subarray(await to.write(bytes));
        }
      }
    } catch {
      // the other end has closed it
    } finally {
      close(from);
      close(to);
    }
  };
  running.push((async () => {
    for await (const near of listener) {
      way.connections++;
      const far = await Deno.connect({ hostname: "127.0.0.1", port });
      open.add(near).add(far);
      running.push(pass(near, far, false), pass(far, near, true));
    }
  })());
  return Object.assign(way, {
    url: `http://localhost:${(listener.addr as Deno.NetAddr).port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const one of open) close(one);
      await Promise.all(running);
    },
  });
}

const write = (repeatable: boolean): GroupWrite<{ mark: string }> => ({
  name: "marks",
  key: "mark",
  repeatable,
  statements: ["insert into marks (mark) select value ->> 'mark' from json_each(?1)"],
});

const INSERT = [{ sql: "insert into marks (mark) values ('m')" }];

const WAYS: Readonly<Record<string, (database: ServerDatabase) => Promise<unknown>>> = {
  "a batch": (database) => database.batch(INSERT),
  "a group write that may not be repeated": (database) =>
    database.write(write(false), { mark: "m" }),
};

for (const [what, send] of Object.entries(WAYS)) {
  Deno.test(`${what} whose connection dies before the answer is sent once, and its outcome is unknown`, async () => {
    await using dir = await tempDir();
    await using server = await sqldServer(dir.path, { durable: false });
    await using way = losingWay(server.port);
    const options = { token: undefined, durability: "normal" } as const;
    const database = await ServerDatabase.connect({ ...options, url: way.url });
    try {
      await database.batch([{ sql: "create table marks (mark text not null) strict" }]);
      await database.all("select 1"); // the connection is pooled
      for (let times = 1; times <= 3; times++) {
        way.losing = true;
        const error = await assertRejects(() => send(database), DatabaseError);
        assert(error.outcomeUnknown, error.message);
        const rows = await database.all("select mark from marks");
        assertEquals([way.lost, rows.length], [times, times]);
      }
    } finally {
      await database.close();
    }
  });
}

Deno.test("a group write that may be repeated is sent again when its answer is lost", async () => {
  await using dir = await tempDir();
  await using server = await sqldServer(dir.path, { durable: false });
  await using way = losingWay(server.port);
  const options = { token: undefined, durability: "normal" } as const;
  const database = await ServerDatabase.connect({ ...options, url: way.url });
  try {
    await database.batch([{ sql: "create table marks (mark text not null) strict" }]);
    way.losing = true;
    await database.write(write(true), { mark: "m" });
    assertEquals([way.lost, (await database.all("select mark from marks")).length], [1, 2]);
  } finally {
    await database.close();
  }
});
