import type { Mutation } from "../mutation.ts";

const rule = (name: string) => `src/money/ledger/rules/${name}.ts`;
const BUDGETS_SQL = rule("sql/budgets");
const LEDGER = "tests/money/ledger/budgets_test.ts";
const FLOW = "tests/flow/team_budgets_test.ts";
const CONSOLE = "tests/doors/console/budgets_test.ts";
const LIFTS = [{ file: CONSOLE, filter: "a member lifts no budget" }];

/** Budgets of teams and members, and who may change them. */
export const TEAM_BUDGETS: readonly Mutation[] = [
  {
    name: "new-key-without-budget-of-team",
    file: rule("open_balances"),
    find: `  "'team:' || new.team_id",\n`,
    replace: "",
    tests: [{ file: LEDGER, filter: "from the moment it is made" }],
    why: "A member would get around the team's budget by making another key.",
  },
  {
    name: "new-key-without-budget-of-member",
    file: rule("open_balances"),
    find: `  "'member:' || new.team_id || ':' || new.member_id",\n`,
    replace: "",
    tests: [{ file: FLOW, filter: "stopped, removed and added again" }],
    why: "A member would get around their budget by making another key, or by being added again.",
  },
  {
    name: "budget-of-team-on-no-key",
    file: BUDGETS_SQL,
    find: "= 'team' and team_id = ${ownerId}",
    replace: "= 'team' and id = ${ownerId}",
    tests: [{ file: LEDGER, filter: "(file): 300 requests" }],
    why: "A team's budget would not limit the keys that there are when it is set.",
  },
  {
    name: "budget-of-member-on-all-members",
    file: BUDGETS_SQL,
    find: "\n      and member_id = substr(${ownerId}, ${colon} + 1)`",
    replace: "`",
    tests: [{ file: FLOW, filter: "GET /user/credits" }],
    why: "One member's budget would limit, and be shown to, everybody in the team.",
  },
  {
    name: "member-changes-budgets",
    file: "src/people/accounts/permissions.ts",
    find: `and of keys that its pool pays for",
    allowed: [...OPERATORS, "lead"],`,
    replace: `and of keys that its pool pays for",
    allowed: [...OPERATORS, "lead", "member"],`,
    tests: LIFTS,
    why: "A member could lift the budget that the lead has set.",
  },
  {
    name: "member-lifts-budget-of-pooled-key",
    file: "src/operating/operations/rights.ts",
    find: `return key.accountId === team?.poolId ? { ...about, action: "team.budgets" } : about;`,
    replace: "return about;",
    tests: LIFTS,
    why: "A member could lift the budget of a key that the pool pays for.",
  },
  {
    name: "operator-changes-budget-of-owner",
    file: "src/operating/operations/rights.ts",
    find: `const action = isOwner(account) ? "account.manage_owner" : "account.budgets";`,
    replace: `const action = "account.budgets";`,
    tests: LIFTS,
    why: "An operator could stop an owner's keys by a budget of 0.",
  },
  {
    name: "budget-of-somebody-not-in-team",
    file: "src/doors/console/team_pages.tsx",
    find: `c.req.path.endsWith("/remove") || await memberOf(c, { team }) !== undefined`,
    replace: "true",
    tests: LIFTS,
    why:
      "A lead could set budgets, and find out who exists, for accounts that are not in the team.",
  },
  {
    name: "raise-until-another-zone",
    file: "src/doors/console/budget_form.ts",
    find: `instantAt(zone, form.text("until"))`,
    replace: `instantAt("UTC", form.text("until"))`,
    tests: [{ file: CONSOLE, filter: "twice is once" }],
    why: "A raise would end hours before or after the time that the form shows.",
  },
  {
    name: "raise-that-has-ended",
    file: "src/operating/operations/budget_operations.ts",
    find: "if (credits > 0 && untilMs <= nowMs) {",
    replace: "if (credits > 0 && untilMs < 0) {",
    tests: [{ file: CONSOLE, filter: "what a form has wrong" }],
    why: "A raise with the wrong year would be saved and never apply.",
  },
  {
    name: "key-of-team-without-its-budget",
    file: "src/doors/console/key_form.ts",
    find: "budgets: budgetsOfForm(form),",
    replace: "",
    tests: [{ file: CONSOLE, filter: "a key is made with one" }],
    why: "A key would be made without the budget of the form.",
  },
  {
    name: "renamed-key-may-use-all-models",
    file: "src/doors/console/key_form.ts",
    find: `      ? modelsOf(form, catalog, key.models)
      : undefined,`,
    replace: `      ? modelsOf(form, catalog, key.models)
      : null,`,
    tests: [{ file: CONSOLE, filter: "a key's name, models and expiry" }],
    why: "Renaming a key would lift its restriction to models.",
  },
  {
    name: "home-of-stopped-member",
    file: "src/doors/console/home_pages.tsx",
    find: "active.filter((key) => mayChange(key, KEY_UPDATE))",
    replace: "active",
    tests: [{ file: CONSOLE, filter: "Home shows the budgets" }],
    why: "Somebody who was stopped would go on seeing what the team spends.",
  },
  {
    name: "pooled-key-sees-use-of-team",
    file: "src/doors/http/credits.ts",
    find: "const isPaidByPool = teamId !== null && accountId !== memberId;",
    replace: "const isPaidByPool = teamId !== null && accountId === memberId;",
    tests: [{ file: FLOW, filter: "GET /user/credits" }],
    why: "Each member would see what the whole team uses, and the pool's lots.",
  },
];
