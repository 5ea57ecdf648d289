import {
  DatabaseError,
  type GroupWrite,
  migrate,
  MIGRATIONS,
  openDatabase,
} from "../../../src/ground/database/mod.ts";
import { definitionsOf } from "../../../src/ground/database/definitions_of.ts";
import { elementsOf, integerAt, jsonArrayOfRows, jsonObject } from "../../../src/ground/sql/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { possible, tablesIn } from "../../fake/ledger.ts";
import { postgresDatabase } from "../../fake/postgres.ts";
import { sqldServer } from "../../fake/sqld.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { tempDir } from "../../fake/temp.ts";

const NUMBERS: GroupWrite<{ id: string; n: number }, number> = {
  name: "numbers",
  key: "id",
  statements: [
    `insert into numbers (id, n) select ${integerAt("value", "id")}, ${integerAt("value", "n")}
      from ${elementsOf("?1")}`,
  ],
  outcomes: `select ${jsonArrayOfRows(jsonObject({ id: "value", double: "numbers.n * 2" }))} from ${
    elementsOf("?1")
  } join numbers on cast(numbers.id as text) = value`,
  read: (row) => Number(row!.double),
};

/** The same promises for the embedded file and for servers. */
for (const kind of possible(["file", "server", "postgres"])) {
  const open = async (migrations = MIGRATIONS) => {
    const stack = new AsyncDisposableStack();
    const dir = stack.use(await tempDir());
    const server = kind === "server"
      ? stack.use(await sqldServer(`${dir.path}/sqld`))
      : kind === "postgres"
      ? stack.use(await postgresDatabase())
      : undefined;
    const options = {
      file: server === undefined ? `${dir.path}/sluice.db` : undefined,
      ...(server === undefined ? {} : { server: { url: server.url, token: undefined } }),
      durability: kind === "postgres" ? "normal" : "full",
      rules: RULES,
      now: () => 1,
    } as const;
    if (options.file !== undefined && migrations === MIGRATIONS) {
      await writeEmptyDatabase(options.file);
    }
    // rules are of the whole schema
    const rules = migrations === MIGRATIONS ? RULES : { revision: 0, behind: [], rules: [] };
    const first = await openDatabase({ ...options, rules, migrations });
    const database = stack.adopt(first, (one) => one.close());
    await database.batch(
      tablesIn(
        database,
        "create table numbers (id integer primary key, n integer not null) strict",
      ),
    );
    return { database, options, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  };

  Deno.test(`database (${kind}): concurrent writes share commits, each lands once`, async () => {
    await using opened = await open();
    const { database } = opened;
    const outcomes = await Promise.all(
      Array.from({ length: 2_000 }, (_, n) => database.write(NUMBERS, { id: `${n}`, n })),
    );
    assertEquals(outcomes, Array.from({ length: 2_000 }, (_, id) => id * 2));
    const row = await database.one("select count(*) as n, sum(n) as total from numbers");
    assertEquals([row!.n, row!.total], [2_000, 1_999_000]);
  });

  Deno.test(`database (${kind}): of a batch only the item at fault fails`, async () => {
    await using opened = await open();
    const { database } = opened;
    await database.write(NUMBERS, { id: "5", n: 5 });
    const results = await Promise.allSettled(
      [4, 5, 6].map((n) => database.write(NUMBERS, { id: `${n}`, n })),
    );
    assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
    assert((results[1] as PromiseRejectedResult).reason.isDuplicate);
    assertEquals((await database.all("select id from numbers order by id")).map(({ id }) => id), [
      4,
      5,
      6,
    ]);
  });

  Deno.test(`database (${kind}): a batch is all or nothing`, async () => {
    await using opened = await open();
    const { database } = opened;
    const insert = (id: number) => ({
      sql: "insert into numbers values (?, ?) returning n",
      args: [id, id],
    });
    assertEquals(await database.batch([insert(1), insert(2)]), [[{ n: 1 }], [{ n: 2 }]]);
    await assertRejects(() => database.batch([insert(3), insert(1)]), DatabaseError);
    assertEquals((await database.one("select count(*) as n from numbers"))!.n, 2);
  });

  Deno.test(`database (${kind}): of transactions at once, each sees those before it`, async () => {
    await using opened = await open();
    const { database } = opened;
    const sql = "insert into numbers select ?, 1 where (select count(*) from numbers) < 5";
    await Promise.all(Array.from({ length: 40 }, (_, id) => database.batch([{ sql, args: [id] }])));
    assertEquals((await database.one("select count(*) as n from numbers"))!.n, 5);
  });

  Deno.test(`database (${kind}): closing waits for what is under way`, async () => {
    await using opened = await open();
    const { database } = opened;
    const written = [
      database.batch([{ sql: "insert into numbers values (1, 1)" }]),
      database.write(NUMBERS, { id: "2", n: 2 }),
    ];
    await database.close();
    await Promise.all(written);
  });

  Deno.test(`database (${kind}): migrating again is a no-op, a newer schema is refused`, async () => {
    await using opened = await open();
    const { database, options } = opened;
    const latest = MIGRATIONS.at(-1)!.version;
    assertEquals(await migrate(database, { now: () => 2, rules: RULES }), {
      from: latest,
      to: latest,
      installedRules: false,
    });
    await database.batch([{ sql: "insert into schema_versions values (999, 'future', 1)" }]);
    const error = await assertRejects(() => openDatabase(options), DatabaseError, "newer Sluice");
    assertEquals(error.code, "SLUICE_NEWER");
  });

  // which knew no PostgreSQL
  const ignore = kind === "postgres";
  Deno.test(
    `database (${kind}): the 27 steps of an earlier build become one`,
    { ignore },
    async () => {
      await using opened = await open(MIGRATIONS.slice(0, 1));
      const { database, options } = opened;
      await database.batch([
        { sql: "update schema_versions set name = 'own keys'" },
        ...Array.from({ length: 26 }, (_, at) => ({
          sql: "insert into schema_versions values (?, 'step', 1)",
          args: [at + 1],
        })),
      ]);
      await (await openDatabase(options)).close();
      assertEquals(
        await database.all("select version, name from schema_versions order by version"),
        MIGRATIONS.map(({ version, name }) => ({ version, name })),
      );
    },
  );

  Deno.test(`database (${kind}): a migration that fails leaves nothing behind`, async () => {
    await using opened = await open();
    const { database } = opened;
    const latest = MIGRATIONS.at(-1)!.version;
    const broken = {
      version: latest + 1,
      name: "broken",
      statements: ["create table half (id integer) strict", "create nonsense"],
    };
    await assertRejects(
      () => migrate(database, { now: () => 2, migrations: [...MIGRATIONS, broken] }),
      DatabaseError,
    );
    assert(!await definitionsOf(database).hasTable(database, "half"));
    const again = await migrate(database, { now: () => 3 });
    assertEquals(again, { from: latest, to: latest, installedRules: false });
  });
}

Deno.test("database (file): the schema is changed only after a copy was made", async () => {
  await using dir = await tempDir();
  const options = {
    file: `${dir.path}/sluice.db`,
    durability: "full",
    rules: RULES,
    now: () => 1,
  } as const;
  const database = await openDatabase(options);
  const latest = MIGRATIONS.at(-1)!.version;
  const next = {
    version: latest + 1,
    name: "next",
    statements: ["create table next (id integer) strict"],
  };
  const copied: number[] = [];
  await migrate(database, {
    now: () => 2,
    migrations: [...MIGRATIONS, next],
    copy: (from) => Promise.resolve(void copied.push(from)),
  });
  assertEquals(copied, [latest]);
  await database.close();
});

Deno.test("database (file): safe settings are in force, whatever the driver's defaults", async () => {
  await using dir = await tempDir();
  for (const durability of ["full", "normal"] as const) {
    const file = `${dir.path}/${durability}.db`;
    const database = await openDatabase({ file, durability, rules: RULES, now: () => 1 });
    assertEquals((await database.one("pragma synchronous"))!.synchronous, 1);
    assertEquals((await database.one("pragma journal_mode"))!.journal_mode, "wal");
    await database.close();
  }
});

Deno.test("database (file): what cannot be opened is named", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.db`;
  await Deno.writeTextFile(
    file,
    "this is not a database, and long enough to be looked at ".repeat(100),
  );
  const error = await assertRejects(
    () => openDatabase({ file, durability: "full", rules: RULES, now: () => 1 }),
    DatabaseError,
  );
  assertStringIncludes(error.message, file);
});

Deno.test("database (file): the write-ahead log stays short", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.db`;
  const database = await openDatabase({ file, durability: "normal", rules: RULES, now: () => 1 });
  await database.batch([{ sql: "create table texts (id integer primary key, text text) strict" }]);
  const text = "x".repeat(4_000);
  for (let round = 0; round < 200; round++) {
    await database.batch(
      Array.from(
        { length: 100 },
        () => ({ sql: "insert into texts (text) values (?)", args: [text] }),
      ),
    );
  }
  const { size } = await Deno.stat(`${file}-wal`);
  assert(size < 50_000_000, `the log has ${size} bytes after 80 MB were written`);
  await database.close();
});

Deno.test({
  name: "a second connection of this process leaves the locks of the first in place",
  ignore: Deno.build.os !== "linux", // other systems do not list them
  async fn() {
    await using dir = await tempDir();
    const open = () =>
      openDatabase({
        file: `${dir.path}/sluice.db`,
        durability: "full",
        rules: RULES,
        now: () => 1,
      });
    const database = await open();
    try {
      const held = await locksOn(`${dir.path}/sluice.db`);
      assert(held > 0, "an open database is locked against others that would take its log away");
      await (await open()).close();
      assertEquals(await locksOn(`${dir.path}/sluice.db`), held);
    } finally {
      await database.close();
    }
  },
});

/** Locks on a file, and on its log's index (proc_locks(5)). */
async function locksOn(path: string): Promise<number> {
  const inodes = await Promise.all(
    [path, `${path}-shm`].map(async (one) => (await Deno.stat(one)).ino),
  );
  // by a program: reading it here would take the permission for everything
  const { stdout } = await new Deno.Command("cat", { args: ["/proc/locks"] }).output();
  const locks = new TextDecoder().decode(stdout).split("\n");
  return locks.filter((line) => inodes.some((inode) => line.includes(`:${inode} `))).length;
}
