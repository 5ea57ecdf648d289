import {
  compact,
  duration,
  exactDollars,
  number,
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
  assertEquals(
    [0, 37.5, 1_200, 12_345, 0.001_234_5, -1_200].map((one) => exactDollars(one, 1_000)),
    [
      "$0.00",
      "$0.0375",
      "$1.20",
      "$12.35",
      "$0.00000123",
      "−$1.20",
    ],
  );
  assertEquals([share(1, 3), share(1, 1_000), share(0, 5), share(0, 0), share(5, 5)], [
    "33 %",
    "<1 %",
    "0 %",
    "0 %",
    "100 %",
  ]);
});

Deno.test("durations never show 60 of a unit", () => {
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
