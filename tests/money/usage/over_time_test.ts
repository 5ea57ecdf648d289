import { GROUPINGS, usageOverTime, usageReport } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { fillRichly, RICH_SETTINGS } from "../../doors/console/rich.ts";
import { startGateway } from "../../fake/gateway.ts";

Deno.test("usage over time adds up to the report, for each grouping; it ends where it should", async () => {
  await using gateway = await startGateway({ settings: RICH_SETTINGS });
  const { accountId } = await fillRichly(gateway, { requests: 60 });
  const { database } = gateway.gateway;
  const sums = (rows: readonly (readonly [string, { requests: number; credits: number }])[]) => {
    const found: Record<string, [number, number]> = {};
    for (const [name, { requests, credits }] of rows) {
      const [before, spent] = found[name] ?? [0, 0];
      found[name] = [before + requests, spent + credits];
    }
    return found;
  };
  for (const grouping of GROUPINGS) {
    const by = grouping === "model" || grouping === "key" ? grouping : undefined;
    const span = grouping === "hour" ? "hour" : "day";
    const points = await usageOverTime(database, { accountId, by, span, sinceMs: 0 });
    const nameOf = (atMs: number) =>
      span === "day"
        ? new Date(atMs).toISOString().slice(0, 10)
        : `${new Date(atMs).toISOString().slice(0, 13)}:00Z`;
    const report = await usageReport(database, { accountId, by: grouping });
    assert(report.length > 1);
    assertEquals(
      sums(points.map((one) => [by === undefined ? nameOf(one.atMs) : one.name, one])),
      sums(report.map((one) => [one.group, one])),
      grouping,
    );
  }
  const all = await usageOverTime(database, { accountId, span: "hour", sinceMs: 0 });
  const [sinceMs, untilMs] = [all[10]!.atMs, all[20]!.atMs];
  assertEquals(
    await usageOverTime(database, { accountId, span: "hour", sinceMs, untilMs }),
    all.slice(10, 20),
  );
});

Deno.test("days read from the roll-ups of days are as those of the hours", async () => {
  await using gateway = await startGateway({ settings: RICH_SETTINGS });
  const { accountId } = await fillRichly(gateway, { requests: 60 });
  const { database } = gateway.gateway;
  const all = await usageOverTime(database, { accountId, by: "model", span: "day", sinceMs: 0 });
  const [sinceMs, untilMs] = [all[5]!.atMs, all.at(-5)!.atMs];
  const fromDays = await usageOverTime(database, {
    accountId,
    by: "model",
    span: "day",
    sinceMs,
    untilMs,
  });
  assertEquals(fromDays, all.filter(({ atMs }) => atMs >= sinceMs && atMs < untilMs));
  assert(fromDays.length > 5);
  assertEquals(
    await usageOverTime(database, { accountId: "acc_nobody", span: "day", sinceMs }),
    [],
  );
});
