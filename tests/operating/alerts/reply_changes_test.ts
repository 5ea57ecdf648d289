import { openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { memoryOf } from "../../../src/operating/alerts/jobs.ts";
import { replyChanges } from "../../../src/operating/alerts/reply_changes.ts";
import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test("a share of cached input that falls by half is an alert, where both hours say enough (table)", async () => {
  await using directory = await tempDir();
  const file = `${directory.path}/sluice.db`;
  await writeEmptyDatabase(file);
  const database = await openDatabase({ file, durability: "normal", rules: RULES, now: () => 1 });
  const hourMs = 3_600_000;
  const thisHour = Date.parse("2026-05-01T10:00:00Z");
  type Hour = readonly [inputTokens: number, cachedTokens: number, requests: number];
  const much = 200_000;
  const cases: readonly (readonly [before: Hour | undefined, now: Hour, isAlert: boolean])[] = [
    [[much, 100_000, 20], [much, 50_000, 20], true], // by half
    [[much, 100_000, 20], [much, 50_001, 20], false],
    [[much, 100_000, 20], [much, 0, 20], true],
    [[much, 20_000, 20], [much, 0, 20], true], // a tenth is something to lose
    [[much, 19_999, 20], [much, 0, 20], false],
    [[much - 1, 100_000, 20], [much, 0, 20], false],
    [[much, 100_000, 19], [much, 0, 20], false],
    [[much, 100_000, 20], [much - 1, 0, 20], false],
    [[much, 100_000, 20], [much, 0, 19], false],
    [undefined, [much, 0, 20], false],
    [[much, 0, 20], [much, 100_000, 20], false],
  ];
  const insert = (at: number, atMs: number, [input, cached, requests]: Hour) => ({
    sql:
      `insert into usage_totals (hour_at_ms, route, requests, errors, input_tokens, cached_tokens,
        output_tokens, duration_ms, credits, saved_millionths) values (?, ?, ?, 0, ?, ?, 0, 0, 0, 0)`,
    args: [atMs, `route ${at}`, requests, input, cached],
  });
  await database.batch(cases.flatMap(([before, now], at) => [
    ...before === undefined ? [] : [insert(at, thisHour - hourMs, before)],
    insert(at, thisHour, now),
    insert(at, thisHour - 2 * hourMs, [much, much, 20]), // is of no matter
  ]));
  for (const nowMs of [thisHour, thisHour + hourMs - 1]) {
    const { alerts } = await replyChanges(database, nowMs);
    const expected = cases.flatMap(([, , isAlert], at) => isAlert ? [`route ${at}`] : []);
    assertEquals(alerts.map(({ data }) => data.route).toSorted(), expected.toSorted());
    assertEquals(alerts[0]!.mark, "cache_share_fell:route 0:2026-05-01T10");
    assertStringIncludes(alerts[0]!.title, "fell from 50 % to 25 %");
  }
  // the newest requests are read only where an hour shows something
  let reads = 0;
  const counted = guardedDatabase(database, () => reads++);
  await replyChanges(counted, thisHour);
  const withAlerts = reads;
  await replyChanges(counted, thisHour + 10 * hourMs);
  assertEquals(reads - withAlerts, withAlerts - 1);
  await database.close();
});

Deno.test("a model that another begins to reply for raises one alert, and so does a cache that is missed", async () => {
  let answered = "m-2026-01";
  let cached = 8_100;
  let nowMs = Date.parse("2026-05-01T10:20:00Z");
  await using upstream = fakeUpstream(() =>
    completion("well", {
      model: answered,
      usage: {
        prompt_tokens: 10_800,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: cached },
      },
    })
  );
  await using gateway = await startGateway({
    now: () => nowMs,
    settings: {
      upstreams: { up: { url: upstream.url, key: "k", allowForwardedKeys: true } },
      routes: {
        m: {
          context: 1_000_000,
          minimum: 0,
          prices: { input: 1, cached: 1, output: 1 },
          targets: [{ upstream: "up", model: "m" }],
        },
      },
    },
  });
  const { keys: [key] } = await customer(gateway, 1_000);
  const { gateway: { database } } = gateway;
  const prompt = "word ".repeat(2_700);
  const send = async (times: number, headers = {}) => {
    for (let at = 0; at < times; at++) {
      const options = { key: key!, headers };
      await (await gateway.chat(prompt, { model: "m", max_tokens: 10 }, options)).text();
    }
  };
  const kinds = async () => {
    const { alerts, done } = await replyChanges(database, nowMs);
    await done();
    return alerts.map(({ kind, data }) => [kind, data.answered ?? data.route]);
  };
  await send(20);
  assertEquals(await kinds(), [], "what it had been all along");
  answered = "m-2026-05"; // at first with a key of the caller's own, whose account may have other names
  await send(1, { "x-sluice-upstream-key": "sk-own-0123456789" });
  assertEquals(await kinds(), []);
  cached = 3_780;
  nowMs += 3_600_000;
  await send(1);
  assertEquals(await kinds(), [["model_changed", "m-2026-05"]]);
  const known = await memoryOf(database, "answered_models");
  assertEquals(await kinds(), [], "once");
  assertEquals(await memoryOf(database, "answered_models"), known, "and it is not written again");
  await send(19);
  assertEquals(await kinds(), [["cache_share_fell", "m"]]);
  const { alerts: [alert] } = await replyChanges(database, nowMs);
  assertStringIncludes(alert!.title, "fell from 75 % to 35 %");
  // half of the hour before is gone: the same share again is none
  nowMs += 3_600_000;
  await send(20);
  assertEquals(await kinds(), []);
  // what keys of the caller's own miss is none of the operator's, whether beside other requests or alone
  cached = 0;
  nowMs += 3_600_000;
  await send(20, { "x-sluice-upstream-key": "sk-own-0123456789" });
  assertEquals(await kinds(), []);
  cached = 3_780;
  await send(1);
  assertEquals(await kinds(), []);
  // nor is what the newest miss where the hour as a whole does not
  cached = 8_100;
  nowMs += 3_600_000;
  await send(20);
  nowMs += 3_600_000;
  await send(20, { "x-sluice-upstream-key": "sk-own-0123456789" });
  cached = 3_780;
  await send(1);
  assertEquals(await kinds(), []);
});
