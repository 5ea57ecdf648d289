/** What a write requires, by what it is about and who asks: the action, what one must see, the message, and about whom. */

import {
  denialOf,
  inTeam,
  onAccount,
  type Right,
  type RightOf,
  rightOf,
  type Subject,
  toBuy,
  toChangeBudget,
  toChangeKey,
  toGiveRole,
  toMakeKey,
  toManage,
  toRevokeKey,
  toSetOwnKey,
} from "../../../src/operating/operations/rights.ts";
import type { Role } from "../../../src/people/accounts/mod.ts";
import type { Person } from "../../../src/people/operation_log/mod.ts";
import { assertEquals, assertThrows } from "../../assert.ts";

const person = (role: Role = "none", teams: Person["teams"] = new Map()) =>
  ({ account: { id: "me", role, disabledAtMs: null }, teams }) as Person;
const ME = person();
/** Who uses the shell has no account. */
const SHELL = { account: null, teams: new Map() } as Person;

const account = (id: string, role: Role = "none") => ({ id, role });
const [me, bob, chief] = [account("me"), account("bob"), account("chief", "owner")];
const pool = account("pool");
const POOLED = { id: "team", poolId: "pool" };
const POOLLESS = { id: "team", poolId: null };
const ofTeam = (memberId: string | null, accountId: string) => ({
  teamId: "team",
  memberId,
  accountId,
});
const OWN = { teamId: null, memberId: null, accountId: "bob" };

const BY_ITSELF = { action: "self.use", sees: "self.use" } as const;
const BY_OPERATORS = { action: "account.manage", sees: "account.keys" } as const;
const BY_OWNERS = { action: "account.manage_owner", sees: "account.keys" } as const;
const ONLY_OPERATORS = "Only an operator can change keys that another member pays for.";
const ONLY_OWNERS = "Only an owner can change keys that an owner pays for.";
const ONLY_OWN = "You may create keys only for yourself.";

const CASES: readonly (readonly [RightOf, Subject, expected: Partial<Right>, by?: Person])[] = [
  [toManage, { account: bob }, { action: "account.manage", sees: "account.read" }],
  [toManage, { account: chief }, { action: "account.manage_owner", sees: "account.read" }],
  ...([
    [bob, "operator", "account.role", undefined],
    [bob, "owner", "account.role_owner", "Only an owner can make other owners."],
    [chief, "none", "account.role_owner", undefined],
  ] as const).map(([about, role, action, why]) =>
    [toGiveRole, { account: about, role }, { action, sees: "account.read", why }] as const
  ),
  [onAccount, { account: bob }, { sees: "account.read" }],
  [inTeam, { team: POOLED }, { sees: "team.read" }],

  // the key of an account, or a new one
  ...([toChangeKey, toMakeKey] as const).flatMap((rule) =>
    ([
      [me, BY_ITSELF],
      [bob, BY_OPERATORS],
      [chief, BY_OWNERS],
    ] as const).map(([payer, right]) => [rule, { account: payer }, right] as const)
  ),
  [toChangeKey, { account: bob, key: OWN }, BY_OPERATORS],
  [toChangeKey, { account: bob, key: OWN }, BY_OPERATORS, SHELL],

  // the key of a team: by who uses it and who pays
  ...([
    [POOLLESS, ofTeam("me", "me"), me, "team.own_keys", undefined, "me", ME],
    [POOLED, ofTeam("me", "pool"), pool, "team.own_keys", undefined, "me", ME],
    [POOLED, ofTeam("bob", "pool"), pool, "team.keys", undefined, "bob", ME],
    [POOLED, ofTeam(null, "pool"), pool, "team.keys", undefined, "pool", ME],
    [POOLLESS, ofTeam("bob", "bob"), bob, "team.members_paid_keys", ONLY_OPERATORS, "bob", ME],
    [
      POOLLESS,
      ofTeam("me", "me"),
      account("me", "owner"),
      "team.own_keys",
      undefined,
      "me",
      person("owner"),
    ],
  ] as const).flatMap(([team, key, payer, action, why, accountId, by]) => [
    [toChangeKey, { team, key, account: payer }, {
      action,
      sees: "team.keys",
      why,
      accountId,
    }, by] as const,
    [toMakeKey, { team, key, account: payer }, {
      action,
      sees: "team.own_keys",
      why: why ?? ONLY_OWN,
      accountId,
    }, by] as const,
  ]),
  [toChangeKey, { team: POOLLESS, key: ofTeam("chief", "chief"), account: chief }, {
    action: "account.manage_owner",
    sees: "team.members_paid_keys",
    why: ONLY_OWNERS,
    accountId: "chief",
  }],

  // it is revoked by its user and its payer as well
  ...[ofTeam("me", "pool"), ofTeam("bob", "me"), { ...OWN, accountId: "me" }].map((key) =>
    [toRevokeKey, { key, account: pool, team: POOLED }, {
      ...BY_ITSELF,
      accountId: "me",
      teamId: undefined,
    }] as const
  ),
  [toRevokeKey, { key: OWN, account: bob }, BY_OPERATORS],
  [toRevokeKey, { key: OWN, account: bob }, BY_OPERATORS, SHELL],
  ...([[ofTeam("bob", "pool"), "bob"], [ofTeam(null, "pool"), "pool"]] as const).map((
    [key, accountId],
  ) =>
    [toRevokeKey, { key, account: pool, team: POOLED }, {
      action: "team.keys",
      sees: "team.keys",
      accountId,
    }] as const
  ),

  // budgets
  [toChangeBudget, { account: me, key: { ...OWN, accountId: "me" } }, BY_ITSELF],
  ...([
    [POOLED, ofTeam("me", "pool"), pool, "team.budgets", undefined, "me"],
    [POOLED, ofTeam(null, "pool"), pool, "team.budgets", undefined, undefined],
    [POOLLESS, ofTeam("me", "me"), me, "team.own_keys", undefined, "me"],
    [POOLLESS, ofTeam("bob", "bob"), bob, "team.members_paid_keys", ONLY_OPERATORS, "bob"],
  ] as const).map(([team, key, payer, action, why, accountId]) =>
    [toChangeBudget, { team, key, account: payer }, {
      action,
      sees: "team.keys",
      why,
      accountId,
    }] as const
  ),
  [toChangeBudget, { team: POOLED, account: bob }, { action: "team.budgets", sees: "team.read" }],
  [toChangeBudget, { account: me }, { action: "account.budgets", sees: "account.read" }],
  [toChangeBudget, { account: chief }, { action: "account.manage_owner", sees: "account.read" }],

  [toSetOwnKey, { account: me }, BY_ITSELF],
  [toSetOwnKey, { account: bob }, BY_OPERATORS],
  [toSetOwnKey, { team: POOLED }, { action: "team.upstream_keys", sees: "team.read" }],
  [toBuy, { account: pool, team: POOLED }, { action: "team.buy", sees: "team.orders" }],
  [toBuy, { account: me }, { action: "self.use" }],
  [toBuy, { account: bob }, { sees: "account.read" }],
];

Deno.test("a write requires what its subject says (table)", () => {
  for (const [at, [rule, subject, expected, by = ME]] of CASES.entries()) {
    assertEquals(rule(by, subject), expected, `case ${at}: ${JSON.stringify(subject)}`);
  }
});

Deno.test("what the subject does not say is as the definition has it, and about the subject", () => {
  const action = "credits.move";
  assertEquals(rightOf(ME, { action }, {}), { action });
  assertEquals(rightOf(ME, { action }, { team: POOLED }), { action, teamId: "team" });
  assertEquals(rightOf(ME, { action, right: onAccount }, { account: bob }), {
    action,
    accountId: "bob",
    sees: "account.read",
  });
});

Deno.test("nobody decides on half of what a write is about", () => {
  for (
    const [rule, subject] of [
      [toRevokeKey, {}],
      [toManage, {}],
      [toBuy, {}],
      [toChangeKey, { key: ofTeam("bob", "bob"), account: bob }],
    ] as const
  ) assertThrows(() => rule(ME, subject), TypeError, "lacks what its right depends on");
});

Deno.test("who lacks a right gets its message, or learns nothing of what they may not see", () => {
  const codeOf = (by: Person, right: Right) => {
    const denial = denialOf(by, right);
    return denial && `${denial.code}: ${denial.message}`;
  };
  const why = "Not so.";
  const denied = "permission_denied: Not so.";
  const right = { action: "account.manage", accountId: "bob" } as const;
  assertEquals(codeOf(person("operator"), right), undefined);
  assertEquals(codeOf(SHELL, right), undefined);
  assertEquals(codeOf(ME, { ...right, why }), denied);
  assertEquals(
    codeOf(ME, right),
    "permission_denied: The role of this account does not allow the action 'account.manage'.",
  );
  const seen = { ...right, why, sees: "account.read" } as const;
  assertEquals(codeOf(person("finance"), seen), denied);
  assertEquals(codeOf(ME, seen), "not_found: Not found.");
  // by the role in the team that it is about
  const inTeams = person("none", new Map([["team", "member"]]));
  const ofOne = { action: "team.members", sees: "team.read", why, teamId: "team" } as const;
  assertEquals(codeOf(inTeams, ofOne), denied);
  assertEquals(codeOf(inTeams, { ...ofOne, teamId: "other" }), "not_found: Not found.");
});
