/** What a gateway does when another server has taken the place of the one that had acknowledged its writes. */

import {
  DatabaseError,
  type GroupWrite,
  ServerDatabase,
} from "../../../src/ground/database/mod.ts";
import type { Row, Statement } from "../../../src/ground/database/mod.ts";
import { postgresEngine } from "../../../src/ground/database/postgres/engine.ts";
import { RecentWrites } from "../../../src/ground/database/server/recent_writes.ts";
import { otherTimeline, type Transport } from "../../../src/ground/database/server/transport.ts";
import { elementsOf, jsonArrayOfRows, jsonObject } from "../../../src/ground/sql/mod.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../assert.ts";
import { whyNoPostgres } from "../../fake/postgres.ts";
import { PostgresPair } from "../../fake/postgres_pair.ts";
import { tempDir } from "../../fake/temp.ts";
import { ADD } from "../../fake/things.ts";

/** {@linkcode ADD}, of which can be asked what is there; what is added once more is a hundred more. */
const REMEMBERED: GroupWrite<{ id: string; n: number }, undefined> = {
  ...ADD,
  outcomes: `select ${jsonArrayOfRows(jsonObject("id as id"))}
    from ${elementsOf("?1")} join things on things.id = value`,
  late: (item) => ({ ...item, n: Number(item.n) + 100 }),
};

/** A server that can lose what it has, and be another one. */
class Server implements Transport {
  readonly place = "fake";
  readonly dialect = "postgres";
  readonly things = new Map<string, number>();
  /** What was committed, in its order. */
  readonly committed: string[] = [];
  #isOther = false;
  #isAway = false;

  /** Is away, and comes back as another one that lacks some. */
  failOver(...lost: string[]): void {
    for (const id of lost) this.things.delete(id);
    this.committed.length = 0;
    this.#isOther = true;
  }

  /** Fails from the next answer on. */
  goAway(isAway: boolean): void {
    this.#isAway = isAway;
  }

  read(sql: string, [arg]: readonly unknown[]): Promise<Row[]> {
    return this.#asked(() => {
      if (sql.includes("database_identity")) return [{ id: "db" }];
      if (sql !== REMEMBERED.outcomes) return [];
      const known = (JSON.parse(String(arg)) as string[]).filter((id) => this.things.has(id));
      return [{ text: JSON.stringify(known.map((id) => ({ id }))) }];
    });
  }

  commit(statements: readonly Statement[]): Promise<Row[][]> {
    return this.#asked(() =>
      statements.map(({ sql, args = [] }) => {
        if (sql === REMEMBERED.outcomes) return [];
        if (sql !== REMEMBERED.statements[0]) this.committed.push(sql);
        else {
          for (const [id, n] of JSON.parse(String(args[0])) as [string, number][]) {
            if (this.things.has(id)) continue;
            this.things.set(id, n);
            this.committed.push(`${id} ${n}`);
          }
        }
        return [];
      })
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #asked<T>(answer: () => T): Promise<T> {
    await Promise.resolve();
    if (this.#isAway) throw new DatabaseError("SLUICE_SERVER", "away");
    if (!this.#isOther) return answer();
    this.#isOther = false;
    throw otherTimeline(false);
  }
}

async function opened(stack: AsyncDisposableStack, database: ServerDatabase) {
  const dir = stack.use(await tempDir());
  stack.defer(() => database.close());
  const told: unknown[] = [];
  await database.keepOutbox({
    path: `${dir.path}/gateway.server`,
    gatewayId: "gw",
    writes: [REMEMBERED],
    onFault: (fault) => told.push(fault),
    onRefused: (item) => told.push(item),
    onLost: (count) => told.push(count),
  });
  return told;
}

Deno.test("what another server lacks is written once more, marked, before anything else is; the rest is left alone", async () => {
  await using stack = new AsyncDisposableStack();
  const server = new Server();
  const database = new ServerDatabase(server, { durable: false });
  const told = await opened(stack, database);
  await Promise.all(
    ["a", "b", "c"].map((id, n) => database.writeBehind!(REMEMBERED, { id, n })),
  );
  await database.write(REMEMBERED, { id: "d", n: 3 });

  server.failOver("b", "d");
  await database.batch([{ sql: "return a loan" }]);
  assertEquals(server.committed, ["b 101", "d 103", "return a loan"]);
  assertEquals(told, [2]);

  // it may be lost again, by the next one; and a question that only reads has it written as well
  server.failOver("a", "b");
  await database.all("select 1");
  await database.batch([{ sql: "return a loan" }]);
  assertEquals(server.committed, ["a 100", "b 201", "return a loan"]);
  assertEquals(told, [2, 2]);

  server.failOver();
  await database.batch([{ sql: "return a loan" }]);
  assertEquals([server.committed, told, database.outbox?.kept], [["return a loan"], [2, 2], 0]);
});

Deno.test("what was kept while there was no server comes first, and is remembered as well", async () => {
  await using stack = new AsyncDisposableStack();
  const server = new Server();
  const database = new ServerDatabase(server, { durable: false });
  const told = await opened(stack, database);
  await database.writeBehind!(REMEMBERED, { id: "a", n: 1 });
  server.goAway(true);
  await assertRejects(() => database.all("select 1"), DatabaseError, "away");
  await database.writeBehind!(REMEMBERED, { id: "kept", n: 2 });
  server.goAway(false);
  server.failOver("a");
  await database.batch([{ sql: "after" }]);
  assertEquals(server.committed, ["kept 2", "a 101", "after"]);
  server.failOver("kept");
  await database.batch([{ sql: "after" }]);
  assertEquals([server.committed, told], [["kept 102", "after"], [1, 1]]);
  assertEquals([...server.things], [["a", 101], ["kept", 102]]);
});

Deno.test("what is remembered is bounded by its age and its size", () => {
  let tick = 0;
  const recent = new RecentWrites([REMEMBERED], { keepMs: 10, maxChars: 20, now: () => tick });
  const add = (items: string) => recent.add({ write: REMEMBERED, items, count: 1 });
  const all = () => recent.all.map(({ items }) => items);
  add("a");
  tick = 9;
  add("b");
  for (tick of [10, 19]) {
    recent.forget();
    add(`${tick}`);
  }
  assertEquals(all(), ["a", "b", "10", "19"], "not older than twice that time");
  for (tick of [20, 30]) recent.forget();
  assertEquals(all(), []);

  for (let at = 0; at < 100; at++) {
    add(`${at}`.padStart(4, "0"));
    const chars = all().join("").length;
    assert(chars <= 24, `${chars}`);
    assert(at < 3 || chars >= 12, `${chars}`);
  }
  assertEquals(all().at(-1), "0099");
  recent.add({ write: { ...ADD, name: "another" }, items: "x", count: 1 });
  assertEquals(all().at(-1), "0099", "only what can be late");
});

const why = await whyNoPostgres();
Deno.test({
  name: `a standby that is promoted is taken for another server, by a role without privileges${
    why === undefined ? "" : ` (skipped: ${why})`
  }`,
  ignore: why !== undefined,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const pair = stack.use(await PostgresPair.start({ isSynchronous: false }));
    const owner = await postgresEngine(pair.url, { durability: "full" }).open();
    await owner.batch([
      { sql: "create role gateway login" },
      { sql: "create table names (name text primary key)" },
      { sql: "insert into names values ('replicated'), ('lost'), ('after')" },
      { sql: "create table things (id text primary key references names, n bigint)" },
      { sql: "create table database_identity (id text)" },
      { sql: "insert into database_identity values ('db')" },
      { sql: "grant all on all tables in schema public to gateway" },
    ]);
    await owner.close();
    const url = pair.url.replace("postgres@", "gateway@");
    const database = await postgresEngine(url, { durability: "full" }).open();
    const told = await opened(stack, database as ServerDatabase);
    await database.writeBehind!(REMEMBERED, { id: "replicated", n: 1 });
    await pair.failOver({
      isBehind: true,
      whileBehind: async () => {
        await database.writeBehind!(REMEMBERED, { id: "lost", n: 2 });
        // as of an account that was made in the same moments
        await database.batch([{ sql: "insert into names values ('unknown')" }]);
        await database.writeBehind!(REMEMBERED, { id: "unknown", n: 2 });
        assertEquals(database.outbox?.kept, 0);
      },
    });
    await database.writeBehind!(REMEMBERED, { id: "after", n: 3 });
    await database.flush!({ durable: true });
    assertEquals(
      (await database.all("select id, n from things order by n")).map((row) => ({ ...row })),
      [
        { id: "replicated", n: 1 },
        { id: "after", n: 3 },
        { id: "lost", n: 102 },
      ],
    );
    const [count, refused] = told as [number, { item: unknown; error: string }];
    assertEquals([count, refused.item], [2, { id: "unknown", n: 102 }]);
    assertMatch(refused.error, /foreign key/);
  },
});
