import { CoarseTimers } from "../../../src/ground/platform/coarse_timers.ts";
import {
  FairShare,
  RoundRobin,
  type Share,
  SharedUse,
} from "../../../src/ground/fair_share/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { DEADLINE_MS, sleep } from "../../fake/temp.ts";

/** A pool with timers of its own, for the time of a test; what waits is not given up unless the test says when. */
function pool(
  options: { capacity: number; perAccount: number; waitMs?: number; shared?: SharedUse },
) {
  const timers = new CoarseTimers();
  const share = new FairShare({ resource: "tests", waitMs: DEADLINE_MS, timers, ...options });
  return { share, [Symbol.dispose]: () => timers.close() };
}

Deno.test("RoundRobin: an owner of many items delays another's by one", () => {
  const queue = new RoundRobin<string>();
  for (let at = 0; at < 1_000; at++) queue.add("ada", `a${at}`);
  queue.add("bob", "b0");
  assertEquals([queue.take(), queue.take(), queue.take()], ["a0", "b0", "a1"]);
  queue.remove("ada", "a2");
  queue.add("ada", "first", { first: true });
  assertEquals([queue.take(), queue.take(), queue.size], ["first", "a3", 996]);
});

// Proves P15.
Deno.test("FairShare: one account cannot take the units of another", async () => {
  using pools = pool({ capacity: 10, perAccount: 5 });
  const { share } = pools;
  const all = await share.take("ada", 50);
  assertEquals([all.units, share.used], [5, 5]); // its whole share
  const more = share.take("ada", 1);
  const other = await share.take("bob", 5);
  assertEquals(share.waiting, 1);
  const error = assertThrows(() => share.takeNow("cy", 1), Refusal);
  assertEquals([error.reason, error.retryAfterMs], ["gateway_unavailable", 2_000]);
  all.shrink(4);
  assertEquals((await more).units, 1);
  all.release();
  all.release();
  other.release();
  (await more).release();
  assertEquals([share.used, share.waiting], [0, 0]);
});

Deno.test("FairShare: accounts that wait are served in turn, however often each asked", async () => {
  using pools = pool({ capacity: 1, perAccount: 1 });
  const { share } = pools;
  const order: string[] = [];
  const held = await share.take("x", 1);
  const waits = ["ada", "ada", "ada", "bob"].map(async (account) => {
    const own = await share.take(account, 1);
    order.push(account);
    own.release();
  });
  held.release();
  await Promise.all(waits);
  assertEquals(order, ["ada", "bob", "ada", "ada"]);
});

Deno.test("FairShare: a large request is not overtaken by small ones of others", async () => {
  using pools = pool({ capacity: 10, perAccount: 10 });
  const { share } = pools;
  const order: string[] = [];
  const held = await share.take("x", 6);
  const large = share.take("ada", 8).then((own) => (order.push("large"), own));
  const small = share.take("bob", 1).then((own) => (order.push("small"), own));
  await sleep(1);
  assertEquals(order, []);
  held.release();
  for (const own of await Promise.all([large, small])) own.release();
  assertEquals(order, ["large", "small"]);
});

Deno.test("FairShare: a wait ends at its deadline or with its caller, and its units go to others", async () => {
  using pools = pool({ capacity: 4, perAccount: 4, waitMs: 100 });
  const { share } = pools;
  const held = await share.take("x", 3);
  const large = assertRejects(() => share.take("ada", 4), Refusal);
  const small = share.take("bob", 1);
  assertEquals((await large).reason, "gateway_unavailable");
  (await small).release(); // it waited behind the large one

  const gone = new AbortController();
  const left = share.take("ada", 4, gone.signal).catch((reason) => reason);
  const behind = share.take("bob", 1);
  gone.abort("gone");
  assertEquals(await left, "gone");
  (await behind).release();
  assertEquals(await share.take("ada", 1, gone.signal).catch((reason) => reason), "gone");
  held.release();
  assertEquals([share.used, share.waiting], [0, 0]);
});

Deno.test("FairShare: random histories never exceed the pool or an account's share, and end empty", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  using pools = pool({ capacity: 20, perAccount: 9, waitMs: 60 });
  const { share } = pools;
  const held = new Map<string, number>();
  const check = () => {
    const sum = [...held.values()].reduce((total, units) => total + units, 0);
    assert(sum <= 20, `seed ${seed}: ${sum} units`);
    for (const [account, units] of held) assert(units <= 9, `seed ${seed}: ${account} ${units}`);
  };
  const use = async () => {
    const account = random.pick(["a", "b", "c", "d"]);
    const gone = new AbortController();
    if (random.integer(0, 3) === 0) setTimeout(() => gone.abort(), random.integer(0, 40));
    let own: Share;
    try {
      own = await share.take(account, random.integer(1, 12), gone.signal);
    } catch {
      return;
    }
    let units = 0;
    const note = () => {
      held.set(account, (held.get(account) ?? 0) + own.units - units);
      units = own.units;
      check();
    };
    note();
    await sleep(random.integer(0, 5));
    if (random.integer(0, 1) === 0) await own.grow(units + 2, gone.signal).then(note, () => {});
    if (random.integer(0, 1) === 0) {
      held.set(account, held.get(account)! - Math.floor(units / 2));
      units -= Math.floor(units / 2);
      own.shrink(units);
    }
    await sleep(random.integer(0, 5));
    held.set(account, held.get(account)! - units);
    own.release();
  };
  await Promise.all(Array.from({ length: 400 }, async () => {
    await sleep(random.integer(0, 300));
    await use();
  }));
  assertEquals([share.used, share.waiting], [0, 0], `seed ${seed}`);
});

Deno.test("SharedUse: the bounds of a pool hold for all threads together", async () => {
  const memory = SharedUse.memory({ threads: 2, unit: 1 });
  const size = { capacity: 10, perAccount: 6 };
  using one = pool({ ...size, shared: new SharedUse(memory, 1) });
  using other = pool({ ...size, shared: new SharedUse(memory, 2) });

  const first = one.share.takeNow("ada", 4);
  assertThrows(() => other.share.takeNow("ada", 3), Refusal, "for this account");
  const second = other.share.takeNow("ada", 2);
  const third = other.share.takeNow("bob", 4);
  assertEquals([one.share.used, other.share.used], [10, 10]);
  const error = assertThrows(() => one.share.takeNow("cy", 1), Refusal);
  assertEquals(error.message, "Too many tests in progress. Please try again.");

  // what one thread returns, a request that waits in another gets
  const waiting = other.share.take("cy", 3);
  await sleep(50);
  assertEquals(other.share.waiting, 1);
  first.release();
  const fourth = await waiting;
  assertEquals([fourth.units, one.share.used], [3, 9]);

  for (const share of [second, third, fourth]) share.release();
  assertEquals(one.share.used, 0);
});

Deno.test("SharedUse: what a dead thread had in use is given back", () => {
  const memory = SharedUse.memory({ threads: 2, unit: 1_024 });
  const limits = { capacity: 10_240, perAccount: 10_240 };
  const [one, other] = [1, 2].map((thread) => new SharedUse(memory, thread));
  assertEquals(one!.raise("ada", { from: 0, to: 5_000 }, limits), "yes");
  assertEquals(other!.raise("ada", { from: 0, to: 5_000 }, limits), "yes");
  assertEquals(other!.raise("bob", { from: 0, to: 2_000 }, limits), "pool");
  assertEquals(one!.used, 10_240);
  new SharedUse(memory, 2).clear();
  assertEquals(one!.used, 5_120);
  one!.lower("ada", { from: 5_000, to: 1 });
  one!.lower("ada", { from: 1, to: 0 });
  assertEquals(one!.used, 0);
});

Deno.test("SharedUse: two threads that take and return at random stay in bounds and end empty", async () => {
  const memory = SharedUse.memory({ threads: 2, unit: 1 });
  const size = { capacity: 20, perAccount: 12 };
  using one = pool({ ...size, shared: new SharedUse(memory, 1) });
  using other = pool({ ...size, shared: new SharedUse(memory, 2) });
  const random = new Random(testSeed());
  await Promise.all(Array.from({ length: 300 }, async () => {
    const { share } = random.integer(0, 1) === 0 ? one : other;
    await sleep(random.integer(0, 200));
    using taken = await share.take(
      ["ada", "bob", "cy"][random.integer(0, 2)]!,
      random.integer(1, 8),
    );
    assert(one.share.used <= 20, `${one.share.used}`);
    await sleep(random.integer(0, 5));
    taken.shrink(random.integer(0, taken.units));
    await sleep(random.integer(0, 5));
  }));
  assertEquals([one.share.used, one.share.waiting, other.share.waiting], [0, 0, 0]);
});
