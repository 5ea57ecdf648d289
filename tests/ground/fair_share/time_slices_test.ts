import { TimeSlices } from "../../../src/ground/fair_share/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";

Deno.test("owners get the same time, however much work of one waits, and however long its pieces are", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  let nowMs = 0;
  const slices = new TimeSlices(() => nowMs);
  const usedMs = new Map<string, number>();
  let running = 0;
  const work = (owner: string, ms: number) =>
    slices.run(owner, async () => {
      assertEquals(++running, 1, "one piece at a time");
      await Promise.resolve();
      nowMs += ms;
      running--;
      usedMs.set(owner, (usedMs.get(owner) ?? 0) + ms);
      const [long = 0, short = 0] = [usedMs.get("long"), usedMs.get("short")];
      // as long as both have work waiting
      if (nowMs < 1_000) assert(Math.abs(long - short) <= 40, `seed ${seed}: ${long}, ${short}`);
    });
  const pieces: Promise<void>[] = [];
  for (let at = 0; at < 400; at++) {
    pieces.push(work("long", random.integer(5, 20)));
    for (let times = 0; times < 4; times++) pieces.push(work("short", 1));
  }
  // somebody who comes later waits for one piece, not for what the others have used less before
  let waitedMs = -1;
  const late = (async () => {
    while (nowMs < 500) await Promise.resolve();
    const cameMs = nowMs;
    await slices.run("late", () => Promise.resolve(waitedMs = nowMs - cameMs));
  })();
  await Promise.all([...pieces, late]);
  assert(waitedMs >= 0 && waitedMs <= 20, `seed ${seed}: ${waitedMs} ms`);
});

Deno.test("work that fails is over, too", async () => {
  const slices = new TimeSlices();
  for (let at = 0; at < 3; at++) {
    const failed = await slices.run("a", () => Promise.reject(new Error("no"))).catch(String);
    assertEquals(failed, "Error: no");
  }
  assertEquals(await slices.run("b", () => Promise.resolve(1)), 1);
});
