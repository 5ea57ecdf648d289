import { collectGarbageWhenIdle } from "../../../src/ground/platform/mod.ts";
import { delay } from "../../../src/ground/std/mod.ts";
import { assertEquals } from "../../assert.ts";
import { until } from "../../fake/temp.ts";

/** Runs with a `gc` that notes each call, as V8 offers it with `--expose-gc`. */
async function withGc(run: (calls: unknown[]) => Promise<void>): Promise<void> {
  const global = globalThis as { gc?: unknown };
  const before = global.gc;
  const calls: unknown[] = [];
  global.gc = (options: unknown) => calls.push(options);
  try {
    await run(calls);
  } finally {
    if (before === undefined) delete global.gc;
    else global.gc = before;
  }
}

Deno.test("garbage is collected once, after the thread was idle twice in a row", async () => {
  await withGc(async (calls) => {
    const answers = [true, false, true, true, true, true];
    let looks = 0;
    const cancel = collectGarbageWhenIdle(() => answers[looks++] ?? true, 5);
    await until(() => calls.length > 0, { what: "a collection" });
    await delay(30); // and none comes after it
    cancel();
    assertEquals(looks, 4);
    assertEquals(calls, [{ type: "major", execution: "sync", flavor: "last-resort" }]);
  });
});

Deno.test("collecting garbage can be called off", async () => {
  await withGc(async (calls) => {
    collectGarbageWhenIdle(() => true, 5)();
    await delay(40);
    assertEquals(calls, []);
  });
});

Deno.test("without --expose-gc nothing is looked at", async () => {
  const global = globalThis as { gc?: unknown };
  const before = global.gc;
  delete global.gc;
  let looks = 0;
  const cancel = collectGarbageWhenIdle(() => ++looks > 0, 5);
  await delay(30);
  cancel();
  if (before !== undefined) global.gc = before;
  assertEquals(looks, 0);
});
