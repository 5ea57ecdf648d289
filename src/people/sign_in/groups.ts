import type { GroupRights } from "../../settings/config/mod.ts";
import type { TeamRole } from "../accounts/mod.ts";

/** What a token says. */
export type Claims = Readonly<Record<string, unknown>>;

/** Groups by name or ID; `too many` if the provider has left them out for their number. */
export type Groups = readonly string[] | "too many";

/** What somebody's groups give. */
export interface Rights {
  readonly role: NonNullable<GroupRights["role"]> | undefined;
  /** Roles in teams, by the name or ID that the settings have. */
  readonly teams: ReadonlyMap<string, TeamRole>;
  /** Credits of budgets, by their period. */
  readonly budgets: ReadonlyMap<string, number>;
}

/**
 * Reads the groups of a token.
 *
 * @param name Of the claim, or a path: names may have dots themselves (`https://example.com/groups`), so that a claim of the whole name
 *   comes first.
 * @returns `undefined` if the claim is not there.
 */
export function groupsOf(claims: Claims, name: string): Groups | undefined {
  const value = claims[name] ??
    name.split(".").reduce<unknown>(
      (within, part) => (within as Claims | undefined)?.[part],
      claims,
    );
  if (isLeftOut(claims, name)) return "too many";
  if (value === undefined || value === null) return undefined;
  const groups = Array.isArray(value) ? value : [value];
  return groups.filter((group) => typeof group === "string");
}

/**
 * Whether Entra has left out the groups: of more than 200 it names an address to ask (https://learn.microsoft.com/entra/identity-platform/
 * id-token-claims-reference#groups-overage-claim).
 */
function isLeftOut(claims: Claims, name: string): boolean {
  const names = claims._claim_names;
  return name === "groups" && String(claims.hasgroups) === "true" ||
    typeof names === "object" && names !== null && name in names;
}

/**
 * What groups give together: of roles the one that may more, of budgets the larger.
 *
 * @param settings Of one provider or more.
 */
export function rightsOf(
  groups: readonly string[],
  ...settings: readonly Readonly<Record<string, GroupRights>>[]
): Rights {
  const given = settings.flatMap((one) => Object.entries(one))
    .flatMap(([group, rights]) => groups.includes(group) ? [rights] : []);
  const roles = given.map(({ role }) => role);
  const teams = new Map<string, TeamRole>();
  const budgets = new Map<string, number>();
  for (const rights of given) {
    for (const [team, role] of Object.entries(rights.teams)) {
      if (teams.get(team) !== "lead") teams.set(team, role);
    }
    const { budget } = rights;
    if (budget !== undefined) {
      budgets.set(budget.period, Math.max(budget.credits, budgets.get(budget.period) ?? 0));
    }
  }
  return {
    role: (["operator", "finance"] as const).find((role) => roles.includes(role)),
    teams,
    budgets,
  };
}
