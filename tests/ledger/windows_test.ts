import { nearestWindow } from "../../src/admission/mod.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { newRequestId } from "../../src/ids.ts";
import { admit, TierList } from "../../src/ledger/mod.ts";
import { assertEquals } from "../assert.ts";
import { ledgerBench } from "../fake/ledger.ts";
import { tempDir } from "../fake/temp.ts";

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
    if (limits === undefined) {
      assertEquals([first.verdict, first.windows], ["credits", []]);
      return;
    }
    assertEquals(first.windows.map(({ limit, used }) => [limit, used]), limits.map((n) => [n, 0]));
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

Deno.test("windows: exact under 50 parallel clients, and they begin anew", async () => {
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
});

Deno.test("windows: the one nearest to exhaustion is told", () => {
  const windows = (minute: number, hour: number, day: number) =>
    [
      { span: "minute", limit: 20, used: minute },
      { span: "hour", limit: 600, used: hour },
      { span: "day", limit: 5_000, used: day },
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
  assertEquals(nearestWindow([], NOON), undefined);
});
