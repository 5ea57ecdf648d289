/** What the page of usage says of a report. */

import { UsagePage } from "../../../src/doors/console/pages/usage.tsx";
import type { UsageFigures, UsageReport } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

const NOW = Date.UTC(2030, 0, 8, 12);
const CHOICES = {
  by: "model",
  since: "7d",
  until: "",
  zone: "UTC",
  tag: "",
  team: "",
  account: "",
  compare: false,
  all: false,
};

const figures = (some: Partial<UsageFigures> = {}): UsageFigures => ({
  requests: 0,
  errors: 0,
  input_tokens: 0,
  cached_tokens: 0,
  saved_credits: 0,
  output_tokens: 0,
  average_ms: 0,
  credits: 0,
  ...some,
} as UsageFigures);

const report = (some: Partial<UsageReport> = {}): UsageReport => ({
  by: ["model"],
  since: "2030-01-01T00:00:00Z",
  until: "2030-01-08T00:00:00Z",
  zone: "UTC",
  rounded: false,
  rows: [],
  totals: { ...figures(), cache_hit_rate: 0 },
  ...some,
} as UsageReport);

/** The page's text, with each part of it on a line. */
function textOf(shown: UsageReport, more: Partial<Parameters<typeof UsagePage>[0]> = {}): string[] {
  const html = String(UsagePage({
    page: { session: undefined, csrf: "", path: "/console/usage" },
    choices: CHOICES,
    report: shown,
    seesAll: false,
    lastMonth: ["2029-12", "2030-01"],
    team: undefined,
    nowMs: NOW,
    ...more,
  }));
  return html.replace(/^.*?<main.*?>/s, "").replace(/<\/main>.*$/s, "").split(/<[^>]*>/).map((
    text,
  ) => text.replaceAll(/\s+/g, " ").replaceAll("&#39;", "'").trim()).filter((text) => text !== "");
}

const PERIOD = { since: "2029-12-25T00:00:00Z", until: "2030-01-01T00:00:00Z" };

/** Figures of a row and of the period before, its change in percent, and the last cells of the row. */
const COMPARED: readonly (readonly [now: number, before: number, change: number | null, string])[] =
  [
    [0, 0, null, "–"],
    [5, 0, null, "new"],
    [0, 5, -100, "−100 %"],
    [6, 5, 20, "+20 %"],
    [5, 5, 0, "0 %"],
    [10_000, 1, 999_900, "over +999 %"],
    [1_099, 100, 999, "+999 %"],
  ];

for (const name of ["credits", "requests"] as const) {
  Deno.test(`a change of ${name} is in percent, new, or nothing to compare`, () => {
    for (const [now, before, change, words] of COMPARED) {
      const by = name === "requests" ? ["reason"] : ["model"];
      const text = textOf(report({
        by,
        rows: [{
          group: { model: "m", reason: "key_unknown" },
          names: {},
          ...figures({ [name]: now }),
          previous: figures({ [name]: before }),
          change: { requests: null, credits: null, [name]: change },
        }] as unknown as UsageReport["rows"],
        previous: PERIOD,
      } as Partial<UsageReport>));
      assertEquals(text.at(-1), words, text.join("|"));
      assert(text.includes(`${name} before`), text.join("|"));
      // what has no room beside it, and what failed requests do not have
      assertEquals(text.includes("tokens per request"), false);
      assertEquals(text.includes("average time"), name === "requests");
      assertEquals(text.includes("saved"), name === "credits");
    }
  });
}

Deno.test("totals say how they compare, what failed, and what a request took", () => {
  const of = (totals: object, more: Partial<UsageReport> = {}) =>
    textOf(report({
      totals: { ...figures(), cache_hit_rate: 0, ...totals } as UsageReport["totals"],
      ...more,
    }));
  const noted = (text: readonly string[], name: string) => {
    const at = text.indexOf(name);
    return text.slice(at + 1, at + 3);
  };
  const plain = of({ requests: 3, errors: 1, input_tokens: 40, output_tokens: 50, credits: 7 });
  assertEquals(noted(plain, "Requests"), ["3", "1 failed"]);
  assertEquals(noted(plain, "Tokens"), ["90", "30 per request"]);
  assertEquals(plain.slice(plain.indexOf("Credits") + 1)[0], "7");
  const none = of({});
  assertEquals(noted(none, "Tokens").includes("per request"), false);
  const many = of({ requests: 1, input_tokens: 1e9 });
  assertEquals(noted(many, "Tokens"), ["1B", "1,000,000,000; 1,000,000,000 per request"]);
  const almost = of({ requests: 1, input_tokens: 1e9 - 1 });
  assertEquals(noted(almost, "Tokens"), ["999,999,999", "999,999,999 per request"]);
  for (
    const [change, words] of [
      [20, "+20 % against before"],
      [-999, "−999 % against before"],
      [1_000, "50 before"],
      [null, "50 before"],
    ] as const
  ) {
    const text = of({
      requests: 60,
      credits: 60,
      previous: figures({ requests: 50, credits: 50 }),
      change: { requests: change, credits: change },
    }, { previous: PERIOD } as Partial<UsageReport>);
    assertEquals(noted(text, "Requests"), ["60", `0 failed; ${words}`]);
    assertEquals(noted(text, "Credits"), ["60", words]);
  }
  for (
    const [saved, words] of [[1, "credit; 25"], [2, "credits; 25"], [0, "credits; 25"]] as const
  ) {
    const text = of({ saved_credits: saved, cache_hit_rate: 0.25 });
    assertEquals(noted(text, "Saved by prompt caches"), [
      String(saved),
      `${words}\u00a0% of the input was cached`.replace("\u00a0", " "),
    ]);
  }
  const failed = of({ failures: { key_unknown: 1, request_invalid: 3 } }).join(" ");
  assert(/Failed requests: 3 [^,]+, 1 [^,.]+\./.test(failed), failed);
  assert(!none.join(" ").includes("Failed requests"), none.join(" "));
});

Deno.test("a range is of days where it begins and ends with them, else of minutes, up to now", () => {
  const first = (since: string, until: string, more: Partial<UsageReport> = {}) =>
    textOf(report({ since, until, ...more })).find((text) => / to /.test(text))!;
  const days = first("2030-01-01T00:00:00Z", "2030-01-08T00:00:00Z");
  assert(/^\S+ \S+ \S+ to \S+ \S+ \S+ UTC\.$|^[^,]+ to [^,]+ UTC\.$/.test(days), days);
  assert(!first("2030-01-01T00:00:00Z", "2030-01-08T11:00:00Z").includes("now"));
  assert(first("2030-01-01T00:00:00Z", "2030-01-08T13:00:00Z").includes(" to now UTC."));
  assert(!first("2030-01-01T00:00:00Z", "2030-01-08T12:00:00Z").includes("now"), "it is over");
  assert(first("2030-01-01T01:00:00Z", "2030-01-08T00:00:00Z").includes(","));
  assert(
    first("2029-12-31T23:00:00Z", "2030-01-07T23:00:00Z", { zone: "Europe/Berlin" })
      .endsWith("Europe/Berlin."),
  );
  const rounded = (is: boolean) =>
    textOf(report({ rounded: is })).join(" ").includes("Bounds were rounded down");
  assertEquals([rounded(true), rounded(false)], [true, false]);
});

Deno.test("rows by time are the newest first, and more than a page has are left to the report", () => {
  const row = (group: Record<string, string>) => ({ group, names: {}, ...figures() });
  const days = ["2030-01-02", "2030-01-04", "2030-01-03"].map((day) => row({ day, model: "m" }));
  const order = (by: string[]) =>
    textOf(report({ by, rows: days as unknown as UsageReport["rows"] }))
      .flatMap((text) => /^(\d) Jan/.exec(text)?.[1] ?? /Jan (\d)/.exec(text)?.[1] ?? []).slice(-3);
  assertEquals(order(["day"]), ["4", "3", "2"]);
  assertEquals(order(["model", "day"]), ["2", "4", "3"]);
  for (const count of [200, 201]) {
    const rows = Array.from({ length: count }, (_, at) => row({ model: `m${at}` }));
    const text = textOf(report({ rows: rows as unknown as UsageReport["rows"] })).join(" ");
    assertEquals(text.includes("The first 200 of 201 rows"), count > 200);
  }
});

Deno.test("a member of teams is led to their reports where there is nothing to see", () => {
  const words = (teams: number, team: boolean, seesAll = false) => {
    const session = {
      account: { role: "none", email: "a@b" },
      teams: new Map(Array.from({ length: teams }, (_, at) => [`t${at}`, {}])),
    };
    const more = {
      page: { session, csrf: "", path: "/console/usage" },
      team: team ? { id: "team_1", name: "Platform" } : undefined,
      choices: { ...CHOICES, team: team ? "Platform" : "" },
      seesAll,
    } as unknown as Parameters<typeof textOf>[1];
    const text = textOf(report(), more).join(" ");
    return [
      text.includes("have reports of their own"),
      text.includes("What your own account used"),
      text.includes("its requests"),
    ];
  };
  assertEquals(words(0, false), [false, false, true]);
  assertEquals(words(1, false), [true, false, true]);
  assertEquals(words(1, true), [false, true, false]);
  assertEquals(words(1, true, true), [false, true, true]);
});
