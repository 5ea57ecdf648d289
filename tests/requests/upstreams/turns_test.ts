/** Turns in memory: shares hold in every stretch, whichever account drops out and comes back. */

import fc from "fast-check";
import { Turns } from "../../../src/requests/upstreams/turns.ts";
import { assert, assertEquals } from "../../assert.ts";

const takers = fc.array(fc.nat(20), { minLength: 1, maxLength: 6 })
  .map((weights) => weights.map((weight, at) => ({ id: String(at), weight })));

function take(turns: Turns, all: readonly { id: string; weight: number }[], times: number) {
  const counts = new Map<string, number>();
  for (let at = 0; at < times; at++) {
    const { id } = turns.next(all)!;
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

Deno.test("Turns.next() gives each its share exactly, in every round of turns", () => {
  fc.assert(fc.property(takers, fc.nat(50), (all, offset) => {
    const total = all.reduce((sum, { weight }) => sum + weight, 0);
    fc.pre(total > 0);
    const turns = new Turns();
    take(turns, all, offset);
    const counts = take(turns, all, total);
    for (const { id, weight } of all) assertEquals(counts.get(id) ?? 0, weight);
  }));
});

Deno.test("Turns.next() stays within one turn of each share, at any point", () => {
  fc.assert(fc.property(takers, fc.integer({ min: 1, max: 200 }), (all, times) => {
    const total = all.reduce((sum, { weight }) => sum + weight, 0);
    fc.pre(total > 0);
    const counts = take(new Turns(), all, times);
    for (const { id, weight } of all) {
      const off = Math.abs((counts.get(id) ?? 0) - times * weight / total);
      assert(off < all.length, `${id}: ${off}`);
    }
  }));
});

Deno.test("Turns.next() never owes: one that was away gets its share from then on, no more", () => {
  const turns = new Turns();
  const [a, b] = [{ id: "a", weight: 1 }, { id: "b", weight: 1 }];
  for (let at = 0; at < 1_000; at++) assertEquals(turns.next([a]), a);
  assertEquals(take(turns, [a, b], 100), new Map([["a", 50], ["b", 50]]));
});

Deno.test("Turns.next() takes one without a share only when no other can", () => {
  const turns = new Turns();
  const [a, b] = [{ id: "a", weight: 0 }, { id: "b", weight: 2 }];
  assertEquals(take(turns, [a, b], 10), new Map([["b", 10]]));
  assertEquals(turns.next([a]), a);
  assertEquals(turns.next([]), undefined);
});

Deno.test("Turns.next() takes fractions: 0.75 and 0.25 are 3 and 1", () => {
  const all = [{ id: "a", weight: 0.75 }, { id: "b", weight: 0.25 }];
  assertEquals(take(new Turns(), all, 400), new Map([["a", 300], ["b", 100]]));
});
