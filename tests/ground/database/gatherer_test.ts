import { setImmediate } from "node:timers";
import { Gatherer } from "../../../src/ground/database/gatherer.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("what comes in one turn of the event loop is one batch, also while an earlier one is worked on", async () => {
  const batches: number[][] = [];
  const working: PromiseWithResolvers<void>[] = [];
  const gatherer = new Gatherer<number>((batch) => {
    batches.push([...batch]);
    const work = Promise.withResolvers<void>();
    working.push(work);
    return work.promise;
  });
  /** Has items join in one turn, each from a callback of its own, as replies come. */
  const join = (...items: number[]) => {
    for (const item of items) setImmediate(() => gatherer.join(item));
    return turns();
  };
  await join(1, 2, 3);
  assertEquals([batches, gatherer.waiting], [[[1, 2, 3]], 0]);
  await join(4);
  assertEquals([batches.length, gatherer.items], [1, [4]]);
  setImmediate(() => working[0]!.resolve());
  await join(5, 6);
  assertEquals(batches, [[1, 2, 3], [4, 5, 6]]);
  working[1]!.resolve();
  await gatherer.idle();
});

async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
