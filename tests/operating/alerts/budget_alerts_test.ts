import { type Budget, budgetsOf, setBudget } from "../../../src/money/ledger/mod.ts";
import { budgetAlerts, reachedMark } from "../../../src/operating/alerts/budget_alerts.ts";
import { assert, assertEquals } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { teamOf } from "../../fake/team.ts";

Deno.test("budgets alert whom they are of, until the key, account or team is used no more", async () => {
  await using gateway = await startGateway();
  const { accounts, database, keys, members, teams } = gateway.gateway;
  const { team, members: [ada, bob], key } = await teamOf(gateway);
  const shared = await key(null);
  const own = await keys.issue(bob!.account, { name: "laptop" });
  const email = bob!.account.email;
  const owners = {
    [`key of a member: the key ${ada!.key.hint} of ${ada!.account.email}`]: [
      "key",
      ada!.key.id,
      ada!.account.id,
      team.id,
    ],
    [`key of the team: the key ${shared.hint} of ${(await accounts.byId(team.poolId!))!.email}`]: [
      "key",
      shared.id,
      team.poolId,
      team.id,
    ],
    [`key of an account: the key laptop of ${email}`]: ["key", own.id, bob!.account.id, null],
    [`account: ${email}`]: ["account", bob!.account.id, bob!.account.id, null],
    [`team: the team ${team.name}`]: ["team", team.id, null, team.id],
    [`member: ${email} in the team ${team.name}`]: [
      "member",
      `${team.id}:${bob!.account.id}`,
      bob!.account.id,
      team.id,
    ],
  } as const;
  const budgets: Budget[] = [];
  const nowMs = Date.now();
  for (const [owner, ownerId] of Object.values(owners)) {
    await setBudget(database, { owner, ownerId, period: "life", credits: 100 }, { nowMs });
    const [budget] = await budgetsOf(database, { owner, ownerId }, nowMs);
    budgets.push({ ...budget!, spent: 80 });
  }
  const names = Object.keys(owners).map((name) => name.split(":")[0]!);
  /** What is alerted, by what the budget is of. */
  const alerted = async () => {
    const found = await budgetAlerts(budgets, gateway.gateway);
    return names.filter((_, at) => found.some(({ data }) => data.budget === budgets[at]!.id));
  };
  const first = await budgetAlerts(budgets, gateway.gateway);
  assertEquals(
    first.map(({ title, accountId, teamId }) => [title, accountId, teamId]),
    Object.entries(owners).map(([name, [, , accountId, teamId]]) => [
      `Budget 80 % spent: ${name.replace(/^[^:]+: /, "")}`,
      accountId,
      teamId,
    ]),
  );
  for (const [at, budget] of budgets.entries()) {
    assertEquals(await budgetAlerts([budget], gateway.gateway), [first[at]!], "each alone as well");
  }
  assertEquals(
    await budgetAlerts(budgets.map((one) => ({ ...one, spent: 49 })), gateway.gateway),
    [],
  );

  await keys.revoke(own.id);
  assertEquals(await alerted(), names.filter((name) => name !== "key of an account"));
  await accounts.disable(ada!.account.email);
  assertEquals(await alerted(), ["key of the team", "account", "team", "member"]);
  await accounts.disable(email);
  assertEquals(await alerted(), ["key of the team", "team"]);
  await accounts.enable(email);
  await teams.change(team, { disabled: true });
  assertEquals(await alerted(), ["key of the team", "account"]);
  // one who was removed is a member no more, and an account still
  await members.remove(team, bob!.account);
  assert((await alerted()).includes("account"));
});

Deno.test("the highest mark that is reached counts, of the budget with its raise", () => {
  const budget = { credits: 100, raise: null, marks: [100, 50, 80] };
  const reached = (spent: number, more: Partial<Parameters<typeof reachedMark>[0]> = {}) =>
    reachedMark({ ...budget, spent, ...more });
  const raise = { credits: 100, untilMs: 0 };
  assertEquals([49, 50, 79, 80, 99, 100, 500].map((spent) => reached(spent)), [
    undefined,
    50,
    50,
    80,
    80,
    100,
    100,
  ]);
  assertEquals([99, 100, 160, 200].map((spent) => reached(spent, { raise })), [
    undefined,
    50,
    80,
    100,
  ]);
  assertEquals(reached(100, { marks: [] }), undefined);
});
