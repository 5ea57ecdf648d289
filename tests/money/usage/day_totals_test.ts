/** Totals of days hold whenever they are there, and are there once days are over. */

import type { Database } from "../../../src/ground/database/mod.ts";
import { placeOf } from "../../../src/ground/database/postgres/place.ts";
import { PostgresTransport } from "../../../src/ground/database/postgres/transport.ts";
import { audit, settle } from "../../../src/money/ledger/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { DayTotals } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { type LedgerBench, ledgerBench, possible } from "../../fake/ledger.ts";
import { whyNoPostgres } from "../../fake/postgres.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { until } from "../../fake/temp.ts";
import { PROOF } from "../../tier.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 9, 10);

const why = await whyNoPostgres();
const ignore = why !== undefined;
const skipped = why === undefined ? "" : ` (skipped: ${why})`;

/** Settles a request that failed or did not, with tags or without, at a time. */
async function request(
  { database }: LedgerBench,
  caller: { readonly accountId: string; readonly keyId: string },
  { random, startedAtMs }: { readonly random: Random; readonly startedAtMs: number },
): Promise<void> {
  const hasFailed = random.next() < 0.3;
  await settle(database, {
    ...caller,
    requestId: newRequestId(startedAtMs),
    dialect: "chat",
    route: random.pick(["svc-k2", "svc-k3"]),
    upstream: "one",
    upstreamModel: "m",
    attempts: 1,
    status: 200,
    ending: hasFailed ? "refused" : "complete",
    streamed: false,
    usageSource: "upstream",
    inputTokens: random.integer(1, 5_000),
    cachedTokens: 0,
    outputTokens: random.integer(1, 900),
    reasoningTokens: 0,
    startedAtMs,
    firstTokenMs: 1,
    durationMs: random.integer(1, 9_000),
    priceCredits: 0,
    prices: { input: 0, cached: 0, output: 0, minimum: 0 },
    admittedAtMs: null,
    ignored: "",
    settledAtMs: startedAtMs,
    failure: hasFailed ? { reason: "internal", message: "No." } : undefined,
    tags: random.next() < 0.5 ? undefined : { project: random.pick(["alpha", "beta"]) },
  });
}

/** Days and nouns of which there are totals, the first day as 0. */
async function summed({ database }: LedgerBench): Promise<readonly string[]> {
  const rows = await database.all(
    `select distinct day_at_ms, noun from usage_day_totals order by 1, 2`,
  );
  return rows.map(({ day_at_ms: atMs, noun }) => `${(Number(atMs) - START) / DAY} ${noun}`);
}

for (const kind of possible(["file", "server", "postgres"])) {
  const second = kind === "server" ? PROOF : {};
  Deno.test(
    `days are added up an hour after their end; a late request takes its day away (${kind})`,
    second,
    async () => {
      await using bench = await ledgerBench(kind);
      const random = new Random(7);
      const caller = await bench.account();
      let nowMs = START + 2 * DAY + HOUR - 1;
      const totals = new DayTotals({ database: bench.database, log: SILENT, now: () => nowMs });
      await totals.addUp();
      assertEquals(await summed(bench), []);
      for (const day of [0, 0, 0, 0, 0, 0, 1, 1, 2]) {
        await request(bench, caller, { random, startedAtMs: START + day * DAY + HOUR });
      }
      const tagsOf = async (day: number) =>
        (await bench.database.all(
          "select distinct name from usage_tags where span_ms = ? and at_ms = ?",
          [DAY, START + day * DAY],
        )).map(({ name }) => `${day} tag:${name}`);
      const nouns = async (day: number) =>
        [`${day} account`, `${day} model`, ...await tagsOf(day)].toSorted();
      await totals.addUp();
      assertEquals(await summed(bench), await nouns(0));
      nowMs++;
      await totals.addUp();
      assertEquals(await summed(bench), [...await nouns(0), ...await nouns(1)]);
      await request(bench, caller, { random, startedAtMs: START + DAY - 1 });
      assertEquals(await summed(bench), await nouns(1));
      await totals.addUp();
      assertEquals(await summed(bench), [...await nouns(0), ...await nouns(1)]);
      assertEquals((await audit(bench.database)).mismatches, []);
    },
  );
}

for (const kind of possible(["file", "postgres"])) {
  Deno.test(`totals hold while requests end, days are added up by two gateways, and some of it fails (${kind})`, async () => {
    const seed = testSeed();
    const random = new Random(seed);
    await using bench = await ledgerBench(kind);
    const callers = [await bench.account(), await bench.account(), await bench.account()];
    const warnings: string[] = [];
    const log = { ...SILENT, warn: (message: string) => void warnings.push(message) };
    let failing = false;
    const database = guardedDatabase(bench.database, () => {
      if (failing && random.next() < 0.3) throw new Error("the disk is full");
    });
    const gateways = [0, 1].map(() =>
      new DayTotals({ database, log, now: () => START + 20 * DAY + 2 * HOUR })
    );
    for (let round = 0; round < 6 || warnings.length === 0 && round < 60; round++) {
      failing = round % 2 === 1;
      await Promise.all([
        ...Array.from({ length: 25 }, () =>
          request(bench, random.pick(callers), {
            random,
            startedAtMs: START + random.integer(0, 12 * DAY),
          })),
        ...gateways.map((one) => one.addUp()),
      ]);
      const { mismatches } = await audit(bench.database);
      assertEquals(mismatches, [], `seed ${seed}, round ${round}`);
    }
    assert(warnings.length > 0, `seed ${seed}`);
    failing = false;
    await gateways[0]!.addUp();
    const rows = await bench.database.all(
      `select day_at_ms from usage_days where not exists (
      select 1 from usage_day_totals as known
      where known.day_at_ms = usage_days.day_at_ms and known.noun = 'account'
    )`,
    );
    assertEquals(rows, [], `seed ${seed}`);
    assertEquals((await audit(bench.database)).mismatches, [], `seed ${seed}`);
  });
}

Deno.test("a day is not done if a request ends while it is added up", async () => {
  await using bench = await ledgerBench("file");
  const random = new Random(3);
  const caller = await bench.account();
  await request(bench, caller, { random, startedAtMs: START });
  let batches = 0;
  const database: Database = {
    ...guardedDatabase(bench.database, () => {}),
    batch: async (statements) => {
      const rows = await bench.database.batch(statements);
      // after the totals of its model: those by account are the next
      if (statements[1]!.args!.includes("model") && batches++ === 0) {
        await request(bench, caller, { random, startedAtMs: START + HOUR });
        await bench.database.batch([{
          sql:
            `insert into usage_day_totals select day_at_ms, 'tag:other', '', 0, 0, 0, 0, 0, 0, 0, 0
            from usage_days`,
        }]);
      }
      return rows;
    },
  };
  const totals = new DayTotals({ database, log: SILENT, now: () => START + 2 * DAY });
  await totals.addUp();
  assertEquals(await summed(bench), ["0 tag:other"]);
  await totals.addUp();
  assert((await summed(bench)).includes("0 account"));
});

Deno.test(
  `requests of other days are recorded while a day is added up${skipped}`,
  { ignore },
  async () => {
    await using bench = await ledgerBench("postgres");
    const random = new Random(5);
    const caller = await bench.account();
    await request(bench, caller, { random, startedAtMs: START });
    const place = placeOf(bench.serverUrl!);
    const transport = await PostgresTransport.connect(place, { durable: false });
    const order: string[] = [];
    let late: Promise<void> | undefined;
    const database: Database = {
      ...guardedDatabase(bench.database, () => {}),
      batch: (statements) =>
        transport.transaction(async (inside) => {
          const rows = await inside.commit(statements);
          await request(bench, caller, { random, startedAtMs: START + DAY });
          order.push("other");
          late ??= request(bench, caller, { random, startedAtMs: START + HOUR })
            .then(() => void order.push("late"));
          await until(async () =>
            order.includes("late") ||
            (await bench.database.all("select from pg_locks where not granted")).length > 0
          );
          return rows;
        }),
    };
    try {
      await new DayTotals({ database, log: SILENT, now: () => START + 2 * DAY }).addUp();
      await late;
      assertEquals(order[0], "other");
      assertEquals((await audit(bench.database)).mismatches, []);
    } finally {
      await transport.close();
    }
  },
);

Deno.test("no further day is begun after close()", async () => {
  await using bench = await ledgerBench("file");
  const random = new Random(1);
  const caller = await bench.account();
  for (let day = 0; day < 5; day++) {
    await request(bench, caller, { random, startedAtMs: START + day * DAY });
  }
  const totals = new DayTotals({
    database: bench.database,
    log: SILENT,
    now: () => START + 9 * DAY,
  });
  totals.start();
  await totals.close();
  await totals.addUp();
  assertEquals(await summed(bench), []);
});
