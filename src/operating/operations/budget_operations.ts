import * as z from "zod";
import { wholeInput } from "../../ground/amounts/mod.ts";
import { BUDGET_CREDITS, MARK } from "../../settings/config/mod.ts";
import { AccountError, givenByHand } from "../../people/accounts/mod.ts";
import type { Statement } from "../../ground/database/mod.ts";
import {
  BUDGET_OWNERS,
  BUDGET_PERIODS,
  budgetId,
  type BudgetName,
  budgetOf,
  type BudgetOwner,
  budgetsOf,
  budgetStatements,
  raiseBudget,
  removeBudget,
  setBudget,
} from "../../money/ledger/mod.ts";
import { accountOf, keyOf, msOf, subjectOfKey, teamOf, timeInput, wholeList } from "./lookup.ts";
import { defineRead, defineWrite, type Found, type OperationContext } from "./operation.ts";
import { invalid, missing } from "../../people/operation_log/mod.ts";
import { toChangeBudget } from "./rights.ts";
import { budgetShape, describeBudget } from "./shapes/budget.ts";

const terms = {
  period: z.enum(BUDGET_PERIODS).describe("How often it renews; `life`: never."),
  credits: wholeInput(BUDGET_CREDITS).describe("Credits per period."),
  time_zone: z.string().max(64).optional().describe(
    "In which days, weeks and months begin. Default: that of the present budget, else `UTC`.",
  ),
  marks: z.array(wholeInput(MARK)).max(10).optional().describe(
    "Percentages at which to warn. Default: those of the present budget, else 50, 80 and 100.",
  ),
};

/** A budget of a new key. */
export const budgetInput = z.strictObject(terms);

const ownerInput = {
  owner: z.enum(BUDGET_OWNERS),
  owner_id: z.string().min(1).max(400).describe(
    "ID of the key, team (or its name) or account (or its email address); of a member: those of the team and the account, " +
      "with a colon in between.",
  ),
};

const budgetIdInput = z.string().min(1).max(400).describe("ID of the budget.");

/** Statements that give a new key its budgets. */
export function budgetsOfNew(
  keyId: string,
  budgets: readonly z.output<typeof budgetInput>[],
  nowMs: number,
): Statement[] {
  try {
    return budgets.flatMap(({ time_zone: zone, ...one }) =>
      budgetStatements({ ...one, zone, owner: "key", ownerId: keyId }, { nowMs })
    );
  } catch (error) {
    return wrongValue(error);
  }
}

/** An owner of budgets. */
interface Owner {
  readonly owner: BudgetOwner;
  readonly ownerId: string;
}

/** Finds an owner of budgets. */
async function ownerOf(
  c: OperationContext,
  { owner, owner_id: named }: { readonly owner: BudgetOwner; readonly owner_id: string },
): Promise<Found<Owner>> {
  switch (owner) {
    case "account": {
      const account = await accountOf(c, named);
      return { target: { owner, ownerId: account.id }, account };
    }
    case "team": {
      const team = await teamOf(c, named);
      return { target: { owner, ownerId: team.id }, team };
    }
    case "member": {
      const [teamName = "", accountName = ""] = named.split(/:(.*)/s);
      const team = await teamOf(c, teamName);
      const account = await accountOf(c, accountName);
      return { target: { owner, ownerId: `${team.id}:${account.id}` }, team, account };
    }
    case "key": {
      const key = await keyOf(c, named);
      return { target: { owner, ownerId: key.id }, ...await subjectOfKey(c.parts, key) };
    }
  }
}

/** Somebody who was removed gets no budget; one that they had can be removed. */
async function checkMember({ parts }: OperationContext, ownerId: string): Promise<void> {
  const [teamId = "", accountId = ""] = ownerId.split(":");
  const member = await parts.members.find({ id: teamId }, { id: accountId });
  if (member === undefined) throw missing("Member", ownerId);
}

async function named(c: OperationContext, id: string): Promise<Found<BudgetName>> {
  const [, owner, ownerId, period] = /^(key|member|team|account):(.+):(\w+)$/.exec(id) ?? [];
  const known = BUDGET_PERIODS.find((one) => one === period);
  const kind = BUDGET_OWNERS.find((one) => one === owner);
  if (kind === undefined || known === undefined) throw missing("Budget", id);
  const { target, ...about } = await ownerOf(c, { owner: kind, owner_id: ownerId! });
  const name = { ...target, period: known };
  return { ...about, target: name, objectId: budgetId(name) };
}

async function state({ parts, nowMs }: OperationContext, name: BudgetName) {
  const budget = await budgetOf(parts.database, name, nowMs);
  return budget === undefined ? null : describeBudget(budget);
}

/** Writes about a budget that there is. */
const OF_BUDGET = {
  action: "account.manage",
  right: toChangeBudget,
  find: (c: OperationContext, { budget }: { readonly budget: string }) => named(c, budget),
  state,
} as const;

export const BUDGET_LIST = defineRead({
  input: z.strictObject(ownerInput),
  output: budgetShape,
}, {
  name: "budget.list",
  path: "/budgets",
  summary: "List the budgets of a key, member, team or account",
  action: "account.read",
  isList: true,
  async read(c, input) {
    const { target } = await ownerOf(c, input);
    const found = await budgetsOf(c.parts.database, target, c.nowMs);
    return wholeList(found.map(describeBudget));
  },
});

export const BUDGET_SET = defineWrite({
  input: z.strictObject({ ...ownerInput, ...terms }),
  output: budgetShape,
}, {
  name: "budget.set",
  method: "PUT",
  path: "/budgets",
  summary: "Set a budget, or change the one that its owner has for the same period",
  description: "A raise stays. In another time zone, its periods start over.",
  action: "account.manage",
  right: toChangeBudget,
  async find(c, { period, ...input }) {
    const { target: owner, ...about } = await ownerOf(c, input);
    const target = { ...owner, period };
    if (owner.owner === "member") await checkMember(c, owner.ownerId);
    return { ...about, target, objectId: budgetId(target) };
  },
  state,
  async run({ database }, { nowMs }, { target, input: { credits, time_zone: zone, marks } }) {
    const also = target.owner === "account"
      ? [givenByHand(target.ownerId, "budget", target.period)]
      : [];
    const set = { ...target, credits, zone, marks };
    await setBudget(database, set, { nowMs, also }).catch(wrongValue);
  },
});

export const BUDGET_RAISE = defineWrite({
  input: z.strictObject({
    budget: budgetIdInput,
    credits: wholeInput(BUDGET_CREDITS).describe("Extra credits per period; 0 ends a raise."),
    until: timeInput.optional().describe("End of the raise; required unless credits is 0."),
  }),
  output: budgetShape,
}, {
  name: "budget.raise",
  path: "/budgets/{budget}/raise",
  summary: "Raise a budget for a time",
  ...OF_BUDGET,
  async run({ database }, { nowMs }, { target, input: { credits, until } }) {
    if (until === undefined && credits > 0) {
      throw invalid("until", "A raise needs an end.");
    }
    const untilMs = msOf(until) ?? 0;
    if (credits > 0 && untilMs <= nowMs) {
      throw invalid("until", "The end of a raise must be in the future.");
    }
    const raised = await raiseBudget(database, target, { credits, untilMs, nowMs })
      .catch(wrongValue);
    if (raised === undefined) throw missing("Budget", budgetId(target));
  },
});

export const BUDGET_REMOVE = defineWrite({
  input: z.strictObject({ budget: budgetIdInput }),
  output: budgetShape,
}, {
  name: "budget.remove",
  method: "DELETE",
  path: "/budgets/{budget}",
  summary: "Remove a budget; the reply is the budget as it was",
  ...OF_BUDGET,
  async run({ database }, _c, { target }) {
    if (!await removeBudget(database, target)) throw missing("Budget", budgetId(target));
  },
  reply: (_c, { before }) => Promise.resolve(before ?? {}),
});

/** What the ledger does not take is a wrong value. */
function wrongValue(error: unknown): never {
  throw error instanceof RangeError ? new AccountError(error.message, { cause: error }) : error;
}
