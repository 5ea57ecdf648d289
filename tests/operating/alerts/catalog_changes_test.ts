import { catalogChange } from "../../../src/operating/alerts/catalog_changes.ts";
import { memoryOf } from "../../../src/operating/alerts/jobs.ts";
import type { Route } from "../../../src/settings/catalog/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

/** Routes by ID, at a price. */
function served(routes: Readonly<Record<string, number>>): Route[] {
  return Object.entries(routes).map(([id, input]) =>
    ({ id, minimum: 1, prices: { input, cached: 1, output: 2 } }) as Route
  );
}

/** The first routes of many. */
const first = (count: number, price = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, price]));

async function bench() {
  const ledger = await ledgerBench("file");
  const { database } = ledger;
  return {
    revision: async () => (await memoryOf(database, "catalog"))?.revision,
    look: (routes: Readonly<Record<string, number>>, settings = "one") =>
      catalogChange(database, served(routes), settings),
    [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
  };
}

Deno.test("routes that were added, are gone or cost otherwise are told, until they are remembered", async () => {
  await using one = await bench();
  const { look, revision } = one;
  const before = await look({ a: 1, b: 1 });
  assertEquals([before.alert, await revision()], [undefined, undefined]);
  await before.done();
  const change = () => look({ a: 2, c: 1 });
  const { alert, done } = await change();
  assertEquals(
    alert?.text,
    "a costs 2/1/2, minimum 1 instead of 1/1/2, minimum 1; c was added; b is gone.",
  );
  assertEquals(await change().then((again) => again.alert?.mark), alert?.mark, "one mark");
  await done();
  assertEquals((await change()).alert, undefined);
  // the same change another time is another one
  await (await look({ a: 1, b: 1 })).done();
  const later = (await change()).alert;
  assertEquals([later?.text, later?.mark === alert?.mark], [alert?.text, false]);
});

Deno.test("changes that come with other settings are remembered without being told", async () => {
  await using one = await bench();
  const { look } = one;
  await (await look({ a: 1 })).done();
  const { alert, done } = await look({ a: 2 }, "other");
  assertEquals(alert, undefined);
  await done();
  assertEquals((await look({ a: 2 }, "other")).alert, undefined);
  assertEquals((await look({ a: 3 }, "other")).alert?.data.changes, [
    "a costs 3/1/2, minimum 1 instead of 2/1/2, minimum 1",
  ]);
});

Deno.test("what has not changed is not written again", async () => {
  await using one = await bench();
  const { look, revision } = one;
  await (await look({ a: 1 })).done();
  await (await look({ a: 1 })).done();
  assertEquals(await revision(), 1);
  // other settings with the same routes are remembered, and no alert
  const { alert, done } = await look({ a: 1 }, "other");
  await done();
  assertEquals([alert, await revision()], [undefined, 2]);
});

Deno.test("ten changes are named in the text, of more the number", async () => {
  for (
    const [count, end] of [
      [1, "m0 was added."],
      [10, "m9 was added."],
      [11, "m9 was added; and 1 more."],
      [150, "m9 was added; and 140 more."],
    ] as const
  ) {
    await using one = await bench();
    const { look } = one;
    await (await look({})).done();
    const { alert } = await look(first(count));
    assertEquals(alert?.text.slice(-end.length), end);
    assertEquals(alert?.title, `Upstreams list other models or prices: ${count} changed`);
    assertEquals((alert?.data.changes as unknown[]).length, Math.min(count, 100));
  }
});
