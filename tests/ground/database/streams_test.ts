import fc from "fast-check";
import type { HttpClient, Stream } from "@libsql/hrana-client";
import { Streams } from "../../../src/ground/database/server/streams.ts";
import { openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { canRunSqld, sqldServer } from "../../fake/sqld.ts";
import { tempDir } from "../../fake/temp.ts";

/** Streams of a server that opens them by number, and a clock. */
function bench() {
  const closed: number[] = [];
  let opened = 0;
  let now = 0;
  const numbers = new Map<Stream, number>();
  const client = {
    openStream() {
      const number = ++opened;
      const stream = { close: () => closed.push(number) } as unknown as Stream;
      numbers.set(stream, number);
      return stream;
    },
  } as unknown as HttpClient;
  const streams = new Streams(client, () => now);
  return {
    closed,
    open: () => opened - closed.length,
    /** Works on a stream, whose number it returns. */
    use: (work: (number: number) => unknown = (number) => number) =>
      streams.use(async (stream) => await work(numbers.get(stream)!) as number),
    pass: (ms: number) => void (now += ms),
  };
}

/** Fails on streams as a server that does not know them. */
const unknown = (error: Record<string, unknown>, ...numbers: number[]) => (number: number) => {
  if (numbers.includes(number)) throw Object.assign(new Error(String(error.message)), error);
  return number;
};
const INVALID = { status: 400, message: "Server returned 400: Received an invalid baton" };
const EXPIRED = { code: "STREAM_EXPIRED", message: "The stream has expired due to inactivity" };

Deno.test("a stream is used again, by one at a time, and four are kept", async () => {
  const { use, closed } = bench();
  assertEquals([await use(), await use()], [1, 1]);
  const held = Promise.withResolvers<void>();
  const six = Array.from({ length: 6 }, () => use(async (n) => (await held.promise, n)));
  held.resolve();
  assertEquals((await Promise.all(six)).toSorted(), [1, 2, 3, 4, 5, 6]);
  assertEquals(closed, [5, 6]);
  assert(await use() <= 4);
});

Deno.test("a stream that was not used for long, or failed, is not used again", async () => {
  const { use, closed, pass } = bench();
  assertEquals(await use(), 1);
  pass(5_000);
  assertEquals([await use(), closed], [2, [1]]);
  await assertRejects(() => use(() => Promise.reject(new Error("lost"))), Error, "lost");
  assertEquals([closed, await use()], [[1, 2], 3]);
});

Deno.test("what a server does not know is asked once more, on a new stream, and whatever else fails is not", async () => {
  for (const error of [INVALID, EXPIRED]) {
    const { use, closed } = bench();
    const held = Promise.withResolvers<void>();
    const two = [1, 2].map(() => use(async (n) => (await held.promise, n)));
    held.resolve();
    await Promise.all(two);
    assertEquals(await use(unknown(error, 1, 2)), 3, "the other one is of the same server");
    assertEquals(closed, [2, 1]);
    await assertRejects(() => use(unknown(error, 3, 4)), Error, error.message);
  }
  const others = [
    { status: 400, message: "Received a baton that has already been used" },
    { status: 500, message: "Received an invalid baton" },
    { code: "SQLITE_BUSY", message: "database is locked" },
    { message: "connection reset" },
  ];
  for (const error of others) {
    const { use } = bench();
    await use();
    await assertRejects(() => use(unknown(error, 1)), Error, error.message);
  }
});

const DEEDS = fc.array(
  fc.record({
    deed: fc.constantFrom("begin", "end", "fail", "be unknown"),
    ms: fc.constantFrom(0, 1, 4_999, 5_000),
  }),
  { minLength: 100, maxLength: 200 },
);

Deno.test("no more streams are open than are used and kept", async () => {
  await fc.assert(fc.asyncProperty(DEEDS, async (deeds) => {
    const { use, open, pass } = bench();
    const begun: { end: PromiseWithResolvers<number>; done: Promise<unknown> }[] = [];
    for (const { deed, ms } of deeds) {
      pass(ms);
      if (deed === "begin") {
        const end = Promise.withResolvers<number>();
        begun.push({ end, done: use(() => end.promise).catch(() => {}) });
        continue;
      }
      const { end, done } = begun.shift() ?? {};
      if (deed === "end") end?.resolve(1);
      else end?.reject(Object.assign(new Error(), deed === "fail" ? {} : EXPIRED));
      await done;
      assert(open() <= begun.length + 4, `${open()} are open, ${begun.length} used`);
    }
  }));
});

Deno.test({
  name: "reads and writes of a libSQL server share a connection there",
  ignore: !await canRunSqld(),
  async fn() {
    await using dir = await tempDir();
    await using server = await sqldServer(`${dir.path}/data`);
    const database = await openDatabase({
      file: undefined,
      server: { url: server.url, token: undefined },
      durability: "full",
      rules: RULES,
      now: () => 1,
    });
    try {
      const changes = async () => Number((await database.one("select total_changes() as n"))!.n);
      const before = await changes(); // of this connection
      await database.batch([{ sql: "create table own (n integer) strict" }]);
      await database.batch([{ sql: "insert into own values (1), (2), (3)" }]);
      assertEquals(await changes(), before + 3);
    } finally {
      await database.close();
    }
  },
});
