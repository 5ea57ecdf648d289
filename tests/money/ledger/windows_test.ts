import { nearestWindow } from "../../../src/requests/admission/mod.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { accountStatusOf, admit, audit, TierList } from "../../../src/money/ledger/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { tempDir } from "../../fake/temp.ts";

await using dir = await tempDir();
const { settings } = await loadConfig({ env: {}, directory: dir.path });
const tierList = new TierList(settings.tiers);

/** The built-in tiers, at every boundary: balance, then requests per minute, hour and day. */
const BOUNDARIES: readonly (readonly [number, readonly [number, number, number] | undefined])[] = [
  [0, undefined],
  [1, [20, 600, 5_000]],
  [100, [20, 600, 5_000]],
  [101, [60, 2_000, 20_000]],
  [1_000, [60, 2_000, 20_000]],
  [1_001, [200, 6_000, 50_000]],
  [10_000, [200, 6_000, 50_000]],
  [10_001, [500, 15_000, 100_000]],
];

const NOON = Date.UTC(2030, 0, 15, 12);

for (const [balance, limits] of BOUNDARIES) {
  Deno.test(`windows: a balance of ${balance} allows ${limits?.join(" / ") ?? "nothing"}`, async () => {
    await using bench = await ledgerBench("file");
    await bench.database.batch(tierList.statements);
    const caller = await bench.account();
    if (balance > 0) await bench.grant(caller.accountId, balance);
    const ask = (nowMs: number) =>
      admit(bench.database, {
        requestId: newRequestId(nowMs),
        ...caller,
        gatewayId: "gw",
        least: 0,
        wanted: 1,
        nowMs,
        leaseMs: 60_000,
        tierListId: tierList.id,
      });
    const first = await ask(NOON);
    const { windows } = await accountStatusOf(bench.database, caller, tierList, NOON);
    assertEquals(windows.map(({ limit }) => limit), [
      ...limits ?? [],
      ...(limits ?? []).map((n) => 5 * n),
    ]);
    if (limits === undefined) {
      assertEquals([first.verdict, first.windows], ["credits", []]);
      return;
    }
    assertEquals(first.windows.map(({ of, limit, used }) => [of, limit, used]), [
      ...limits.map((n) => ["key", n, 0]),
      ...limits.map((n) => ["account", 5 * n, 0]),
    ]);
    // each window in turn: filled but for one by hand, it takes that one and no more
    for (const [at, span] of [60_000, 3_600_000, 86_400_000].entries()) {
      const limit = limits[at]!;
      await bench.database.batch([
        { sql: "delete from holds" },
        { sql: "delete from windows" },
        {
          sql: "insert into windows (key_id, span_ms, at_ms, used) values (?, ?, ?, ?)",
          args: [caller.keyId, span, Math.floor(NOON / span) * span, limit - 1],
        },
      ]);
      const verdicts = [];
      for (let times = 0; times < 3; times++) verdicts.push((await ask(NOON)).verdict);
      assertEquals(verdicts, ["admitted", "rate", "rate"]);
    }
  });
}

// Proves P8.
Deno.test("windows: exact under 50 parallel clients, and they begin again", async () => {
  await using bench = await ledgerBench("file");
  await bench.database.batch(tierList.statements);
  const caller = await bench.account();
  await bench.grant(caller.accountId, 100);
  const ask = (nowMs: number) =>
    admit(bench.database, {
      requestId: newRequestId(nowMs),
      ...caller,
      gatewayId: "gw",
      least: 1,
      wanted: 1,
      nowMs,
      leaseMs: 60_000,
      tierListId: tierList.id,
    });
  const admitted = async (nowMs: number) => {
    const all = await Promise.all(Array.from({ length: 50 }, () => ask(nowMs)));
    return all.filter(({ verdict }) => verdict === "admitted").length;
  };
  assertEquals(await admitted(NOON), 20);
  assertEquals(await admitted(NOON + 59_999), 0);
  assertEquals(await admitted(NOON + 60_000), 20);
  // a clock that jumps ahead opens a window of its own, and back it finds the counts of before
  assertEquals(await admitted(NOON + 86_400_000), 20);
  assertEquals(await admitted(NOON), 0);
  assertEquals(await admitted(NOON + 60_000), 0);
  assertEquals(await admitted(NOON + 120_000), 20);
  // each is told as it is counted: its own span, and the one that is now
  assertEquals((await ask(NOON + 180_000)).verdict, "admitted");
  const used = async (nowMs: number) => {
    const { windows } = await accountStatusOf(bench.database, caller, tierList, nowMs);
    return windows.map(({ of, span, used }) => `${of} ${span} ${used}`);
  };
  const told = (...counts: readonly number[]) =>
    ["key", "account"].flatMap((of) =>
      ["minute", "hour", "day"].map((span, at) => `${of} ${span} ${counts[at]}`)
    );
  assertEquals(await used(NOON + 180_000), told(1, 61, 61));
  assertEquals(await used(NOON), told(20, 61, 61));
  assertEquals(await used(NOON + 240_000), told(0, 61, 61));
  assertEquals(await used(NOON + 3_600_000), told(0, 0, 61));
  assertEquals(await used(NOON + 86_400_000), told(20, 20, 20));
  const nobody = { accountId: "acc_none", keyId: "key_none" };
  assertEquals(await accountStatusOf(bench.database, nobody, tierList, NOON), {
    balance: 0,
    windows: [],
    budget: undefined,
  });
});

Deno.test("windows: an account's keys share its windows, so that many keys multiply nothing", async () => {
  for (
    const [tier, limit] of [
      [{ above: 0, minute: 4, hour: 100, day: 100 }, 20],
      [{ above: 0, minute: 4, hour: 100, day: 100, account: { minute: 9 } }, 9],
      [{ above: 0, minute: 4, hour: 3, day: 100, account: { day: 7 } }, 7],
    ] as const
  ) {
    await using bench = await ledgerBench("file");
    const list = new TierList([tier]);
    await bench.database.batch(list.statements);
    const { accountId, keyId } = await bench.account();
    const other = await bench.account();
    await bench.grant(accountId, 1_000);
    await bench.grant(other.accountId, 1_000);
    const keys = [keyId];
    for (let n = 0; n < 7; n++) keys.push(await bench.key(accountId));
    const ask = (caller: { accountId: string; keyId: string }) =>
      admit(bench.database, {
        requestId: newRequestId(NOON),
        ...caller,
        gatewayId: "gw",
        least: 1,
        wanted: 1,
        nowMs: NOON,
        leaseMs: 60_000,
        tierListId: list.id,
      });
    const asks = keys.flatMap((key) => Array.from({ length: 4 }, () => key));
    const decisions = await Promise.all(asks.map((key) => ask({ accountId, keyId: key })));
    const admitted = decisions.filter(({ verdict }) => verdict === "admitted");
    assertEquals(admitted.length, limit);
    const last = decisions.at(-1)!;
    const window = nearestWindow(last.windows, NOON)!;
    assertEquals([last.verdict, window.of, window.limit], ["rate", "account", limit]);
    assertEquals((await ask(other)).verdict, "admitted");
    assertEquals((await audit(bench.database)).mismatches, []);
    const standing = await accountStatusOf(bench.database, { accountId, keyId }, list, NOON);
    assertEquals(nearestWindow(standing.windows, NOON)!.remaining, 0);
    assertEquals(standing.windows.filter(({ of }) => of === "account").map(({ used }) => used), [
      limit,
      limit,
      limit,
    ]);
  }
});

Deno.test("windows: the one nearest to exhaustion is told", () => {
  const windows = (minute: number, hour: number, day: number, account = 0) =>
    [
      { of: "key", span: "minute", limit: 20, used: minute },
      { of: "key", span: "hour", limit: 600, used: hour },
      { of: "key", span: "day", limit: 5_000, used: day },
      { of: "account", span: "minute", limit: 100, used: account },
    ] as const;
  const told = (minute: number, hour: number, day: number) => {
    const found = nearestWindow(windows(minute, hour, day), NOON + 30_000)!;
    return [found.span, found.remaining, found.resetAtMs - NOON];
  };
  assertEquals(told(1, 1, 1), ["minute", 19, 60_000]);
  assertEquals(told(1, 595, 600), ["hour", 5, 3_600_000]);
  assertEquals(told(20, 600, 700), ["hour", 0, 3_600_000]); // the longer wait is the true one
  assertEquals(told(1, 1, 5_000), ["day", 0, 43_200_000]);
  assertEquals(told(30, 1, 1), ["minute", 0, 60_000]); // a tier that has become smaller
  assertEquals(nearestWindow(windows(19, 1, 1, 99), NOON)!.of, "key");
  assertEquals(nearestWindow(windows(18, 1, 1, 99), NOON)!.of, "account");
  assertEquals(nearestWindow([], NOON), undefined);
});

Deno.test("windows: balances around one have its tier", () => {
  const tier = { minute: 1, hour: 1, day: 1 };
  const list = new TierList([{ above: 0, ...tier }, { above: 100, ...tier }]);
  const ranges = [0, 1, 100, 101].map((balance) => list.rangeOf(balance));
  assertEquals(ranges.map(({ above, upTo }) => [above, upTo]), [
    [-1, 0],
    [0, 100],
    [0, 100],
    [100, Infinity],
  ]);
});
