/** Reports of any range and grouping are the sums of their records. */

import type { Database } from "../../../src/ground/database/mod.ts";
import { periodAt } from "../../../src/money/ledger/mod.ts";
import {
  type Dimension,
  readRange,
  ReportError,
  reportUsage,
  usageQuery,
  type UsageScope,
} from "../../../src/money/usage/mod.ts";
import { periodBefore } from "../../../src/money/usage/range.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench, possible } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { type Known, START, usageHistory } from "../../fake/usage_history.ts";
import { sized } from "../../tier.ts";

const HOUR = 3_600_000;
const ZONES = ["UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Tokyo", "Pacific/Auckland"];

/** The group of a record, as a report names it; undefined for a record that it does not have. */
function groupOf(record: Known, by: Dimension, zone: string): string | number | undefined {
  switch (by) {
    case "hour":
      return Math.floor(record.startedAtMs / HOUR) * HOUR;
    case "day":
    case "month":
      return periodAt(by, zone, record.startedAtMs).startsAtMs;
    case "model":
      return record.route;
    case "key":
      return record.keyId;
    case "account":
      return record.accountId;
    case "team":
      return record.teamId;
    case "member":
      return record.memberId;
    case "reason":
      return record.ending === "complete" ? undefined : record.failure?.reason ?? "unknown";
    default:
      return record.tags?.[by.slice(4)] ?? (by === "tag:session" ? "" : undefined);
  }
}

function sumsOf(records: readonly Known[]) {
  const sum = (of: (record: Known) => number) => records.reduce((all, one) => all + of(one), 0);
  const failures: Record<string, number> = {};
  for (const { ending, failure } of records) {
    if (ending === "complete") continue;
    const reason = failure?.reason ?? "unknown";
    failures[reason] = (failures[reason] ?? 0) + 1;
  }
  return {
    requests: records.length,
    errors: sum(({ ending }) => ending === "complete" ? 0 : 1),
    input_tokens: sum(({ inputTokens }) => inputTokens),
    cached_tokens: sum(({ cachedTokens }) => cachedTokens),
    output_tokens: sum(({ outputTokens }) => outputTokens),
    credits: sum(({ priceCredits }) => priceCredits),
    saved_credits: Math.floor(sum(({ cachedTokens }) => cachedTokens * 600_000) / 1e6),
    average_ms: Math.round(sum(({ durationMs }) => durationMs) / Math.max(1, records.length)),
    failures,
  };
}

/** A time as a report names it. */
function shown(group: string | number, by: Dimension, zone: string): string {
  if (typeof group === "string") return group;
  const [date, month, day] = new Intl.DateTimeFormat("en-CA", { timeZone: zone })
    .format(group).match(/^(\d{4})-(\d{2})-(\d{2})$/)!.slice(1) as [string, string, string];
  if (by === "month") return `${date}-${month}`;
  return `${date}-${month}-${day}`;
}

const GROUPINGS: readonly Dimension[][] = [
  ...(["hour", "day", "month", "model", "key", "account", "member", "team", "reason"] as const)
    .map((one) => [one]),
  ["tag:project"],
  ["tag:session"],
  ["day", "model"],
  ["model", "month"],
  ["member", "model"],
  ["team", "member"],
  ["day", "tag:project"],
  ["reason", "key"],
];

for (const kind of possible(["file", "postgres"])) {
  Deno.test(`any range, grouping, zone and filter is the sum of its records (${kind})`, async () => {
    const seed = testSeed();
    const random = new Random(seed);
    await using made = await usageHistory(random, sized(250, 500), kind);
    const { parts, records, issued, ada, team } = made;
    for (let round = 0; round < sized(60, 2_000); round++) {
      const by = GROUPINGS[round % GROUPINGS.length]!;
      const zone = random.pick(ZONES);
      const [a, b] = [random.integer(-24, 47 * 24), random.integer(-24, 47 * 24)];
      const [sinceMs, untilMs] = [
        START + Math.min(a, b) * HOUR,
        START + (Math.max(a, b) + 1) * HOUR,
      ];
      const key = random.pick(issued);
      const hasTag = by.some((one) => one.startsWith("tag:") || one === "reason");
      const filters: readonly (readonly [Record<string, string>, (one: Known) => boolean])[] = [
        [{}, () => true],
        [{ account: ada.email }, ({ accountId }) => accountId === ada.id],
        [{ key: key.id }, ({ keyId }) => keyId === key.id],
        [{ team: "platform" }, ({ teamId }) => teamId === team.id],
        [{ member: ada.email }, ({ memberId }) => memberId === ada.id],
        [{ model: "svc-k2" }, ({ route }) => route === "svc-k2"],
        [
          { team: team.id, model: "svc-k3" },
          (one) => one.teamId === team.id && one.route === "svc-k3",
        ],
        ...hasTag ? [] : [
          [{ tag: "project=alpha" }, ({ tags }: Known) => tags?.project === "alpha"] as const,
        ],
      ];
      const [filter, matches] = by[0] === "tag:session"
        ? random.pick(filters.slice(1, 5))
        : random.pick(filters);
      const query = usageQuery.parse({
        by: by.join(","),
        zone,
        since: new Date(sinceMs).toISOString(),
        until: new Date(untilMs).toISOString(),
        compare: true,
        ...filter,
      });
      const what = JSON.stringify({ seed, ...query });
      const report = await reportUsage(parts, query);
      const within = (from: number, until: number) =>
        records.filter((one) =>
          one.startedAtMs >= from && one.startedAtMs < until && matches(one) &&
          by.every((noun) => groupOf(one, noun, zone) !== undefined)
        );
      const isKnown = !hasTag && filter.tag === undefined;
      const withReasons = ({ failures, ...sums }: ReturnType<typeof sumsOf>) =>
        isKnown ? { ...sums, failures } : sums;
      const expected = new Map(
        [...Map.groupBy(
          within(sinceMs, untilMs),
          (one) =>
            by.map((noun) =>
              noun === "hour"
                ? String(groupOf(one, noun, zone))
                : shown(groupOf(one, noun, zone)!, noun, zone)
            ).join(" "),
        )].map(([group, own]) => [group, withReasons(sumsOf(own))]),
      );
      const found = new Map(report.rows.map((row) => {
        const { cache_hit_rate: _rate, previous: _p, change: _c, failures, ...rest } = row;
        const { group, names: _names, isOthers: _others, ...sums } = rest;
        const name = by.map((noun) =>
          noun === "hour" ? String(Date.parse(group[noun]!)) : group[noun]
        ).join(" ");
        return [name, isKnown ? { ...sums, failures: failures ?? {} } : sums];
      }));
      assertEquals([...found].toSorted(), [...expected].toSorted(), what);
      const earlier = periodBefore({ sinceMs, untilMs, isRounded: false }, { zone });
      const before = sumsOf(within(earlier.sinceMs, earlier.untilMs));
      const previous = report.totals.previous!;
      assertEquals([previous.requests, previous.input_tokens, previous.errors], [
        before.requests,
        before.input_tokens,
        before.errors,
      ], what);
      assertEquals(report.totals.requests, within(sinceMs, untilMs).length, what);
    }
  });
}

Deno.test("the top groups, by any noun with any time, are as the whole report has them", async () => {
  await using made = await usageHistory(new Random(testSeed()), sized(150, 300));
  const report = (query: Record<string, unknown>) =>
    reportUsage(made.parts, usageQuery.parse({ since: "2026-10-01", ...query }));
  for (const noun of ["key", "model", "account", "team", "member", "tag:project", "reason"]) {
    const whole = await report({ by: noun });
    for (const by of [noun, `day,${noun}`, `${noun},month`, `hour,${noun}`]) {
      const all = await report({ by });
      for (const top of [1, 2]) {
        const best = await report({ by, top });
        const names = whole.rows.slice(0, top).map(({ group }) => group[noun]!);
        const sums = (rows: typeof all.rows, nameOf: (row: typeof all.rows[number]) => string) => {
          const found = new Map<string, [number, number, number]>();
          for (const row of rows) {
            const time = Object.entries(row.group).find(([name]) => name !== noun)?.[1] ?? "";
            const name = `${time} ${nameOf(row)}`;
            const [requests, errors, tokens] = found.get(name) ?? [0, 0, 0];
            found.set(name, [
              requests + row.requests,
              errors + row.errors,
              tokens + row.input_tokens + row.output_tokens,
            ]);
          }
          return Object.fromEntries([...found].toSorted(([a], [b]) => a < b ? -1 : 1));
        };
        assertEquals(
          sums(best.rows, (row) => row.isOthers ? "(others)" : row.group[noun]!),
          sums(all.rows, ({ group }) => names.includes(group[noun]!) ? group[noun]! : "(others)"),
          `${by}, top ${top}`,
        );
      }
    }
  }
});

Deno.test("the top groups and the others add up to all; a scope shows no more than its own", async () => {
  await using made = await usageHistory(new Random(testSeed()), sized(150, 300));
  const { parts, records, ada, team } = made;
  const report = (query: Record<string, unknown>, scope?: UsageScope) =>
    reportUsage(parts, usageQuery.parse({ since: "2026-10-01", ...query }), scope);
  for (const by of ["key", "key,month", "model", "model,day", "account", "tag:session"]) {
    const filter = by === "tag:session" ? { team: "Platform" } : {};
    const [all, best] = [
      await report({ by, ...filter }),
      await report({ by, top: 2, ...filter }),
    ];
    assertEquals(best.totals, all.totals, by);
    const names = all.rows.map(({ group }) => group[by.split(",")[0]!]!);
    const sumOf = (name: string, figure: "credits" | "requests") =>
      all.rows.filter((_, at) => names[at] === name).reduce((sum, row) => sum + row[figure], 0);
    const most = [...new Set(names)].toSorted((a, b) =>
      sumOf(b, "credits") - sumOf(a, "credits") || sumOf(b, "requests") - sumOf(a, "requests") ||
      (a < b ? -1 : 1)
    );
    const shown = best.rows.filter(({ isOthers }) => !isOthers)
      .map(({ group }) => group[by.split(",")[0]!]!);
    assertEquals([...new Set(shown)].toSorted(), most.slice(0, 2).toSorted(), by);
    const totalsOnly = await reportUsage(
      parts,
      usageQuery.parse({ since: "2026-10-01", by, top: 2, ...filter }),
      {},
      { reasons: "totals" },
    );
    assertEquals(totalsOnly.totals, all.totals, by);
    assert(totalsOnly.rows.every(({ failures }) => failures === undefined));
    assertEquals(new Set(best.rows.map(({ group }) => group[by.split(",")[0]!])).size, 3);
    assertEquals(
      best.rows.filter(({ isOthers }) => isOthers).every(({ group }) =>
        Object.values(group).includes("others")
      ),
      true,
    );
  }
  const own = records.filter(({ accountId }) => accountId === ada.id).length;
  const ofTeam = records.filter(({ teamId }) => teamId === team.id).length;
  assertEquals((await report({}, { accountId: ada.id })).totals.requests, own);
  assertEquals((await report({}, { teamId: team.id })).totals.requests, ofTeam);
  assertEquals((await report({ account: "bob@example.com" }, { accountId: ada.id })).rows, []);
  assertEquals((await report({ key: made.issued[1]!.id }, { accountId: ada.id })).rows, []);
  assertEquals((await report({ team: "Platform" }, { accountId: ada.id })).rows, []);
  const names = (await report({ by: "member,key" })).rows.map((row) => row.names);
  assert(names.some(({ member }) => member === "ada@example.com"));
  assert(names.some(({ key }) => key === "ada's"));
  assert(names.some(({ key }) => /^laptop \(sk-/.test(key ?? "")), "shared names say which");
});

const REJECTED = [
  [{ by: "day,hour" }, "Cannot group by day and hour"],
  [{ by: "day,day" }, "Cannot group by day twice"],
  [{ by: "tag:a,tag:b" }, "Cannot combine two tags"],
  [{ by: "tag:a", tag: "b=c" }, "Cannot combine two tags"],
  [{ by: "reason", tag: "b=c" }, "Cannot combine two tags"],
  [{ by: "tag:session" }, "choose one"],
  [{ by: "tag:session,day" }, "Cannot group by session"],
  [{ by: "day", top: 3 }, "Cannot show the top groups"],
  [{ account: "nobody@example.com" }, '"nobody@example.com" not found'],
  [{ team: "Nowhere" }, '"Nowhere" not found'],
  [{ zone: "Mars/Olympus" }, "Unknown time zone"],
  [{ since: "2026-13" }, "Invalid date '2026-13'"],
  [{ since: "tomorrow" }, "Invalid date 'tomorrow'"],
  [{ since: "2026-02-30" }, "Invalid date"],
  [{ since: "2026-11-05T10:00" }, "Invalid date"],
  [{ since: "2026-11", until: "2026-11" }, "The range is empty"],
  [{ since: "4001d", by: "model,hour", compare: true }, "Cannot compare over 4,000 days by hour"],
] as const;

Deno.test("a report of centuries is that of the days with usage, and reads no more of them", async () => {
  await using made = await usageHistory(new Random(1), 40);
  let chars = 0;
  const noted = (args: readonly unknown[] = []) => {
    chars = Math.max(chars, JSON.stringify(args).length);
  };
  const { database: real } = made.parts;
  const database: Database = {
    ...guardedDatabase(real, () => {}),
    all: (sql, args) => (noted(args), real.all(sql, args)),
    one: (sql, args) => (noted(args), real.one(sql, args)),
  };
  const report = (since: string, until: string, by: string) =>
    reportUsage(
      { ...made.parts, database },
      usageQuery.parse({ since, until, by, zone: "Europe/Berlin", compare: by === "model" }),
    );
  const day = (atMs: number) => new Date(atMs).toISOString().slice(0, 10);
  const known = made.records.map(({ startedAtMs }) => startedAtMs);
  const [since, until] = [
    day(Math.min(...known) - 2 * 24 * HOUR),
    day(Math.max(...known) + 48 * HOUR),
  ];
  for (const by of ["day", "month", "model", "hour,model"]) {
    const { rows, totals } = await report(since, until, by);
    chars = 0;
    const long = await report("1971-01-01", "2200-01-01", by);
    const without = ({ previous: _, change: __, ...row }: typeof totals) => row;
    assertEquals(long.rows.map(without as never), rows.map(without as never) as never, by);
    assertEquals([long.since, long.until], ["1970-12-31T23:00Z", "2199-12-31T23:00Z"]);
    assert(chars < 20_000, `${by}: ${chars}`);
  }
  await using empty = await ledgerBench("file");
  const nothing = usageQuery.parse({ since: "1971-01-01", until: "9998-12-31", by: "month" });
  assertEquals((await reportUsage({ ...made.parts, database: empty.database }, nothing)).rows, []);
});

Deno.test("a report that cannot be is rejected, and says why", async () => {
  await using made = await usageHistory(new Random(1), 1);
  for (const [query, message] of REJECTED) {
    const error = await assertRejects(
      () => reportUsage(made.parts, usageQuery.parse(query)),
      ReportError,
    );
    assertStringIncludes(error.message, message, JSON.stringify(query));
  }
});

Deno.test("usageQuery rejects groupings, tags and parameters that do not exist", () => {
  for (
    const query of [
      { by: "week" },
      { by: "day,model,key" },
      { by: "tag:Upper" },
      { by: "tag:" },
      { tag: "a" },
      { top: 0 },
      { unknown: "x" },
      { compare: "maybe" },
    ]
  ) {
    assertEquals(usageQuery.safeParse(query).success, false, JSON.stringify(query));
  }
  assertEquals(usageQuery.parse({ compare: "true", top: "5" }).top, 5);
});

const at = Date.parse("2026-11-23T10:20:00Z");
for (
  const [since, until, zone, expected] of [
    ["today", undefined, "UTC", ["2026-11-23T00:00Z", "2026-11-23T11:00Z"]],
    ["yesterday", "today", "Europe/Berlin", ["2026-11-21T23:00Z", "2026-11-22T23:00Z"]],
    ["7d", "today", "UTC", ["2026-11-17T00:00Z", "2026-11-23T00:00Z"]],
    ["2h", undefined, "UTC", ["2026-11-23T09:00Z", "2026-11-23T11:00Z"]],
    ["month", undefined, "America/New_York", ["2026-11-01T04:00Z", "2026-11-23T11:00Z"]],
    ["2026-10", "2026-11", "Europe/Berlin", ["2026-09-30T22:00Z", "2026-10-31T23:00Z"]],
    ["2026-03-29", "2026-03-30", "Europe/Berlin", ["2026-03-28T23:00Z", "2026-03-29T22:00Z"]],
    ["2026-11-05T10:59Z", "2026-11-05T14:00+02:00", "UTC", [
      "2026-11-05T10:00Z",
      "2026-11-05T12:00Z",
    ]],
    ["2026-11-05", "2026-11-06", "Asia/Kolkata", ["2026-11-04T18:00Z", "2026-11-05T18:00Z"]],
  ] as const
) {
  Deno.test(`readRange() of ${since} to ${until} in ${zone}`, () => {
    const range = readRange({ since, until, zone, nowMs: at, firstMs: 0 });
    const text = (ms: number) => `${new Date(ms).toISOString().slice(0, 16)}Z`;
    assertEquals([text(range.sinceMs), text(range.untilMs)], [...expected]);
    assertEquals(range.isRounded, since.includes("59") || zone === "Asia/Kolkata");
  });
}

const BEFORE: readonly (readonly [
  range: readonly [since: string, until: string],
  before: readonly [since: string, until: string],
  options?: { readonly zone?: string; readonly since?: string },
])[] = [
  // days, up to the same time
  [["2026-11-23T00", "2026-11-23T20"], ["2026-11-22T00", "2026-11-22T20"]],
  [["2026-11-17T00", "2026-11-23T20"], ["2026-11-10T00", "2026-11-16T20"]],
  [["2026-11-01T00", "2026-11-08T00"], ["2026-10-25T00", "2026-11-01T00"]],
  // clocks were set on 25 October 2026: a day of 25 hours
  [["2026-10-24T22", "2026-10-25T23"], ["2026-10-23T22", "2026-10-24T22"], {
    zone: "Europe/Berlin",
  }],
  [["2026-10-25T23", "2026-10-26T10"], ["2026-10-24T22", "2026-10-25T09"], {
    zone: "Europe/Berlin",
  }],
  // months
  [["2026-11-01T00", "2026-11-23T20"], ["2026-10-01T00", "2026-10-23T20"], { since: "month" }],
  [["2026-10-01T00", "2026-11-01T00"], ["2026-09-01T00", "2026-10-01T00"], { since: "2026-10" }],
  [["2026-02-01T00", "2026-03-01T00"], ["2026-01-01T00", "2026-02-01T00"], { since: "2026-02" }],
  [["2026-03-01T00", "2026-03-31T07"], ["2026-02-01T00", "2026-02-28T07"], { since: "month" }],
  [["2026-07-01T00", "2026-10-01T00"], ["2026-04-01T00", "2026-07-01T00"], { since: "2026-07" }],
  [["2027-01-01T00", "2027-02-01T00"], ["2026-12-01T00", "2027-01-01T00"], { since: "2027-01" }],
  // others
  [["2026-11-23T06", "2026-11-23T20"], ["2026-11-22T16", "2026-11-23T06"]],
];

for (const [[since, until], before, { zone = "UTC", since: asked } = {}] of BEFORE) {
  Deno.test(`the period before ${since} to ${until} (${asked ?? zone})`, () => {
    const msOf = (hour: string) => Date.parse(`${hour}:00Z`);
    const range = { sinceMs: msOf(since), untilMs: msOf(until), isRounded: false };
    const found = periodBefore(range, { zone, since: asked });
    const shown = [found.sinceMs, found.untilMs].map((ms) =>
      new Date(ms).toISOString().slice(0, 13)
    );
    assertEquals(shown, [...before]);
  });
}

Deno.test("days of a zone that is half an hour off begin with the hour, and every hour is in one of them", async () => {
  await using made = await usageHistory(new Random(3), 200);
  const query = usageQuery.parse({ by: "day", zone: "Asia/Kolkata", since: "2026-10-01" });
  const { rows, totals, rounded } = await reportUsage(made.parts, query);
  assertEquals([totals.requests, rounded], [200, true]);
  assertEquals(new Set(rows.map(({ group }) => group.day)).size, rows.length);
});
