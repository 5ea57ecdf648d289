/** What a hold pays for, which window is the nearest and what a refusal says: at each bound, and one beyond it. */

import { budgetRefusal } from "../../../src/requests/admission/budget_refusal.ts";
import { Demand, Demands } from "../../../src/requests/admission/demands.ts";
import { Hold, type HoldTerms } from "../../../src/requests/admission/hold.ts";
import { nearestWindow } from "../../../src/requests/admission/windows.ts";
import type { Budget, WindowState } from "../../../src/money/ledger/mod.ts";
import { assertEquals } from "../../assert.ts";

/** A credit buys 1,000 tokens of output. */
const ROUTE = {
  id: "r",
  prices: { input: 0, cached: 0, output: 1_000 },
  minimum: 0,
} as unknown as HoldTerms["route"];

/** A hold of up to 8,000 tokens, of which 10,000 may be charged, and what it asks for. */
function held(
  credits: number,
  terms: Partial<HoldTerms> = {},
  granted = (wanted: number) => wanted,
) {
  const asked: number[] = [];
  const all = {
    route: ROUTE,
    inputTokens: 0,
    maxOutput: 8_000,
    choices: 1,
    admittedAtMs: 0,
    ...terms,
  };
  const hold = new Hold(all, credits, (wanted) => {
    asked.push(wanted);
    return Promise.resolve(granted(wanted));
  }, () => {});
  return { hold, asked };
}

Deno.test("a hold pays for tokens up to what may be charged, and delivers more than tokenizers explain never", () => {
  const rows: [credits: number, terms: Partial<HoldTerms>, [number, number, number]][] = [
    [2, {}, [2_000, 10_000, 16_000]],
    [10, {}, [10_000, 10_000, 16_000]],
    [11, {}, [10_000, 10_000, 16_000]],
    [3, { reservedCredits: 1 }, [2_000, 10_000, 16_000]],
    // beyond a small limit 64 tokens for each choice may be charged
    [2, { maxOutput: 100 }, [164, 164, 262]],
    [2, { maxOutput: 256 }, [320, 320, 512]],
    [2, { maxOutput: 257 }, [322, 322, 515]],
    [2, { maxOutput: 256, choices: 2 }, [384, 384, 614]],
  ];
  for (const [credits, terms, tokens] of rows) {
    const { hold } = held(credits, terms);
    assertEquals([hold.outputTokens, hold.maxCharged, hold.maxDelivered], tokens);
  }
});

Deno.test("a hold grows ahead of its end by a step, up to its limit, and no further than it has to", () => {
  const rows: [credits: number, used: number, terms: Partial<HoldTerms>, asked: number[]][] = [
    [2, 976, {}, []],
    [2, 977, {}, [7]],
    [3, 977, { reservedCredits: 1 }, [8]],
    [2, 977, { choices: 2, maxOutput: 20_000 }, [11]],
    [7, 6_000, {}, [8]],
    [8, 8_000, {}, []],
  ];
  for (const [credits, used, terms, asked] of rows) {
    const one = held(credits, terms);
    one.hold.lookAhead(used);
    one.hold.lookAhead(used);
    assertEquals(one.asked, asked, JSON.stringify([credits, used, terms]));
  }
});

Deno.test("output goes on while it is paid for; once all is that may be charged, as far as a count may err", async () => {
  const all = (wanted: number) => wanted;
  const rows: [
    credits: number,
    used: number,
    granted: (n: number) => number,
    [number, number[]],
  ][] = [
    [2, 1_999, all, [2_000, []]],
    [2, 2_000, all, [7_000, [7]]],
    [2, 2_000, () => 2, [2_000, [7]]],
    [2, 2_500, () => 2, [2_000, [7]]],
    [8, 8_000, all, [10_000, [10]]],
    [9, 9_000, () => 9, [9_000, [10]]],
    [10, 9_999, all, [10_000, []]],
    [10, 10_000, all, [16_000, [10]]],
  ];
  for (const [credits, used, granted, [tokens, asked]] of rows) {
    const one = held(credits, {}, granted);
    assertEquals([await one.hold.extend(used), one.asked], [tokens, asked], `${credits} ${used}`);
  }
});

Deno.test("the nearest window has the fewest requests left; of several, it ends last", () => {
  const window = (of: WindowState["of"], span: WindowState["span"], used: number) => (
    { of, span, limit: 10, used }
  );
  const nearest = (windows: readonly WindowState[], nowMs: number) => {
    const found = nearestWindow(windows, nowMs);
    return found && [found.of, found.span, found.remaining, found.resetAtMs];
  };
  assertEquals(nearest([], 0), undefined);
  const [minute, hour] = [window("key", "minute", 8), window("account", "hour", 8)];
  assertEquals(nearest([minute, hour], 59_999), ["account", "hour", 2, 3_600_000]);
  assertEquals(nearest([hour, minute], 60_000), ["account", "hour", 2, 3_600_000]);
  assertEquals(nearest([{ ...minute, used: 9 }, hour], 59_999), ["key", "minute", 1, 60_000]);
  assertEquals(nearest([{ ...minute, used: 9 }, hour], 60_000), ["key", "minute", 1, 120_000]);
  assertEquals(nearest([{ ...minute, used: 12 }, hour], 0), ["key", "minute", 0, 60_000]);
});

Deno.test("requests are counted together for a second", () => {
  const demand = new Demand();
  const counts = [5, 6, 1_005, 1_006, 1_007].map((tick) => demand.count(tick));
  assertEquals(counts, [1, 2, 3, 1, 2]);
});

Deno.test("of more accounts than are known, those are forgotten first of which nothing is under way", async () => {
  const demands = new Demands((accountId) => accountId === "lent");
  const kept = ["asking", "recall", "lent"].map((name) => demands.of(name));
  const asked = Promise.withResolvers<void>();
  kept[1]!.recall = Promise.resolve();
  assertEquals(demands.isAsking, false);
  kept[0]!.asking = asked.promise.then(() => kept[0]!.asking = undefined);
  assertEquals(demands.isAsking, true);
  for (let at = 3; at < 10_000; at++) demands.of(`a${at}`);
  assertEquals([demands.find("a3") !== undefined, demands.find("a10000")], [true, undefined]);
  demands.of("a3"); // known already
  demands.of("a10000");
  assertEquals([demands.find("a3"), demands.find("a4") !== undefined], [undefined, true]);
  assertEquals(["asking", "recall", "lent"].map((name) => demands.find(name)), kept);
  let isSettled = false;
  const settled = demands.settled().then(() => isSettled = true);
  await Promise.resolve();
  assertEquals(isSettled, false);
  asked.resolve();
  await settled;
  assertEquals(demands.isAsking, false);
});

Deno.test("a budget's refusal names whose it is, what is spent and held, and when it renews", () => {
  const budget = {
    owner: "key",
    period: "day",
    credits: 10,
    raise: null,
    spent: 9,
    held: 0,
    renewsAtMs: null,
    zone: "UTC",
  } as unknown as Budget;
  const caller = { teamName: "Red", memberEmail: "ada@example.com" };
  const said = (change: Partial<Budget>, least = 2, isLent = false) =>
    budgetRefusal({ ...budget, ...change }, { caller, least, isLent }).message;
  assertEquals(
    said({}),
    "The daily budget of this API key does not cover this request, which costs at least 2 credits: " +
      "9 of 10 credits are spent. It does not renew. Raise the budget, or use another key.",
  );
  assertEquals(
    said({
      owner: "member",
      period: "life",
      held: 1,
      renewsAtMs: 0,
      raise: { credits: 5 } as never,
    }, 1),
    "The lifetime budget of ada@example.com in the team Red does not cover this request, which costs at " +
      "least 1 credit: 9 of 15 credits are spent, and requests in progress hold 1. " +
      "It renews at 1970-01-01 00:00 UTC. Ask a lead of the team to raise it.",
  );
  assertEquals(
    /\d+ of 1 .*spent/.exec(said({ spent: 1, credits: 1 }))?.[0],
    "1 of 1 credit is spent",
  );
  assertEquals(
    said({ spent: 0, held: 9 }, 2, true),
    "The daily budget of this API key does not cover this request, which costs at least 2 credits: " +
      "0 of 10 credits are spent, and 9 are held, some of it for a gateway that is gone. What that gateway was lent is free again " +
      "when it is started with its data directory, or when an operator writes it off (sluice credits write-off). " +
      "It does not renew. Raise the budget, or use another key.",
  );
  assertEquals(said({ owner: "team" }).includes("of the team Red does"), true);
  assertEquals(said({ owner: "account" }).includes("of this account does"), true);
});
