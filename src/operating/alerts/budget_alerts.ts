import type { Account, Accounts, Key, Keys, Team, Teams } from "../../people/accounts/mod.ts";
import type { Budget, BudgetOwner } from "../../money/ledger/mod.ts";
import type { NewAlert } from "./alert.ts";
import { type AlertedOwner, budgetMark } from "./marks.ts";

/** Where the names of owners of budgets are. */
export interface BudgetOwners {
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly teams: Teams;
}

/**
 * Describes budgets of which a mark was reached; those of revoked keys and disabled accounts and teams are left out.
 *
 * @param budgets Budgets of which a part is spent.
 * @returns One alert for each budget: that of its highest mark.
 */
export async function budgetAlerts(
  budgets: readonly Budget[],
  { accounts, keys, teams }: BudgetOwners,
): Promise<NewAlert[]> {
  const marked = budgets.flatMap((budget) => {
    const percent = reachedMark(budget);
    return percent === undefined ? [] : [{ budget, percent }];
  });
  const idsOf = (owner: BudgetOwner) =>
    marked.filter(({ budget }) => budget.owner === owner).map(({ budget }) => budget.ownerId);
  const members = idsOf("member").map(partsOf);
  const keyOf = await keys.byIds(idsOf("key"));
  const accountOf = await accounts.byIds([
    ...idsOf("account"),
    ...members.map(([, accountId]) => accountId),
    ...[...keyOf.values()].map((key) => key.memberId ?? key.accountId),
  ]);
  const hasTeams = marked.some(({ budget: { owner } }) => owner === "member" || owner === "team");
  const teamOf = new Map(hasTeams ? (await teams.list()).map((team) => [team.id, team]) : []);
  return marked.flatMap(({ budget, percent }) => {
    const owner = ownerOf(budget, { keyOf, accountOf, teamOf });
    return owner === undefined ? [] : [budgetMark(budget, owner, percent)];
  });
}

/** The highest mark that is reached; undefined if none is. A raise is a part of the budget. */
export function reachedMark(
  { credits, raise, spent, marks }: Pick<Budget, "credits" | "raise" | "spent" | "marks">,
): number | undefined {
  const all = credits + (raise?.credits ?? 0);
  return marks.toSorted((a, b) => a - b).findLast((percent) => spent * 100 >= all * percent);
}

function ownerOf(
  { owner, ownerId }: Budget,
  { keyOf, accountOf, teamOf }: {
    readonly keyOf: ReadonlyMap<string, Key>;
    readonly accountOf: ReadonlyMap<string, Account>;
    readonly teamOf: ReadonlyMap<string, Team>;
  },
): AlertedOwner | undefined {
  const active = (id: string) => {
    const account = accountOf.get(id);
    return account?.disabledAtMs === null ? account : undefined;
  };
  switch (owner) {
    case "key": {
      const key = keyOf.get(ownerId);
      if (key?.revokedAtMs !== null) return undefined;
      const account = active(key.memberId ?? key.accountId);
      return account && {
        name: `the key ${key.name || key.hint} of ${account.email}`,
        accountId: account.id,
        teamId: key.teamId,
      };
    }
    case "account": {
      const account = active(ownerId);
      return account && { name: account.email, accountId: account.id, teamId: null };
    }
    case "team": {
      const team = teamOf.get(ownerId);
      return team?.disabledAtMs === null
        ? { name: `the team ${team.name}`, accountId: null, teamId: team.id }
        : undefined;
    }
    case "member": {
      const [teamId, accountId] = partsOf(ownerId);
      const team = teamOf.get(teamId);
      const account = active(accountId);
      return team?.disabledAtMs === null && account !== undefined
        ? { name: `${account.email} in the team ${team.name}`, accountId, teamId }
        : undefined;
    }
  }
}

function partsOf(memberId: string): readonly [teamId: string, accountId: string] {
  const [teamId = "", accountId = ""] = memberId.split(":");
  return [teamId, accountId];
}
