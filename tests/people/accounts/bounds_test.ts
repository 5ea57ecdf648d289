/** What is given to accounts and keys, up to the last character and millisecond that is accepted. */

import { checkKeyOptions } from "../../../src/people/accounts/key.ts";
import {
  type Account,
  AccountError,
  type Action,
  can,
  checkPassword,
  mustNotMislead,
  type Role,
  type TeamRole,
} from "../../../src/people/accounts/mod.ts";
import { checkUpstreamKey, upstreamKeyHint } from "../../../src/people/accounts/upstream_keys.ts";
import { assertEquals, assertThrows } from "../../assert.ts";

function assertBounds<Value>(
  check: (value: Value) => unknown,
  { fits, fails, why }: {
    readonly fits: readonly Value[];
    readonly fails: readonly Value[];
    readonly why: string;
  },
): void {
  for (const value of fits) check(value);
  for (const value of fails) assertThrows(() => check(value), AccountError, why);
}

Deno.test("a password has 10 to 200 characters", () => {
  const why = "10 to 200 characters";
  const [fits, fails] = [[10, 200], [0, 9, 201]].map((all) =>
    all.map((chars) => "x".repeat(chars))
  );
  assertBounds(checkPassword, { fits: fits!, fails: fails!, why });
});

Deno.test("a key expires in the future, within 100 years, and its ID is like those that are made", () => {
  const now = Date.UTC(2026, 0, 1);
  const most = now + 36_525 * 86_400_000;
  const expiring = (expiresAtMs: number | undefined) => checkKeyOptions({ expiresAtMs }, now);
  const fits = [undefined, now + 1, most];
  assertBounds(expiring, { fits, fails: [now - 1, now], why: "in the future" });
  assertBounds(expiring, { fits, fails: [most + 1], why: "within 100 years" });
  assertBounds((id: string | undefined) => checkKeyOptions({ id }, now), {
    fits: [undefined, "key_0123456789abcdef"],
    fails: ["", "key_", "key_0123456789abcde", "key_0123456789abcdefg", "acc_0123456789abcdef"],
    why: "Invalid key ID",
  });
});

Deno.test("a key of an upstream is a header's text, and its hint gives away a quarter of it at most", () => {
  assertEquals(checkUpstreamKey("  sk-1 \n"), "sk-1");
  assertBounds(checkUpstreamKey, {
    fits: ["x", "x".repeat(4_096)],
    fails: ["", " "],
    why: "empty",
  });
  assertBounds(checkUpstreamKey, { fits: [], fails: ["x".repeat(4_097)], why: "limit is 4096" });
  assertBounds(checkUpstreamKey, { fits: ["!~"], fails: ["a b", "é", "a\x7f"], why: "no spaces" });
  assertEquals(["", "x".repeat(15), "x".repeat(12) + "abcd"].map(upstreamKeyHint), [
    "",
    "",
    "abcd",
  ]);
});

Deno.test("a text that looks like another is refused by its name", () => {
  const check = (text: string) => mustNotMislead("note", text);
  assertBounds(check, { fits: ["", "plain"], fails: ["a\u202eb"], why: "The note" });
});

Deno.test("an action is allowed by one's role, one's role in that team, or as it is about oneself", () => {
  const rows: readonly [
    action: Action,
    role: Role,
    inTeam: TeamRole | undefined,
    about: object,
    boolean,
  ][] = [
    ["team.buy", "none", "lead", { teamId: "t" }, true],
    ["team.buy", "none", "lead", { teamId: "u" }, false],
    ["team.buy", "none", "lead", {}, false],
    ["team.buy", "none", "member", { teamId: "t" }, false],
    ["team.buy", "operator", undefined, { teamId: "t" }, true],
    ["team.read", "none", "member", { teamId: "t" }, true],
    ["self.use", "none", undefined, { accountId: "a" }, true],
    ["self.use", "none", undefined, { accountId: "b" }, false],
    ["self.use", "owner", undefined, { accountId: "b" }, false],
    ["account.read", "none", undefined, { accountId: "a" }, false],
    ["account.read", "finance", undefined, { accountId: "b" }, true],
  ];
  for (const [action, role, inTeam, about, isAllowed] of rows) {
    const account = { id: "a", role } as Account;
    const teams = new Map(inTeam === undefined ? [] : [["t", inTeam]]);
    assertEquals(can({ account, teams }, action, about), isAllowed, `${action} ${role} ${inTeam}`);
  }
});
