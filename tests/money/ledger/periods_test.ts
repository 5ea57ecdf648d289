/** Days, weeks and months of time zones, whatever their clocks do. */

import {
  type BudgetPeriod,
  instantAt,
  isTimeZone,
  localMinute,
  localTime,
  periodAt,
} from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ZONES = [
  ...["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"],
  // clocks are set at midnight, so that some days have none, or two
  ...["Africa/Cairo", "America/Havana", "America/Santiago", "Asia/Beirut", "Atlantic/Azores"],
  ...["Pacific/Chatham", "Pacific/Kiritimati", "America/St_Johns", "Africa/Casablanca"],
];
const PERIODS = ["day", "week", "month"] as const;

/** The local date and time, by another way than the code's. */
function local(zone: string, atMs: number): { date: string; time: string; weekday: string } {
  const text = (options: Intl.DateTimeFormatOptions) =>
    new Date(atMs).toLocaleString("sv-SE", { timeZone: zone, ...options });
  return {
    date: text({ dateStyle: "short" }),
    time: text({ timeStyle: "medium" }),
    weekday: new Date(atMs).toLocaleString("en-US", { timeZone: zone, weekday: "long" }),
  };
}

/** What a period is told by: its first date. */
function nameOf(period: typeof PERIODS[number], zone: string, atMs: number): string {
  const { date } = local(zone, atMs);
  if (period === "day") return date;
  if (period === "month") return date.slice(0, 7);
  const noon = Date.parse(`${date}T12:00:00Z`);
  const sinceMonday = (new Date(noon).getUTCDay() + 6) % 7;
  return new Date(noon - sinceMonday * DAY).toISOString().slice(0, 10);
}

const CASES: readonly [string, BudgetPeriod, string, string, string][] = [
  // clocks forward, then back
  [
    "Europe/Berlin",
    "day",
    "2026-03-29T12:00Z",
    "2026-03-29T00:00:00+01:00",
    "2026-03-30T00:00:00+02:00",
  ],
  [
    "Europe/Berlin",
    "day",
    "2026-10-25T00:30Z",
    "2026-10-25T00:00:00+02:00",
    "2026-10-26T00:00:00+01:00",
  ],
  [
    "Europe/Berlin",
    "month",
    "2026-03-31T21:59:59.999Z",
    "2026-03-01T00:00:00+01:00",
    "2026-04-01T00:00:00+02:00",
  ],
  [
    "Europe/Berlin",
    "week",
    "2026-03-29T12:00Z",
    "2026-03-23T00:00:00+01:00",
    "2026-03-30T00:00:00+02:00",
  ],
  [
    "America/New_York",
    "day",
    "2026-11-01T05:30Z",
    "2026-11-01T00:00:00-04:00",
    "2026-11-02T00:00:00-05:00",
  ],
  [
    "America/New_York",
    "week",
    "2026-11-02T04:59Z",
    "2026-10-26T00:00:00-04:00",
    "2026-11-02T00:00:00-05:00",
  ],
  // half an hour
  [
    "Australia/Lord_Howe",
    "day",
    "2026-04-05T00:00Z",
    "2026-04-05T00:00:00+11:00",
    "2026-04-06T00:00:00+10:30",
  ],
  [
    "Asia/Kathmandu",
    "day",
    "2026-11-23T18:14:59.999Z",
    "2026-11-23T00:00:00+05:45",
    "2026-11-24T00:00:00+05:45",
  ],
  // midnight is skipped: the day begins at one o'clock
  [
    "Africa/Cairo",
    "day",
    "2026-04-24T10:00Z",
    "2026-04-24T01:00:00+03:00",
    "2026-04-25T00:00:00+03:00",
  ],
  [
    "America/Havana",
    "day",
    "2026-03-08T12:00Z",
    "2026-03-08T01:00:00-04:00",
    "2026-03-09T00:00:00-04:00",
  ],
  // and midnight twice: the day before lasts 25 hours, or the day itself
  [
    "Africa/Cairo",
    "day",
    "2026-10-29T20:30Z",
    "2026-10-29T00:00:00+03:00",
    "2026-10-30T00:00:00+02:00",
  ],
  [
    "America/Havana",
    "day",
    "2026-11-01T05:30Z",
    "2026-11-01T00:00:00-04:00",
    "2026-11-02T00:00:00-05:00",
  ],
  // a date that never was
  [
    "Pacific/Apia",
    "day",
    "2011-12-30T09:59:59Z",
    "2011-12-29T00:00:00-10:00",
    "2011-12-31T00:00:00+14:00",
  ],
  ["UTC", "month", "2028-02-29T23:59:59.999Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"],
  ["UTC", "week", "2026-11-23T00:00Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"],
];

for (const [zone, period, at, starts, ends] of CASES) {
  Deno.test(`periods: the ${period} of ${at} in ${zone}`, () => {
    const bounds = periodAt(period, zone, Date.parse(at));
    assertEquals(bounds, { startsAtMs: Date.parse(starts), endsAtMs: Date.parse(ends) });
  });
}

Deno.test("periods: each instant is in one, with its own date, from the date's first instant on", () => {
  const seed = testSeed();
  const random = new Random(seed);
  for (let round = 0; round < sized(300, 20_000); round++) {
    const zone = random.pick(ZONES);
    const period = random.pick(PERIODS);
    const atMs = Date.UTC(2026, 0, 1) + random.integer(0, 8 * 366 * DAY);
    const { startsAtMs, endsAtMs } = periodAt(period, zone, atMs);
    const why = `SLUICE_TEST_SEED=${seed}: ${period} ${zone} ${new Date(atMs).toISOString()}`;
    assert(startsAtMs <= atMs && atMs < endsAtMs, why);
    // the same wherever in it one looks, and it meets its neighbours
    for (const inside of [startsAtMs, endsAtMs - 1, random.integer(startsAtMs, endsAtMs - 1)]) {
      assertEquals(periodAt(period, zone, inside), { startsAtMs, endsAtMs }, why);
    }
    assertEquals(periodAt(period, zone, startsAtMs - 1).endsAtMs, startsAtMs, why);
    assertEquals(periodAt(period, zone, endsAtMs).startsAtMs, endsAtMs, why);
    const name = nameOf(period, zone, startsAtMs);
    assert(nameOf(period, zone, startsAtMs - 1) < name, why);
    assert(nameOf(period, zone, endsAtMs) > name, why);
    if (period === "week") assertEquals(local(zone, startsAtMs).weekday, "Monday", why);
    if (period === "month") assertEquals(local(zone, startsAtMs).date.slice(8), "01", why);
    const days = { day: [1, 1], week: [7, 7], month: [28, 31] }[period];
    const hours = (endsAtMs - startsAtMs) / HOUR;
    assert(hours >= days[0]! * 24 - 1 && hours <= days[1]! * 24 + 1, why);
  }
});

Deno.test("periods: clocks are set in between, hour by hour", () => {
  for (const zone of ZONES) {
    for (let atMs = Date.UTC(2026, 0, 1); atMs < Date.UTC(2027, 0, 1); atMs += 7 * HOUR) {
      const { startsAtMs, endsAtMs } = periodAt("day", zone, atMs);
      const hours = (endsAtMs - startsAtMs) / HOUR;
      assert([23, 23.5, 24, 24.5, 25].includes(hours), `${zone} ${new Date(atMs)} ${hours}`);
    }
  }
});

Deno.test("periods: every time zone begins its days at a quarter of an hour of UTC", () => {
  for (const zone of Intl.supportedValuesOf("timeZone")) {
    for (const month of [0, 3, 6, 9]) {
      const { startsAtMs } = periodAt("day", zone, Date.UTC(2027, month, 17, 8));
      assertEquals(startsAtMs % 900_000, 0, zone);
    }
  }
});

Deno.test("periods: a lifetime never ends, and names of time zones are checked", () => {
  assertEquals(periodAt("life", "UTC", 5), { startsAtMs: 0, endsAtMs: Number.MAX_SAFE_INTEGER });
  for (const zone of ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5"]) {
    assert(isTimeZone(zone), zone);
  }
  for (const zone of ["", "Berlin", "Mars/Olympus", "+05:31", "UTC'; --", `A${"a".repeat(80)}`]) {
    assert(!isTimeZone(zone), zone);
  }
  assertThrows(() => periodAt("day", "Mars/Olympus", 0), RangeError);
});

Deno.test("instantAt: local times, clocks that are set, and what no calendar has", () => {
  const cases: [zone: string, local: string, iso: string | undefined][] = [
    ["UTC", "2026-12-24T18:00", "2026-12-24T18:00:00.000Z"],
    ["Europe/Berlin", "2026-12-24T18:00", "2026-12-24T17:00:00.000Z"],
    ["Pacific/Kiritimati", "2026-12-24T00:00", "2026-12-23T10:00:00.000Z"],
    ["Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30:00.000Z"], // the first of two
    ["Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:30:00.000Z"], // skipped: 3:30
    ["UTC", "2026-02-30T00:00", undefined],
    ["UTC", "2026-13-01T00:00", undefined],
    ["UTC", "2026-12-24", undefined],
    ["UTC", "tomorrow", undefined],
    ["UTC", "", undefined],
  ];
  for (const [zone, local, iso] of cases) {
    assertEquals(instantAt(zone, local), iso && Date.parse(iso), `${zone} ${local}`);
  }
  assertEquals(localMinute(Date.UTC(2026, 11, 24, 17), "Europe/Berlin"), "2026-12-24T18:00");
  assertEquals(localMinute(Number.MAX_SAFE_INTEGER, "UTC"), "9999-12-31T00:00");
  const seed = testSeed();
  const random = new Random(seed);
  for (let round = 0; round < 500; round++) {
    const zone = random.pick(ZONES);
    const atMs = Date.UTC(2026, 0, 1) + random.integer(0, 8 * 366 * 24 * 60) * 60_000;
    const local = localMinute(atMs, zone);
    const foundMs = instantAt(zone, local)!;
    const why = `SLUICE_TEST_SEED=${seed}: ${zone} ${local}`;
    assertEquals(localMinute(foundMs, zone), local, why);
    assert(foundMs <= atMs, why);
  }
});

Deno.test("localTime: to the minute, with the name of its zone", () => {
  const atMs = Date.UTC(2026, 11, 1) - 1;
  assertEquals(
    [localTime(atMs, "UTC"), localTime(atMs, "Europe/Berlin")],
    ["2026-11-30 23:59 UTC", "2026-12-01 00:59 (Europe/Berlin)"],
  );
});
