/** Where conversations were answered last, in memory: bounded by number and time. */

import fc from "fast-check";
import { Affinity, type AffinityNews } from "../../../src/requests/upstreams/affinity.ts";
import { assert, assertEquals } from "../../assert.ts";

const LIMITS = { conversations: 5, idleMs: 100 };
const placeOf = (upstream: string) => ({ upstream, model: "m", keyId: undefined });

Deno.test("Affinity forgets the conversation that was used longest ago when there are too many", () => {
  const affinity = new Affinity(() => 0, LIMITS);
  for (const id of ["a", "b", "c", "d", "e"]) affinity.remember(id, "route", placeOf(id));
  affinity.remember("a", "route", placeOf("again"));
  affinity.remember("f", "route", placeOf("f"));
  assertEquals(affinity.size, 5);
  assertEquals(affinity.placeOf("b"), undefined);
  assertEquals(affinity.placeOf("a")?.upstream, "again");
});

Deno.test("Affinity forgets a conversation that was idle for too long", () => {
  let now = 0;
  const affinity = new Affinity(() => now, LIMITS);
  affinity.remember("a", "route", placeOf("a"));
  now = 100;
  assert(affinity.placeOf("a"));
  now = 101;
  assertEquals(affinity.placeOf("a"), undefined);
  assertEquals([affinity.size, affinity.knows("route")], [0, false]);
});

Deno.test("Affinity: idle conversations go when others are remembered, although nobody asks for them", () => {
  let now = 0;
  const affinity = new Affinity(() => now, LIMITS);
  for (const id of ["a", "b", "c"]) affinity.remember(id, "old", placeOf(id));
  now = 100;
  affinity.remember("c", "old", placeOf("c"));
  assertEquals(affinity.size, 3, "they are not idle for longer than allowed");
  now = 201;
  affinity.remember("d", "new", placeOf("d"));
  assertEquals([affinity.size, affinity.knows("old"), affinity.knows("new")], [1, false, true]);
});

Deno.test("Affinity agrees with a plain model, whatever is remembered and forgotten", () => {
  const step = fc.record({
    id: fc.constantFrom(..."abcdefgh"),
    route: fc.constantFrom("r1", "r2"),
    act: fc.constantFrom("remember", "forget", "wait", "look"),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    let now = 0;
    const affinity = new Affinity(() => now, LIMITS);
    let model: { id: string; route: string; at: number }[] = [];
    for (const { id, route, act } of steps) {
      model = model.filter(({ at }) => now - at <= LIMITS.idleMs);
      if (act === "wait") now += 30;
      if (act === "forget") {
        affinity.forget(id);
        model = model.filter((one) => one.id !== id);
      }
      if (act === "remember") {
        // a route is part of a conversation's identity
        affinity.remember(`${route} ${id}`, route, placeOf(id));
        model = model.filter((one) => one.id !== `${route} ${id}`);
        model.push({ id: `${route} ${id}`, route, at: now });
        model = model.slice(-LIMITS.conversations);
      }
      for (const one of model) {
        if (now - one.at <= LIMITS.idleMs) {
          assert(affinity.placeOf(one.id), one.id);
          assert(affinity.knows(one.route));
        }
      }
      assert(affinity.size <= LIMITS.conversations);
    }
  }));
});

Deno.test("Affinity tells the other threads what they do not know yet, and nothing else", () => {
  let now = 0;
  const [one, other] = [new Affinity(() => now, LIMITS), new Affinity(() => now, LIMITS)];
  const told: AffinityNews[] = [];
  one.send = (news) => {
    told.push(news);
    other.onNews(news);
  };
  other.send = (news) => one.onNews(news);
  one.remember("a", "route", placeOf("x"));
  one.remember("a", "route", placeOf("x"));
  assertEquals(told.length, 1);
  assertEquals(other.placeOf("a")?.upstream, "x");
  other.remember("a", "route", placeOf("x")); // it knows from the first
  one.remember("a", "route", placeOf("y"));
  assertEquals([told.length, other.placeOf("a")?.upstream], [2, "y"]);

  // one that goes on in one thread is not idle in the others
  for (now = 20; now <= 200; now += 20) one.remember("a", "route", placeOf("y"));
  assertEquals(other.placeOf("a")?.upstream, "y");
  assert(told.length < 8, `${told.length}`);

  other.forget("a");
  assertEquals([one.placeOf("a"), one.knows("route")], [undefined, false]);
  other.forget("a");
});

Deno.test("Affinity: another upstream, model or key is news, and so is a place after a quarter of the idle time", () => {
  let now = 0;
  const [one, other] = [new Affinity(() => now, LIMITS), new Affinity(() => now, LIMITS)];
  const told: AffinityNews[] = [];
  one.send = (news) => told.push(news);
  const place = { upstream: "u", model: "m", keyId: "k" };
  for (const more of [{}, { upstream: "v" }, { model: "n" }, { keyId: undefined }]) {
    one.remember("a", "route", place);
    told.length = 0;
    one.remember("a", "route", { ...place, ...more });
    assertEquals(told.length, Object.keys(more).length, JSON.stringify(more));
  }
  one.remember("a", "route", place);
  told.length = 0;
  now = 25;
  one.remember("a", "route", place);
  assertEquals(told.length, 0, "a quarter");
  now = 26;
  one.remember("a", "route", place);
  assertEquals(told.length, 1, "and more");

  // what one tells, the other need not tell again; what it knows as well is nothing new to it
  other.send = () => assert(false, "this is known");
  const news = told[0]!;
  other.onNews(news);
  now = 60;
  other.onNews(news);
  other.onNews(news);
  now = 80;
  other.remember("a", "route", place);
  // nor is there anything to forget of what it does not remember
  other.forget("b");
  other.onNews({ ...news, conversation: "b", place: undefined });
  assertEquals([other.size, other.placeOf("a")], [1, place]);
});
