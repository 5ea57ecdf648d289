import {
  type Account,
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
  { account, provider, rights, by }: {
    readonly account: Pick<Account, "id">;
    readonly provider: string;
    readonly rights: Rights;
    readonly by: By;
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
  if (budgets.statements.length === 0 && isSame(before, rights.role ?? "none", wanted)) {
    return { unknownTeams };
  }
  await database.batch([
    ...grants.statements(account.id, provider, {
      role: rights.role ?? "none",
      teams: wanted,
      budgets: budgets.granted,
    }),
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

/** Whether groups give what an account has from them already, or has by hand. */
function isSame(
  { role, teams, fromGroups }: Holdings,
  wantedRole: string,
  wanted: ReadonlyMap<string, TeamRole>,
): boolean {
  const isRole = role === wantedRole || (!fromGroups.role && role !== "none");
  const lost = [...fromGroups.teams].some((id) => !wanted.has(id));
  const gained = [...wanted].some(([id, teamRole]) =>
    !teams.has(id) || fromGroups.teams.has(id) && teams.get(id) !== teamRole
  );
  return isRole && !lost && !gained;
}

/** Periods of the budgets that groups give, where none was set by hand, and the statements that set those and remove the others. */
async function budgetsFor(
  accountId: string,
  { budgets: granted }: Holdings,
  { database, rights, now }: {
    readonly database: Database;
    readonly rights: Rights;
    readonly now: () => number;
  },
): Promise<{ readonly granted: ReadonlySet<string>; readonly statements: readonly Statement[] }> {
  const owner = { owner: "account", ownerId: accountId } as const;
  const there = new Map(
    (await budgetsOf(database, owner, now())).map((one) => [one.period, one.credits]),
  );
  const free = BUDGET_PERIODS.filter((period) => granted.has(period) || !there.has(period));
  return {
    granted: new Set(free.filter((period) => rights.budgets.has(period))),
    statements: free.flatMap((period): Statement[] => {
      const credits = rights.budgets.get(period);
      if (credits === there.get(period)) return [];
      return credits === undefined
        ? removeStatements({ ...owner, period })
        : budgetStatements({ ...owner, period, credits }, { nowMs: now() });
    }),
  };
}
