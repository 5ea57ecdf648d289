import { LongReads } from "../../../src/ground/database/file/long_reads.ts";
import { isOpened, openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { PROOF } from "../../tier.ts";

/** A log, and who reads it on a clock that reads and waits move. */
function logOf({ pages, shortAfterMs = Infinity, writesEveryMs = 100 }: {
  readonly pages: number;
  /** After how long a wait the log is begun again. */
  readonly shortAfterMs?: number;
  readonly writesEveryMs?: number;
}) {
  let now = 5_000;
  let waitedMs = 0;
  const reads = new LongReads({
    hasPages: (count) => waitedMs < shortAfterMs && pages >= count,
    writtenAtMs: () => Math.floor(now / writesEveryMs),
  }, {
    monotonicNow: () => now,
    wait(ms) {
      now += ms;
      waitedMs += ms;
    },
  });
  return {
    /** Reads for so long; returns how long it waited before. */
    read(ms: number): number {
      waitedMs = 0;
      reads.read(() => now += ms);
      return waitedMs;
    },
    pass: (ms: number) => void (now += ms),
  };
}

Deno.test("who reads for long waits until the log is begun again, and no longer than it read", () => {
  const seed = testSeed();
  const random = new Random(seed);
  for (let times = 0; times < 300; times++) {
    const shortAfterMs = random.integer(1, 20_000);
    const readMs = random.integer(1, 20_000);
    const { read } = logOf({ pages: 100_000, shortAfterMs });
    assertEquals(read(readMs), 0, "nothing was read before");
    const waited = read(1);
    const least = readMs < 1_000 ? 0 : Math.min(shortAfterMs, readMs, 10_000);
    const why = `${readMs} ms, short after ${shortAfterMs}: ${waited}; SLUICE_TEST_SEED=${seed}`;
    assert(waited >= least && waited < least + 20, why);
  }
});

Deno.test("short reads make room once they are long together, unless writers have had some", () => {
  const { read, pass } = logOf({ pages: 100_000, shortAfterMs: 40 });
  assertEquals([300, 300, 300, 300, 300].map(read), [0, 0, 0, 0, 40]);
  assertEquals([300, 300, 300, 300].map(read), [0, 0, 0, 40], "the fifth was read behind it");
  pass(1_000);
  assertEquals([300, 300, 300, 300].map(read), [0, 0, 0, 0]);
});

Deno.test("who reads for long waits for nobody where the log is short or nothing is written", () => {
  const short = logOf({ pages: 10_000 });
  assertEquals([5_000, 5_000].map(short.read), [0, 0]);
  const quiet = logOf({ pages: 100_000, writesEveryMs: 1e9 });
  assertEquals([30_000, 1].map(quiet.read), [0, 2_000]);
});

Deno.test({
  name: "a log that grew beside long reads is begun again between them, and its file is cut",
  ...PROOF,
  async fn() {
    const MB = 1_048_576;
    await using dir = await tempDir();
    const file = `${dir.path}/sluice.db`;
    await writeEmptyDatabase(file);
    await using stack = new AsyncDisposableStack();
    const options = { file, durability: "normal", rules: RULES, now: () => 1 } as const;
    const database = stack.adopt(await openDatabase(options), (one) => one.close());
    await database.batch([{ sql: "create table texts (text text) strict" }]);
    assert(isOpened(database));
    const reader = stack.adopt(await database.openReader!([]), (one) => one.close());
    let isOver = false;
    const sizes: number[] = [];
    const writing = (async () => {
      while (!isOver) {
        await database.batch([
          { sql: "insert into texts select hex(zeroblob(?))", args: [MB] },
          { sql: "delete from texts" },
        ]);
        sizes.push((await Deno.stat(`${file}-wal`)).size);
      }
    })();
    let rows = 4_000_000;
    const reading = (async () => {
      while (!isOver) {
        await reader.one(
          `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
            select count(*) as count from n, (select count(*) from texts)`,
          [rows],
        );
        if (sizes.every((size) => size < 160 * MB)) rows *= 2;
      }
    })();
    const isCut = () => sizes.some((size) => size > 160 * MB) && sizes.at(-1)! <= 128 * MB;
    await until(isCut, { what: "a log that was long and is cut" });
    isOver = true;
    await Promise.all([writing, reading]);
  },
});
