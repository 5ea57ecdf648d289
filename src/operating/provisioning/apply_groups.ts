import {
  type Granted,
  type GroupGrants,
  type Holdings,
  type TeamRole,
  type Teams,
} from "../../people/accounts/mod.ts";
import { type By, logStatement } from "../../people/operation_log/mod.ts";
import type { Rights } from "../../people/sign_in/mod.ts";
import type { Database, Statement } from "../../ground/database/mod.ts";
import { newId } from "../../ground/platform/mod.ts";
import {
  BUDGET_PERIODS,
  type BudgetPeriod,
  budgetsOfAccounts,
  budgetStatements,
  removeStatements,
} from "../../money/ledger/mod.ts";

/** What groups are applied with. */
export interface ApplyParts {
  readonly database: Database;
  readonly teams: Pick<Teams, "list">;
  readonly grants: GroupGrants;
  readonly now: () => number;
}

/** What came of it. */
export interface Applied {
  /** Teams that the settings name and that there are none of. */
  readonly unknownTeams: readonly string[];
}

/**
 * Makes role, teams and budgets of accounts what their groups give, in one transaction with a row of the log for each. Nothing is written
 * of accounts for which nothing changes.
 *
 * @param accountIds Accounts whose groups give the same. Others wait for the transaction, so pass a few hundred at most.
 * @param provider That said which groups these are.
 */
export async function applyGroups(
  { database, teams, grants, now }: ApplyParts,
  { accountIds, provider, rights, by, also = [] }: {
    readonly accountIds: readonly string[];
    readonly provider: string;
    readonly rights: Rights;
    readonly by: By;
    /** Statements for the same transaction, before it. */
    readonly also?: readonly Statement[];
  },
): Promise<Applied> {
  const known = await teams.list();
  const wanted = new Map<string, TeamRole>();
  const unknownTeams: string[] = [];
  for (const [name, role] of rights.teams) {
    const team = known.find(({ id }) => id === name) ?? known.find((one) => one.name === name);
    if (team === undefined) unknownTeams.push(name);
    else if (wanted.get(team.id) !== "lead") wanted.set(team.id, role);
  }
  const nowMs = now();
  const holdings = await grants.read(accountIds, provider);
  const budgetsOf = await budgetsOfAccounts(database, accountIds, nowMs);
  const changes = [...holdings].flatMap(([accountId, before]) => {
    const change = budgetsFor(accountId, before, {
      rights,
      there: new Map((budgetsOf.get(accountId) ?? []).map((one) => [one.period, one.credits])),
      nowMs,
    });
    const after = { role: rights.role ?? "none", teams: wanted, budgets: change.granted } as const;
    const isToDo = change.statements.length > 0 || !isSame(before, after);
    return isToDo ? [{ accountId, before, after, statements: change.statements }] : [];
  });
  const alike = Map.groupBy(changes, ({ after }) => JSON.stringify([...after.budgets]));
  const statements = [
    ...also,
    ...[...alike.values()].flatMap((some) =>
      grants.statements(some.map(({ accountId }) => accountId), provider, some[0]!.after)
    ),
    ...changes.flatMap(({ accountId, before, statements }) => [
      ...statements,
      logStatement({
        id: newId("op"),
        atMs: nowMs,
        operation: "account.groups",
        ...by,
        about: { accountId, objectId: accountId },
        before: described(before.role, before.teams),
        after: {
          provider,
          role: rights.role ?? null,
          teams: Object.fromEntries(wanted),
          budgets: Object.fromEntries(rights.budgets),
        },
      }),
    ]),
  ];
  if (statements.length > 0) await database.batch(statements);
  return { unknownTeams };
}

function described(role: string, teams: ReadonlyMap<string, TeamRole>) {
  return { role, teams: Object.fromEntries(teams) };
}

/** Whether groups give what they gave before, as far as nothing was given by hand. */
function isSame({ role, teams, granted, others }: Holdings, wanted: Granted): boolean {
  const isFree = role === "none" || granted.role !== "none" || others.role !== "none";
  const isOurs = (id: string) => !teams.has(id) || granted.teams.has(id) || others.teams.has(id);
  const isIn = (id: string) => teams.has(id) && granted.teams.get(id) === wanted.teams.get(id);
  return granted.role === (isFree ? wanted.role : "none") &&
    [...wanted.teams.keys()].every((id) => !isOurs(id) || isIn(id)) &&
    [...granted.teams.keys()].every((id) => wanted.teams.has(id)) &&
    granted.budgets.size === wanted.budgets.size &&
    [...wanted.budgets].every(([period, credits]) => granted.budgets.get(period) === credits);
}

/** Periods of the budgets that groups give, where none was set by hand, and the statements that set those and remove the others. */
function budgetsFor(
  accountId: string,
  { granted, others }: Holdings,
  { rights, there, nowMs }: {
    readonly rights: Rights;
    /** Credits of the account's budgets, by their period. */
    readonly there: ReadonlyMap<BudgetPeriod, number>;
    readonly nowMs: number;
  },
): { readonly granted: ReadonlyMap<string, number>; readonly statements: readonly Statement[] } {
  const owner = { owner: "account", ownerId: accountId } as const;
  const free = BUDGET_PERIODS.filter((period) =>
    granted.budgets.has(period) || others.budgets.has(period) || !there.has(period)
  );
  const own = new Map([...rights.budgets].filter(([period]) => free.some((one) => one === period)));
  return {
    granted: own,
    statements: free.flatMap((period): Statement[] => {
      const given = [own.get(period), others.budgets.get(period)]
        .filter((credits) => credits !== undefined);
      const credits = given.length === 0 ? undefined : Math.max(...given);
      if (credits === there.get(period)) return [];
      return credits === undefined
        ? removeStatements({ ...owner, period })
        : budgetStatements({ ...owner, period, credits }, { nowMs });
    }),
  };
}
