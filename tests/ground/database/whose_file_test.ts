/** A database file that is moved, removed or replaced while it is open: nothing is written into another's. */

import { createHash } from "node:crypto";
import {
  type Database,
  DatabaseError,
  type FileState,
  openDatabase,
} from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";
import { tempDir, until } from "../../fake/temp.ts";

const UNIX_ONLY = { ignore: Deno.build.os === "windows" };
const FILES = ["sluice.db", "sluice.db-wal", "sluice.db-shm"];
const ABSENT = "absent";

/** Opens the database of a directory as its gateway does. */
async function openIn(
  directory: string,
  onState: (state: FileState) => void = () => {},
): Promise<Database> {
  await Deno.mkdir(directory, { recursive: true });
  const lock = `${directory}/gateway.id`;
  await Deno.writeTextFile(lock, "", { create: true });
  return await openDatabase({
    file: `${directory}/sluice.db`,
    durability: "full",
    rules: RULES,
    now: () => 1,
    beside: [lock],
    onState,
  });
}

/** The bytes of all files of a database. */
async function bytesOf(directory: string): Promise<string[]> {
  return await Promise.all(FILES.map(async (name) => {
    const bytes = await Deno.readFile(`${directory}/${name}`).catch(() => undefined);
    if (bytes === undefined) return ABSENT;
    return createHash("sha256").update(bytes).digest("hex");
  }));
}

const MARK = "update probes set number = number + 1000";
const SEEN = "select coalesce(sum(number), 0) as sum from probes";

/** Tries to write. Resolves with the failure's code, or `undefined`. */
async function write(database: Database): Promise<string | undefined> {
  try {
    await database.batch([
      { sql: "insert into probes (id, number) values (1, 0) on conflict do nothing" },
      { sql: MARK },
    ]);
    return undefined;
  } catch (error) {
    assert(error instanceof DatabaseError, String(error));
    return error.code;
  }
}

/** What becomes of the files of `own`, with another database's at hand in `other`, and how it is undone. */
interface Mishap {
  readonly why: string;
  readonly happens: (own: string, other: string) => Promise<void>;
  readonly undo: (own: string, other: string) => Promise<void>;
}

const copyAll = async (from: string, to: string) => {
  await Deno.mkdir(to, { recursive: true });
  for (const name of [...FILES, "gateway.id"]) {
    await Deno.copyFile(`${from}/${name}`, `${to}/${name}`).catch(() => {});
  }
};
const away = (own: string) => `${own}.away`;
const putBack = async (own: string) => {
  await Deno.remove(own, { recursive: true }).catch(() => {});
  await Deno.rename(away(own), own);
};

const MISHAPS: readonly Mishap[] = [
  {
    why: "the directory is moved",
    happens: (own) => Deno.rename(own, away(own)),
    undo: putBack,
  },
  {
    why: "another's directory stands in its place",
    async happens(own, other) {
      await Deno.rename(own, away(own));
      await copyAll(other, own);
    },
    undo: putBack,
  },
  {
    why: "a copy of its own directory stands in its place",
    async happens(own) {
      await Deno.rename(own, away(own));
      await copyAll(away(own), own);
    },
    undo: putBack,
  },
  {
    why: "another's file is moved over its file",
    async happens(own, other) {
      await Deno.mkdir(away(own));
      for (const name of FILES) await Deno.rename(`${own}/${name}`, `${away(own)}/${name}`);
      for (const name of FILES) {
        await Deno.copyFile(`${other}/${name}`, `${own}/${name}`).catch(() => {});
      }
    },
    async undo(own) {
      for (const name of FILES) {
        await Deno.remove(`${own}/${name}`).catch(() => {});
        await Deno.rename(`${away(own)}/${name}`, `${own}/${name}`);
      }
      await Deno.remove(away(own));
    },
  },
  {
    why: "its lock is another's",
    async happens(own, other) {
      await Deno.rename(`${own}/gateway.id`, `${own}/gateway.id.away`);
      await Deno.copyFile(`${other}/gateway.id`, `${own}/gateway.id`);
    },
    undo: (own) => Deno.rename(`${own}/gateway.id.away`, `${own}/gateway.id`),
  },
];

Deno.test({
  name:
    "whatever becomes of its path, a database writes into its own file only, and goes on once it is back",
  ...UNIX_ONLY,
  async fn() {
    const seed = testSeed();
    const random = new Random(seed);
    await using dir = await tempDir();
    const [own, other] = [`${dir.path}/own`, `${dir.path}/other`];
    {
      const stranger = await openIn(other);
      await stranger.batch([{ sql: "insert into probes (id, number) values (1, 7)" }]);
      await stranger.close();
    }
    const database = await openIn(own);
    let written = 0;
    for (let round = 0; round < sized(8, 300); round++) {
      const mishap = MISHAPS[round] ?? random.pick(MISHAPS);
      const why = `seed ${seed}, round ${round}: ${mishap.why}`;
      assertEquals(await write(database), undefined, why);
      written++;
      await mishap.happens(own, other);
      const [before, strangers] = [await bytesOf(own), await bytesOf(other)];
      for (let times = random.integer(1, 4); times > 0; times--) {
        assertEquals(await write(database), "SLUICE_REPLACED", why);
      }
      assertEquals(await bytesOf(other), strangers, why);
      // its own files may stand there: under another lock they are not written either
      assertEquals(await bytesOf(own), before, why);
      await mishap.undo(own, other);
      assertEquals(await write(database), undefined, why);
      written++;
      assertEquals((await database.one(SEEN))?.sum, 1_000 * written, why);
    }
    await database.close();
  },
});

Deno.test({
  name: "a database that is closed leaves alone what has its path",
  ...UNIX_ONLY,
  async fn() {
    await using dir = await tempDir();
    const [own, other] = [`${dir.path}/own`, `${dir.path}/other`];
    const database = await openIn(own);
    assertEquals(await write(database), undefined);
    const stranger = await openIn(other);
    assertEquals(await write(stranger), undefined);
    await Deno.rename(own, away(own));
    await Deno.rename(other, own); // with its log, as its gateway runs
    const before = await bytesOf(own);
    assert(!before.includes(ABSENT));
    await database.close();
    assertEquals(await bytesOf(own), before);
    await Deno.rename(own, other);
    assertEquals(await write(stranger), undefined);
    await stranger.close();
  },
});

Deno.test({
  name: "an earlier state of the same database is used, another database is not",
  ...UNIX_ONLY,
  async fn() {
    await using dir = await tempDir();
    const own = `${dir.path}/own`;
    const database = await openIn(own);
    assertEquals(await write(database), undefined);
    await database.all("vacuum into ?", [`${dir.path}/backup.db`]);
    assertEquals(await write(database), undefined);
    const replace = async (from: string) => {
      for (const end of ["-wal", "-shm"]) await Deno.remove(`${own}/sluice.db${end}`);
      await Deno.rename(from, `${own}/sluice.db`);
    };
    await replace(`${dir.path}/backup.db`);
    assertEquals(await write(database), undefined);
    assertEquals((await database.one(SEEN))?.sum, 2_000, "one of before the backup, and one");
    {
      const stranger = await openIn(`${dir.path}/other`);
      await stranger.all("pragma wal_checkpoint(truncate)");
      await stranger.close();
    }
    await replace(`${dir.path}/other/sluice.db`);
    const before = await bytesOf(own);
    for (let times = 0; times < 3; times++) {
      assertEquals(await write(database), "SLUICE_REPLACED");
    }
    assertEquals(await bytesOf(own), before);
    await database.close();
  },
});

const PAGE_BYTES = 4_096;
/** A row of which each page has one. */
const ROW = "j".repeat(3_000);

/** A database with more pages than its connection keeps in memory, all of which are in the file. */
async function openLong(
  directory: string,
  onState?: (state: FileState) => void,
): Promise<Database> {
  const made = await openIn(directory);
  await made.batch([
    { sql: "create table long (row text)" },
    {
      sql:
        `insert into long with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
        select ? from n`,
      args: [ROW],
    },
  ]);
  await made.all("pragma wal_checkpoint(truncate)");
  await made.close();
  return await openIn(directory, onState);
}

Deno.test({
  name: "a state that is damaged in one page is not used, wherever that is",
  ...UNIX_ONLY,
  async fn() {
    await using dir = await tempDir();
    const own = `${dir.path}/own`;
    const database = await openLong(own);
    const [backup, file] = [`${dir.path}/backup.db`, `${own}/sluice.db`];
    await database.all("vacuum into ?", [backup]);
    const bytes = await Deno.readFile(backup);
    const page = PAGE_BYTES *
      Math.floor(new TextDecoder("latin1").decode(bytes).indexOf(ROW) / PAGE_BYTES);
    await Deno.writeFile(backup, bytes.fill(0x55, page, page + 8));
    for (const end of ["-wal", "-shm"]) await Deno.remove(`${file}${end}`);
    await Deno.rename(backup, file);
    for (let times = 0; times < 3; times++) assert(await write(database) !== undefined);
    await database.close();
  },
});

Deno.test({
  name: "another database that is copied over the file is not used when that is opened again",
  ...UNIX_ONLY,
  async fn() {
    await using dir = await tempDir();
    const [own, other] = [`${dir.path}/own`, `${dir.path}/other`];
    await (await openLong(other)).close();
    const states: FileState[] = [];
    const database = await openLong(own, (state) => states.push(state));
    const copyOver = async (bytes: Uint8Array) => {
      using file = await Deno.open(`${own}/sluice.db`, { write: true }); // it stays the same file
      await file.truncate(bytes.length);
      await file.write(bytes);
    };
    const bytes = await Deno.readFile(`${other}/sluice.db`);
    await copyOver(bytes.slice().fill(0x5a, PAGE_BYTES));
    await assertRejects(() => database.all("select sum(length(row)) from long"), DatabaseError);
    await copyOver(bytes);
    await until(() => states.some((one) => one.isUsable || one.code === "SLUICE_REPLACED"), {
      what: "an attempt to open it again",
    });
    assert(await write(database) !== undefined);
    assertEquals((await bytesOf(own))[0], (await bytesOf(other))[0]);
    await database.close();
  },
});
