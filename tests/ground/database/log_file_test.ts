import { openDatabase } from "../../../src/ground/database/mod.ts";
import { LogFile } from "../../../src/ground/database/file/log_file.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { tempDir } from "../../fake/temp.ts";

const MEGABYTE = 1_048_576;

/** A database with a table of texts, to which `add` adds one. */
async function texts() {
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await tempDir());
  const file = `${dir.path}/sluice.db`;
  await writeEmptyDatabase(file);
  const options = { file, durability: "full", rules: RULES, now: () => 1 } as const;
  const database = stack.adopt(await openDatabase(options), (one) => one.close());
  await database.batch([{ sql: "create table texts (text text) strict" }]);
  const add = (bytes: number) =>
    database.batch([{ sql: "insert into texts values (?)", args: ["x".repeat(bytes)] }]);
  return { file, database, add, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Locks that this process has on a file (proc_locks(5)): `READ 128 128`, with the first and the last byte. */
async function locksOn(path: string): Promise<string[]> {
  const { ino } = await Deno.stat(path);
  const { stdout } = await new Deno.Command("cat", { args: ["/proc/locks"] }).output();
  const lines = new TextDecoder().decode(stdout).split("\n").map((line) => line.split(/\s+/));
  return lines.filter(([, type, , , pid, file]) =>
    type === "POSIX" && pid === `${Deno.pid}` && file?.endsWith(`:${ino}`)
  ).map(([, , , mode, , , from, to]) => `${mode} ${from} ${to}`);
}

Deno.test({
  name: "one that closes a database's file drops no lock of another in its process",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using dir = await tempDir();
    const file = `${dir.path}/sluice.db`;
    await writeEmptyDatabase(file);
    const open = () => openDatabase({ file, durability: "full", rules: RULES, now: () => 1 });
    const stays = await open();
    const before = await locksOn(`${file}-shm`);
    // without this lock the next process that opens the file truncates its index, which the others have in memory
    assert(before.includes("READ 128 128"), before.join());
    const ends = await open();
    for (let commits = 0; commits < 40; commits++) {
      await ends.batch([{ sql: "delete from holds where request_id = 'nobody'" }]);
    }
    await ends.close();
    assertEquals(await locksOn(`${file}-shm`), before);
    await stays.close();
  },
});

Deno.test("the log says how long it is, also when it is written again from its beginning", async () => {
  await using opened = await texts();
  const log = new LogFile(`${opened.file}-wal`, () => {});
  using stack = new DisposableStack();
  stack.defer(() => log.close());
  const seed = testSeed();
  const random = new Random(seed);
  const lengths: number[] = [];
  for (let times = 0; times < 30; times++) {
    for (let commits = random.integer(0, 8); commits >= 0; commits--) {
      await opened.add(random.integer(1, 60_000));
    }
    // SQLite tells by copying it into the database: the next commit begins again
    const [copied] = await opened.database.all("pragma wal_checkpoint(passive)");
    const pages = Number(copied!.log);
    assertEquals(
      [log.hasPages(pages), log.hasPages(pages + 1)],
      [true, false],
      `SLUICE_TEST_SEED=${seed}`,
    );
    lengths.push(pages);
  }
  assert(lengths.some((pages, at) => pages < lengths[at - 1]!), "it never began again");
});

Deno.test("the log is copied into the database before it is long, and grows no more", async () => {
  await using opened = await texts();
  for (let commits = 0; commits < 120; commits++) await opened.add(MEGABYTE);
  const { size } = await Deno.stat(`${opened.file}-wal`);
  assert(size < 60 * MEGABYTE, `${size} bytes`);
});
