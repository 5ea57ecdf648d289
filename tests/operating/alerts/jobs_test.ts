import { leaveJob, memoryOf, remember, takeJob } from "../../../src/operating/alerts/jobs.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

Deno.test("one gateway watches at a time: until its lease is over, or it leaves the job", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const take = (holder: string, nowMs: number) =>
    takeJob(database, { holder, nowMs, leaseMs: 1_000 });
  assertEquals(await take("one", 10_000), true);
  assertEquals(await take("other", 10_999), false);
  await leaveJob(database, "other");
  assertEquals(await take("other", 10_999), false, "nobody leaves the job of another");
  assertEquals(await take("one", 10_999), true, "it is renewed");
  assertEquals(await take("other", 11_998), false);
  assertEquals(await take("other", 11_999), true, "the lease is over");
  await leaveJob(database, "other");
  assertEquals(await take("one", 11_999), true);
  // a clock that was far ahead does not keep the job
  assertEquals(await take("one", 1_000_000), true);
  assertEquals(await take("other", 12_000), true);
});

Deno.test("what a source remembers is replaced only by who has read what stands there", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  assertEquals(await memoryOf(database, "a"), undefined);
  assertEquals(await remember(database, "a", { before: undefined, value: "1" }), true);
  assertEquals(await remember(database, "a", { before: undefined, value: "2" }), false);
  const first = await memoryOf(database, "a");
  assertEquals(first, { revision: 1, value: "1" });
  assertEquals(await remember(database, "a", { before: first, value: "3" }), true);
  assertEquals(await remember(database, "a", { before: first, value: "4" }), false);
  assertEquals(await memoryOf(database, "a"), { revision: 2, value: "3" });
  assertEquals(await memoryOf(database, "b"), undefined);
});
