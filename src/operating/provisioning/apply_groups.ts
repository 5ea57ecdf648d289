import {
  type Account,
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
  budgetsOf,
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
 * Makes role, teams and budgets of an account what its groups give, in one transaction with the row of the log. Nothing is written where
 * nothing changes.
 *
 * @param provider That said which groups these are.
 */
export async function applyGroups(
  { database, teams, grants, now }: ApplyParts,
  { account, provider, rights, by, also = [] }: {
    readonly account: Pick<Account, "id">;
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
  const before = await grants.read(account.id, provider);
  const budgets = await budgetsFor(account.id, before, { database, rights, now });
  const after = { role: rights.role ?? "none", teams: wanted, budgets: budgets.granted } as const;
  if (budgets.statements.length === 0 && isSame(before, after)) {
    if (also.length > 0) await database.batch(also);
    return { unknownTeams };
  }
  await database.batch([
    ...also,
    ...grants.statements(account.id, provider, after),
    ...budgets.statements,
    logStatement({
      id: newId("op"),
      atMs: now(),
      operation: "account.groups",
      ...by,
      about: { accountId: account.id, objectId: account.id },
      before: described(before.role, before.teams),
      after: {
        provider,
        role: rights.role ?? null,
        teams: Object.fromEntries(wanted),
        budgets: Object.fromEntries(rights.budgets),
      },
    }),
  ]);
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
async function budgetsFor(
  accountId: string,
  { granted, others }: Holdings,
  { database, rights, now }: {
    readonly database: Database;
    readonly rights: Rights;
    readonly now: () => number;
  },
): Promise<
  { readonly granted: ReadonlyMap<string, number>; readonly statements: readonly Statement[] }
> {
  const owner = { owner: "account", ownerId: accountId } as const;
  const there = new Map(
    (await budgetsOf(database, owner, now())).map((one) => [one.period, one.credits]),
  );
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
        : budgetStatements({ ...owner, period, credits }, { nowMs: now() });
    }),
  };
}
