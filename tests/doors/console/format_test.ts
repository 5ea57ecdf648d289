import {
  amount,
  compact,
  count,
  duration,
  exactDollars,
  inZone,
  number,
  relative,
  share,
  signed,
  teamTitle,
  teamWords,
} from "../../../src/doors/console/format.ts";
import { Name, shortened } from "../../../src/doors/console/name.tsx";
import { assertEquals, assertStringIncludes } from "../../assert.ts";

Deno.test("numbers are grouped, have a proper minus sign, and fit an axis", () => {
  assertEquals([0, 12_345, -5, -1_234_567].map(number), ["0", "12,345", "−5", "−1,234,567"]);
  assertEquals([0, 7, -7, -0].map(signed), ["0", "+7", "−7", "0"]);
  assertEquals([0, 950, 1_500, 20_000_000, 5e15].map(compact), ["0", "950", "1.5k", "20M", "5Q"]);
  assertEquals([1_000, -1e6, 1e9, 1e12].map(compact), ["1k", "−1M", "1B", "1T"]);
  assertEquals(
    [0, 37.5, 1_200, 12_345, 0.001_234_5, -1_200, 1_000, 999.999]
      .map((one) => exactDollars(one, 1_000)),
    [
      "$0.00",
      "$0.0375",
      "$1.20",
      "$12.35",
      "$0.00000123",
      "−$1.20",
      "$1.00",
      "$1.00",
    ],
  );
  assertEquals(
    [
      share(1, 3),
      share(1, 100),
      share(1, 1_000),
      share(0, 5),
      share(5, 0),
      share(0, 0),
      share(5, 5),
    ],
    [
      "33 %",
      "1 %",
      "<1 %",
      "0 %",
      "0 %",
      "0 %",
      "100 %",
    ],
  );
});

Deno.test("durations never show 60 of a unit", () => {
  assertEquals(duration(undefined), "–");
  assertEquals(duration(59_950), "1 min 0 s");
  assertEquals([0, 999, 1_000, 59_940, 59_960, 3_599_400, 3_600_000, 7_512_000].map(duration), [
    "0 ms",
    "999 ms",
    "1.0 s",
    "59.9 s",
    "1 min 0 s",
    "59 min 59 s",
    "1 h 0 min",
    "2 h 5 min",
  ]);
});

Deno.test("a long name keeps its end, its whole text, and whole characters", () => {
  const long = `${"a".repeat(40)}😀${"b".repeat(9)}`;
  assertEquals(shortened(long), `${"a".repeat(17)}…😀${"b".repeat(9)}`);
  assertEquals(shortened("short"), "short");
  assertStringIncludes(String(Name({ text: long })), `>😀${"b".repeat(9)}<`);
  const hostile = String(Name({ text: `"><script>${"x".repeat(40)}` }));
  assertEquals(hostile.includes("<script>"), false);
  assertEquals(String(Name({ text: "short", href: "/x" })), '<a href="/x">short</a>');
});

Deno.test("a team whose name says that it is one is not called a team twice", () => {
  assertEquals(["Platform", "Team 1", "teamwork", "team"].map(teamWords), [
    "team Platform",
    "Team 1",
    "team teamwork",
    "team",
  ]);
  assertEquals(["Platform", "Team 1"].map(teamTitle), ["Team Platform", "Team 1"]);
});

Deno.test("a time is told from now in the unit that says enough, and nouns are of their number", () => {
  const [second, minute, hour] = [1_000, 60_000, 3_600_000];
  const cases = [
    [0, "just now"],
    [-29 * second, "just now"],
    [1, "in a moment"],
    [29 * second, "in a moment"],
    [30 * second, "in 1 minute"],
    [-90 * second, "2 minutes ago"],
    [59 * minute, "in 59 minutes"],
    [60 * minute, "in 1 hour"],
    [-47 * hour, "47 hours ago"],
    [48 * hour, "in 2 days"],
    [-2_400 * hour, "100 days ago"],
  ] as const;
  for (const [ms, words] of cases) assertEquals(relative(5e9 + ms, 5e9), words);
  assertEquals(
    [0, 1, 2, 1_000].map((value) => [count(value, "request"), amount(value, "credits")]),
    [
      ["0 requests", "0 credits"],
      ["1 request", "1 credit"],
      ["2 requests", "2 credits"],
      ["1,000 requests", "1,000 credits"],
    ],
  );
  assertEquals([inZone(0, "UTC"), inZone(0, "Asia/Tokyo")], [0, 9 * hour]);
});
