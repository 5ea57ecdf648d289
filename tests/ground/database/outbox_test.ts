/** What is written behind: frames of a file, the two files of an outbox, and what the database makes of them. */

import fc from "fast-check";
import {
  backUp,
  EmbeddedDatabase,
  foreignOutboxes,
  integerAt,
  type RefusedItem,
  restoreFile,
  type Statement,
} from "../../../src/ground/database/mod.ts";
import {
  hasOutbox,
  keptItems,
  outboxFiles,
  outboxPlaces,
  WriteOutbox,
} from "../../../src/ground/database/outbox.ts";
import { framesOf, OutboxFile } from "../../../src/ground/database/outbox_file.ts";
import { lockedFile } from "../../../src/ground/files/mod.ts";
import { WritesBehind } from "../../../src/ground/database/file/writes_behind.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { ADD, THINGS } from "../../fake/things.ts";
import { sized } from "../../tier.ts";

const RUNS = sized(30, 300);
const TEXTS = fc.array(fc.string({ maxLength: 40, unit: "binary" }), { maxLength: 8 });

Deno.test("frames: cut or spoilt at any byte, those before it are read, and nothing else", async () => {
  await using dir = await tempDir();
  await fc.assert(
    fc.asyncProperty(TEXTS, fc.option(TEXTS), fc.nat(), fc.integer({ min: 1, max: 255 }), async (
      first,
      other,
      at,
      flip,
    ) => {
      // some that end where those before them did
      const second = other ?? first.slice(0, at % (first.length + 1));
      const file = await OutboxFile.create(`${dir.path}/frames`, 4_096);
      const { path } = file;
      const ends: number[] = [];
      for (const text of first) await file.appendFrame(`1${text}`, { durable: false });
      assertEquals(
        framesOf(await Deno.readFile(path)),
        first.map((text) => `1${wellFormed(text)}`),
      );
      await file.clear();
      assertEquals(framesOf(await Deno.readFile(path)), []);
      for (const text of second) {
        await file.appendFrame(`2${text}`, { durable: true });
        ends.push(file.bytes);
      }
      const bytes = await Deno.readFile(path);
      await file.remove();
      const texts = second.map((text) => `2${wellFormed(text)}`);
      assertEquals(framesOf(bytes), texts);
      const place = at % ((ends.at(-1) ?? 0) + 16);
      const whole = texts.slice(0, ends.filter((end) => end <= place).length);
      assertEquals(framesOf(bytes.slice(0, place)), whole);
      bytes[place]! ^= flip;
      assertEquals(framesOf(bytes), whole);
    }),
    { numRuns: RUNS, examples: [[["a", "b"], null, 1, 1]] },
  );
});

/** As a file has it, which knows no half surrogates. */
function wellFormed(text: string): string {
  return text.toWellFormed();
}

Deno.test("a file of an outbox gets another name where somebody was quicker to lock it", async () => {
  await using dir = await tempDir();
  const beginning = `${dir.path}/a.db-outbox-gw`;
  using quicker = await lockedFile(`${beginning}-1`);
  assert(quicker !== undefined);
  let count = 0;
  const file = await OutboxFile.create(beginning, 0, () => String(++count));
  assertEquals(file.path, `${beginning}-2`);
  await file.remove();
});

const items = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => [from + at]);

Deno.test("two files take turns: what the database has not taken is always in one of them", async () => {
  await using dir = await tempDir();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ kilobytes: fc.integer({ min: 1, max: 300 }), isAway: fc.boolean() }), {
        minLength: 1,
        maxLength: 20,
      }),
      async (steps) => {
        let isAway = false;
        let sent = 0;
        let taken = 0;
        const outbox = new WriteOutbox({
          path: `${dir.path}/a.db-outbox-gw`,
          database: "id",
          durable: false,
          taken: () => {
            if (isAway) return Promise.reject(new Error("away"));
            taken = sent;
            return Promise.resolve();
          },
        });
        for (const [at, step] of steps.entries()) {
          isAway = step.isAway;
          sent = at + 1;
          await outbox.keepItems({
            write: "w",
            columns: ["n", "filler"],
            items: JSON.stringify([[at, "x".repeat(step.kilobytes * 1_000)]]),
          });
          const kept = new Set<number>();
          for (const path of await outboxFiles(`${dir.path}/a.db`)) {
            for (const { items, columns } of await keptItems(path, "id") ?? []) {
              assertEquals(columns, ["n", "filler"]);
              for (const [n] of JSON.parse(items)) kept.add(n);
            }
            assertEquals((await keptItems(path, "another") ?? []).length, 0);
          }
          for (let n = taken; n < sent; n++) assert(kept.has(n), `${n} of ${sent} is not kept`);
        }
        await outbox.close();
        assertEquals((await outboxFiles(`${dir.path}/a.db`)).length, isAway ? 2 : 0);
        for (const path of await outboxFiles(`${dir.path}/a.db`)) await Deno.remove(path);
      },
    ),
    { numRuns: sized(15, 150) },
  );
});

/** A database with a table that refuses 13, as a database in use has it. */
async function opened(path: string, outboxDirectory?: string): Promise<EmbeddedDatabase> {
  const database = await EmbeddedDatabase.open(path, { durability: "full", outboxDirectory });
  await database.batch([
    {
      sql: THINGS,
    },
    { sql: "create table if not exists database_identity (only_row integer primary key, id text)" },
    { sql: "insert or ignore into database_identity values (1, 'the-database')" },
  ]);
  return database;
}

interface Seen {
  readonly states: unknown[];
  readonly refused: RefusedItem[];
}

async function keeping(database: EmbeddedDatabase, gatewayId = "gw"): Promise<Seen> {
  const seen: Seen = { states: [], refused: [] };
  await database.keepOutbox({
    gatewayId,
    onFault: (fault) => seen.states.push(fault),
    onRefused: (item) => seen.refused.push(item),
  });
  return seen;
}

const COUNT = "select count(*) as n from things";

Deno.test("what is written behind is found by every read and batch that follows, over any line", async () => {
  await using dir = await tempDir();
  const database = await opened(`${dir.path}/a.db`);
  await keeping(database);
  const line = EmbeddedDatabase.over(database.line!(() => {}));
  await keeping(line, "gw.2");
  for (let round = 1; round <= 20; round++) {
    await Promise.all([
      database.writeBehind!(ADD, { id: `a${round}`, n: 1 }),
      line.writeBehind!(ADD, { id: `b${round}`, n: 1 }),
    ]);
    const reader = round % 2 === 0 ? database : line;
    const [[row] = []] = round % 3 === 0
      ? await reader.batch([{ sql: COUNT }])
      : [await reader.all(COUNT)];
    assertEquals(row?.n, 2 * round);
  }
  await line.close();
  await database.close();
  assertEquals(await outboxFiles(`${dir.path}/a.db`), []);
});

Deno.test("what was written behind a moment ago is found over a line that is new", async () => {
  await using dir = await tempDir();
  const database = await opened(`${dir.path}/a.db`);
  await keeping(database);
  for (let n = 1; n <= 3; n++) {
    await database.writeBehind!(ADD, { id: `a${n}`, n: 1 });
    const line = EmbeddedDatabase.over(database.line!(() => {}));
    assertEquals(await line.all(COUNT), [{ n }]);
    await line.close();
  }
  await database.close();
});

Deno.test("what is written behind comes to the file although nothing is asked", async () => {
  await using dir = await tempDir();
  const database = await opened(`${dir.path}/a.db`);
  await keeping(database);
  const reader = await database.openReader([]);
  let expected = 0;
  // fewer than are sent at once, as many, and more
  for (const count of [1, 64, 150]) {
    const ids = Array.from({ length: count }, () => crypto.randomUUID());
    await Promise.all(ids.map((id) => database.writeBehind!(ADD, { id, n: 1 })));
    expected += count;
    await until(async () => (await reader.one(COUNT))?.n === expected, { what: `${count} items` });
  }
  await reader.close();
  await database.close();
});

Deno.test("a query sees what this thread has written behind so far, while the outbox is busy, too", async () => {
  await using dir = await tempDir();
  const database = await opened(`${dir.path}/a.db`);
  await keeping(database);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("write", "ask", "turn"), { minLength: 1, maxLength: 30 }),
      async (steps) => {
        const [{ n: before } = { n: 0 }] = await database.all(COUNT);
        const written: Promise<unknown>[] = [];
        const asked: Promise<void>[] = [];
        for (const step of steps) {
          if (step === "turn") await Promise.resolve(); // the outbox begins with what waits
          else if (step === "write") {
            written.push(database.writeBehind!(ADD, { id: crypto.randomUUID(), n: 1 }));
          } else {
            const n = Number(before) + written.length;
            asked.push(database.all(COUNT).then(([row]) => assertEquals(row?.n, n)));
          }
        }
        await Promise.all([...asked, ...written]);
      },
    ),
    { numRuns: RUNS },
  );
  await database.close();
  assertEquals(await outboxFiles(`${dir.path}/a.db`), []);
});

Deno.test("a database that ended in the middle: the next to open it finds what was kept, once", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/a.db`;
  const database = await opened(path);
  await keeping(database);
  await Promise.all(
    Array.from({ length: 50 }, (_, n) => database.writeBehind!(ADD, { id: `${n}`, n: 100 + n })),
  );
  // what a kill leaves: the outbox, and of the database what was committed
  const left = `${dir.path}/left`;
  await Deno.mkdir(left);
  for await (const { name } of Deno.readDir(dir.path)) {
    if (name.startsWith("a.db-outbox-")) {
      await Deno.copyFile(`${dir.path}/${name}`, `${left}/${name}`);
    }
  }
  await database.close();
  await (await opened(`${left}/a.db`)).close();
  const changed = {
    ...ADD,
    columns: ["n", "id"] as const,
    statements: [
      `insert into things (n, id) select value ->> 0, value ->> 1 from json_each(?1) where true
      on conflict (id) do nothing`,
    ],
  };
  // a program whose write has its members in another order
  for (let times = 0; times < 2; times++) {
    const next = await opened(`${left}/a.db`);
    await next.takeOutboxes([changed]);
    assertEquals({ ...await next.one("select count(*) as n, sum(n) as sum from things") }, {
      n: 50,
      sum: 50 * 100 + 49 * 25,
    });
    await next.close();
    assertEquals(await outboxFiles(`${left}/a.db`), []);
  }
});

Deno.test("an outbox of another database is left alone, and one that nobody knows the write of is not lost", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/a.db`;
  const database = await opened(path);
  const keep = async (id: string) => {
    const outbox = new WriteOutbox({
      path: `${path}-outbox-${id}`,
      database: id,
      durable: false,
      taken: () => Promise.reject(new Error("never")),
    });
    await outbox.keepItems({
      write: "unheard",
      columns: ["n"],
      items: JSON.stringify(items(0, 3)),
    });
    await outbox.close();
  };
  await keep("another-database");
  for (const onlyDead of [false, true]) {
    await database.takeOutboxes([ADD], { onlyDead });
    const [full, more] = await outboxFiles(path); // the other of the two has nothing in it
    assert(full?.startsWith(`${path}-outbox-another-database-`) && more === undefined);
    assertEquals(await foreignOutboxes(database, [dir.path, `${dir.path}/absent`, dir.path]), [
      full,
    ]);
  }
  await keep("the-database");
  await assertRejects(
    () => database.takeOutboxes([ADD]),
    Error,
    "no write named unheard",
  );
  const files = await outboxFiles(path);
  assert(files.some((one) => one.startsWith(`${path}-outbox-the-database-`)));
  await Deno.writeTextFile(
    `${path}-outbox-refused-1`,
    JSON.stringify({ database: "another-database", write: "add", item: {}, error: "no" }),
  );
  assertEquals((await foreignOutboxes(database, [dir.path])).map((one) => one.slice(path.length)), [
    files[0]!.slice(path.length),
    "-outbox-refused-1",
  ]);
  await database.close();
});

Deno.test("an item that the database refuses is named, and no other is lost", async () => {
  await using dir = await tempDir();
  const database = await opened(`${dir.path}/a.db`);
  const seen = await keeping(database);
  await Promise.all(
    Array.from({ length: 40 }, (_, n) => database.writeBehind!(ADD, { id: `${n}`, n })),
  );
  assertEquals((await database.one(COUNT))?.n, 39);
  await until(() => seen.refused.length > 0, { what: "the item that was refused" });
  assertEquals(seen.refused.map(({ item }) => ({ ...item })), [{ id: "13", n: 13 }]);
  await database.close();
  // what it was kept in is gone, and it is not
  const next = await opened(`${dir.path}/a.db`);
  assertEquals(await next.refused(), seen.refused);
  await next.close();
});

Deno.test("an item of another type than its column is refused, and holds up no other", async () => {
  await using dir = await tempDir();
  const database = await opened(`${dir.path}/a.db`);
  const seen = await keeping(database);
  await Promise.all([
    database.writeBehind!(ADD, { id: "1", n: "many" as unknown as number }),
    database.writeBehind!(ADD, { id: "2", n: 2 }),
  ]);
  await until(() => seen.refused.length > 0, { what: "the item that was refused" });
  assertEquals(seen.refused.map(({ item }) => ({ ...item })), [{ id: "1", n: "many" }]);
  assertEquals((await database.one(COUNT))?.n, 1);
  await database.close();
});

Deno.test("an outbox is not given up while what was refused cannot be kept elsewhere, and keeps nothing more", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/a.db`;
  const database = await opened(path);
  const seen = await keeping(database);
  for (let n = 0; n < 1_000; n++) await Deno.writeTextFile(`${path}-outbox-refused-${n}`, "{}");
  // of one turn, so that both are kept before the database refuses one
  await Promise.all([
    database.writeBehind!(ADD, { id: "13", n: 13 }),
    database.writeBehind!(ADD, { id: "14", n: 14 }),
  ]);
  await until(() => seen.refused.length > 0, { what: "the item that was refused" });
  await assertRejects(
    () => database.writeBehind!(ADD, { id: "15", n: 15 }),
    Error,
    "more than 1000 items",
  );
  await assertRejects(() => database.flush({ durable: true }), Error, "more than 1000 items");
  await Deno.remove(`${path}-outbox-refused-0`);
  await database.writeBehind!(ADD, { id: "16", n: 16 });
  assertEquals((await database.refused()).map(({ item }) => item.n), [13]);
  assertEquals((await database.one("select sum(n) as n from things"))?.n, 14 + 15 + 16);
  await database.close();
  assertEquals((await outboxFiles(path)).length, 1_000);
});

Deno.test("an item that is refused when outboxes are taken is kept, and taken once it is not refused any more", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/a.db`;
  const database = await opened(path);
  const outbox = new WriteOutbox({
    path: `${path}-outbox-gw`,
    database: "the-database",
    durable: false,
    taken: () => Promise.reject(new Error("it was killed")),
  });
  await outbox.keepItems({
    write: ADD.name,
    columns: ADD.columns!,
    items: JSON.stringify([["1", 1], ["13", 13]]),
  });
  await outbox.close();
  for (let times = 1; times <= 2; times++) {
    await database.takeOutboxes([ADD]);
    assertEquals((await database.one(COUNT))?.n, 1);
    assertEquals((await database.refused()).map(({ item }) => item.n), [13]);
    assertEquals((await outboxFiles(path)).length, 1);
  }
  await database.close();
  const repaired = await opened(path);
  const anyNumber = ADD.statements.map((sql) =>
    sql.replace(integerAt("value", 1), `-(${integerAt("value", 1)})`)
  );
  await repaired.takeOutboxes([{ ...ADD, statements: anyNumber }]);
  assertEquals((await repaired.one("select n from things where id = '13'"))?.n, -13);
  assertEquals(await outboxFiles(path), []);
  await repaired.close();
});

Deno.test("while nothing can be kept, or an outbox is removed while it is written, the database is waited for; afterwards it is kept again", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/a.db`;
  const database = await opened(path);
  const seen = await keeping(database);
  for (let round = 1; round <= 3; round++) {
    await database.writeBehind!(ADD, { id: `kept ${round}`, n: 1 });
    assertEquals(seen.states.length, round === 1 ? 0 : 2 * round - 2);
    const files = await outboxFiles(path);
    assertEquals(files.length, 2);
    for (const file of files) await Deno.remove(file);
    await database.writeBehind!(ADD, { id: `waited for ${round}`, n: 1 });
    assert(seen.states[2 * round - 2] instanceof Error);
    assertEquals(await outboxFiles(path), []);
    assertEquals((await database.one(COUNT))?.n, 2 * round);
  }
  await database.close();
  assertEquals(await outboxFiles(path), []);
});

Deno.test("on a full disk a command goes without what outboxes have kept, which stays", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/a.db`;
  const database = await opened(path);
  await database.all("pragma max_page_count = 1"); // as many as there are
  const outbox = new WriteOutbox({
    path: `${path}-outbox-gw`,
    database: "the-database",
    durable: false,
    taken: () => Promise.reject(new Error("it was killed")),
  });
  const items = JSON.stringify([["x".repeat(100_000), 1]]);
  await outbox.keepItems({ write: ADD.name, columns: ADD.columns!, items });
  await outbox.close();
  await database.takeOutboxes([ADD]);
  const [[row] = []] = await database.batch([{ sql: COUNT }]);
  assertEquals([row?.n, (await outboxFiles(path)).length], [0, 2]);
  await database.all("pragma max_page_count = 1000000");
  await database.takeOutboxes([ADD]);
  assertEquals([(await database.one(COUNT))?.n, await outboxFiles(path)], [1, []]);
  await database.close();
});

Deno.test("outboxes in a directory of their own: those are taken, and those beside the file that were made before", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/a.db`;
  const outboxDirectory = `${dir.path}/other-disk`;
  const before = await opened(path);
  const old = new WriteOutbox({
    path: `${path}-outbox-gw_before`,
    database: "the-database",
    durable: false,
    taken: () => Promise.reject(new Error("it was killed")),
  });
  const keep = (id: string) => ({
    write: ADD.name,
    columns: ADD.columns!,
    items: JSON.stringify([[id, 1]]),
  });
  await old.keepItems(keep("before"));
  await old.close();
  await before.close();

  const database = await opened(path, outboxDirectory);
  await database.takeOutboxes([ADD]); // there is no such directory yet
  assertEquals([(await database.one(COUNT))?.n, await outboxFiles(path)], [1, []]);
  await Deno.mkdir(outboxDirectory);
  const line = EmbeddedDatabase.over(database.line!(() => {}));
  await keeping(database);
  await keeping(line, "gw.2");
  await Promise.all([
    database.writeBehind!(ADD, { id: "1", n: 1 }),
    line.writeBehind!(ADD, { id: "2", n: 1 }),
  ]);
  const own = `${outboxDirectory}/a.db`;
  const files = await outboxFiles(own);
  assertEquals([files.length, await outboxFiles(path)], [4, []]);
  assertEquals(await hasOutbox(outboxPlaces(path, outboxDirectory), "gw.2"), true);
  assertEquals(await hasOutbox([path], "gw.2"), false);
  // what a kill leaves is taken by the next one with the same directory
  const killed = `${dir.path}/killed`;
  for (const place of [killed, `${killed}/other-disk`]) await Deno.mkdir(place);
  for (const file of files) {
    await Deno.copyFile(file, `${killed}/other-disk${file.slice(outboxDirectory.length)}`);
  }
  await line.close();
  await database.close();
  assertEquals(await outboxFiles(own), []);
  const next = await opened(`${killed}/a.db`, `${killed}/other-disk`);
  await next.takeOutboxes([ADD]);
  assertEquals((await next.one(COUNT))?.n, 2);
  assertEquals(await outboxFiles(`${killed}/other-disk/a.db`), []);
  await next.close();
});

Deno.test("opening a database removes those outboxes that nobody has locked, when they are in it", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/a.db`;
  const running = await opened(path);
  const thread = EmbeddedDatabase.over(running.line!(() => {}));
  await keeping(running);
  await keeping(thread, "gw.2");
  await running.writeBehind!(ADD, { id: "1", n: 1 });
  await thread.writeBehind!(ADD, { id: "2", n: 2 });
  const locked = await outboxFiles(path);
  assertEquals(locked.length, 4);
  // what a thread or process leaves that was killed
  const outbox = new WriteOutbox({
    path: `${path}-outbox-gw_dead`,
    database: "the-database",
    durable: false,
    taken: () => Promise.reject(new Error("it was killed")),
  });
  const items = JSON.stringify([["3", 3]]);
  await outbox.keepItems({ write: ADD.name, columns: ADD.columns!, items });
  await running.takeOutboxes([ADD], { onlyDead: true });
  assertEquals([(await running.one(COUNT))?.n, (await outboxFiles(path)).length], [2, 6]);
  await outbox.close();
  await running.takeOutboxes([ADD], { onlyDead: true });
  assertEquals([(await running.one(COUNT))?.n, await outboxFiles(path)], [3, locked]);
  const command = await opened(path);
  await command.takeOutboxes([ADD]);
  assertEquals(await outboxFiles(path), locked);
  for (const database of [command, thread, running]) await database.close();
  assertEquals(await outboxFiles(path), []);
});

/** Stands for a database file: holds what was committed, loses what was not synced with the connection, and refuses 13. */
class FragileFile {
  durable = new Set<number>();
  committed = new Set<number>();
  isAway = false;
  sizes: number[] = [];
  /** Of each number, the statement that writes it. */
  sqlOf: string[] = [];

  commit(statements: readonly Statement[]): [] {
    if (this.isAway) throw Object.assign(new Error("away"), { code: "SQLITE_IOERR" });
    const numbers = JSON.parse(String(statements[0]!.args![0])) as number[];
    assert(numbers.every((n) => this.sqlOf[n] === statements[0]!.sql));
    if (numbers.includes(13)) {
      throw Object.assign(new Error("CHECK"), { code: "SQLITE_CONSTRAINT_CHECK" });
    }
    this.sizes.push(numbers.length);
    for (const n of numbers) this.committed.add(n);
    return [];
  }

  sync(): void {
    if (this.isAway) throw Object.assign(new Error("away"), { code: "SQLITE_IOERR" });
    this.durable = new Set(this.committed);
  }

  loseConnection(): void {
    this.committed = new Set(this.durable);
  }
}

Deno.test("whatever fails in between, all that was added is there in the end, and what is refused is said once", () => {
  const step = fc.constantFrom("add", "add", "set", "all", "sync", "away", "back", "lost");
  fc.assert(
    fc.property(fc.array(fc.tuple(step, fc.integer({ min: 1, max: 400 })), { maxLength: 60 }), (
      steps,
    ) => {
      const file = new FragileFile();
      const behind = new WritesBehind();
      const refused: string[] = [];
      let added = 0;
      const passes = (work: () => void) => {
        try {
          work();
          return true;
        } catch (error) {
          assertEquals((error as Error).message, "away");
          return false;
        }
      };
      for (const [what, count] of [...steps, ["back", 0], ["lost", 0], ["sync", 0]] as const) {
        if (what === "add") {
          const items = JSON.stringify(Array.from({ length: count }, (_, at) => added + at));
          const write = count % 3 === 0 ? "one" : "other";
          const sql = `insert ${write}`;
          for (let n = added; n < added + count; n++) file.sqlOf[n] = sql;
          behind.add(
            { write, statements: [sql], items, count },
            ({ item }) => refused.push(item),
          );
          added += count;
        } else if (what === "set") passes(() => behind.writeSet(file));
        else if (what === "all") passes(() => behind.writeAll(file));
        else if (what === "sync") {
          const isDone = passes(() => {
            behind.writeAll(file);
            behind.sync(file);
          });
          if (isDone) assertEquals(file.durable.size, added - (added > 13 ? 1 : 0));
        } else if (what === "lost") {
          file.loseConnection();
          behind.again();
        } else file.isAway = what === "away";
        assertEquals(behind.count, added - file.committed.size - refused.length);
      }
      assertEquals(refused, added > 13 ? ["13"] : []);
      assertEquals(behind.count, 0);
      assert(file.sizes.every((size) => size <= 400));
    }),
    // two writes beside each other, which chance brings seldom
    { numRuns: sized(200, 3_000), examples: [[[["add", 3], ["add", 1]]]] },
  );
});

Deno.test("a backup that is restored is not charged with what came after it", async () => {
  await using dir = await tempDir();
  await using bench = await ledgerBench("file");
  const backup = `${dir.path}/backup.db`;
  const file = `${dir.path}/sluice.db`;
  await backUp(bench.database, backup);
  await Deno.copyFile(backup, file);
  await Deno.writeTextFile(`${file}-outbox-gw_dead-0`, "kept");
  const outboxDirectory = `${dir.path}/other-disk`;
  await Deno.mkdir(outboxDirectory);
  await Deno.writeTextFile(`${outboxDirectory}/sluice.db-outbox-gw_dead-1`, "kept");
  const { before } = await restoreFile(backup, file, { nowMs: 1, outboxDirectory });
  assertEquals(await outboxFiles(...outboxPlaces(file, outboxDirectory)), []);
  assertEquals(await outboxFiles(before!), [`${before}-outbox-gw_dead-0`]);
  const other = outboxPlaces(before!, outboxDirectory)[0]!;
  assertEquals(await outboxFiles(other), [`${other}-outbox-gw_dead-1`]);
});
