import type { Account } from "./account.ts";
import type { Holder, TeamRole } from "./roles.ts";

/** Who may do an action. */
interface Permission {
  /** What the action does, for `docs/permissions.md`. */
  readonly does: string;
  readonly allowed: readonly Holder[];
}

const OPERATORS = ["owner", "operator"] as const;
const REPORTS = ["owner", "operator", "finance"] as const;

/**
 * The table of permissions: who may do which action (P12). Every page and form is guarded by an action of it, and
 * `docs/permissions.md` is generated from it.
 */
export const PERMISSIONS = {
  "self.use": {
    does: "Use their own keys, credits, requests, usage and password, and the playground",
    allowed: ["self"],
  },
  "account.read": {
    does: "See all accounts with their credits and entries",
    allowed: REPORTS,
  },
  "account.keys": { does: "See the keys of all accounts", allowed: OPERATORS },
  "account.create": { does: "Create accounts", allowed: OPERATORS },
  "account.manage": {
    does: "Disable and enable accounts, make sign-in links, create and revoke keys for them",
    allowed: OPERATORS,
  },
  "account.manage_owner": {
    does: "The same for accounts of owners, and their budgets",
    allowed: ["owner"],
  },
  "account.budgets": {
    does: "Set, raise and remove budgets of accounts, except of owners",
    allowed: OPERATORS,
  },
  "account.role": {
    does: "Give and take the roles operator and finance",
    allowed: OPERATORS,
  },
  "account.role_owner": { does: "Give and take the role owner", allowed: ["owner"] },
  "credits.move": {
    does: "Grant credits, record packages, take credits back, write off what gateways were lent",
    allowed: OPERATORS,
  },
  "payments.read": { does: "See all orders, debts and redemption codes", allowed: REPORTS },
  "payments.manage": {
    does: "Refund and reconcile orders, make and revoke redemption codes",
    allowed: OPERATORS,
  },
  "usage.read": { does: "See the usage and requests of all accounts", allowed: REPORTS },
  "live.read": { does: "See in-flight requests", allowed: OPERATORS },
  "alerts.read": {
    does: "See all alerts and their deliveries, and mark them as read",
    allowed: REPORTS,
  },
  "upstreams.read": { does: "See upstreams and their state", allowed: OPERATORS },
  "routes.read": { does: "See routes with targets", allowed: OPERATORS },
  "routes.write": {
    does: "Change routes and prices in the settings file, and reload it",
    allowed: ["owner"],
  },
  "upstreams.write": {
    does: "Add upstreams to the settings file, and reload it",
    allowed: ["owner"],
  },
  "settings.read": { does: "See settings", allowed: ["owner"] },
  "invites.read": { does: "See who invited whom", allowed: REPORTS },
  "audit.run": { does: "Run the audit, see what gateways are lent", allowed: REPORTS },
  "log.read": { does: "See the log of operations", allowed: OPERATORS },
  "backup.download": { does: "Download a backup", allowed: ["owner"] },
  "key.admin": { does: "Create own keys with the scope `admin`", allowed: OPERATORS },
  "key.read": { does: "Create own keys with the scope `read`", allowed: REPORTS },
  "key.scim": {
    does: "Create own keys with the scope `scim`, by which a directory manages people and groups",
    allowed: ["owner"],
  },
  "team.list": { does: "See all teams", allowed: REPORTS },
  "team.create": { does: "Create teams", allowed: OPERATORS },
  "team.update": { does: "Rename, limit, disable and enable a team", allowed: OPERATORS },
  "team.read": {
    does: "See a team with its own keys and usage in it",
    allowed: [...REPORTS, "lead", "member"],
  },
  "team.usage": {
    does: "See a team's members and what each of them spent",
    allowed: [...REPORTS, "lead"],
  },
  "team.members": {
    does: "Add, stop and remove members, and change their roles in the team",
    allowed: [...OPERATORS, "lead"],
  },
  "team.budgets": {
    does:
      "Set, raise and remove budgets of a team, of its members, and of keys that its pool pays for",
    allowed: [...OPERATORS, "lead"],
  },
  "team.orders": {
    does: "See the orders, receipts and payments of a team's pool",
    allowed: [...REPORTS, "lead"],
  },
  "team.buy": {
    does: "Buy packages for a team's pool",
    allowed: [...OPERATORS, "lead"],
  },
  "team.keys": {
    does: "See and revoke all keys of a team; create and change those that its pool pays for",
    allowed: [...OPERATORS, "lead"],
  },
  "team.upstream_keys": {
    does: "Set and remove a team's own keys of upstreams, and choose when they are used",
    allowed: [...OPERATORS, "lead"],
  },
  "team.own_keys": {
    does: "Create, change and revoke their own keys of a team",
    allowed: [...OPERATORS, "lead", "member"],
  },
  "team.members_paid_keys": {
    does: "Create and change keys that other members pay for",
    allowed: OPERATORS,
  },
} as const satisfies Readonly<Record<string, Permission>>;

/** An action of the table of permissions. */
export type Action = keyof typeof PERMISSIONS;

/** Names of all actions. */
export const ACTIONS = Object.keys(PERMISSIONS) as readonly Action[];

/** An account that wants to do something, with its roles in teams where it has not been stopped. */
export interface Actor {
  readonly account: Account;
  /** Roles by team ID. */
  readonly teams: ReadonlyMap<string, TeamRole>;
}

/** What an action is about. */
export interface ActionObject {
  /** ID of the team concerned. */
  readonly teamId?: string | undefined;
  /** ID of the account concerned. */
  readonly accountId?: string | undefined;
}

/**
 * Returns whether an account may do an action.
 *
 * @param actor The account and its roles in teams.
 * @param about The team and account concerned. Roles in other teams do not count.
 */
export function can(
  { account, teams }: Actor,
  action: Action,
  { teamId, accountId }: ActionObject = {},
): boolean {
  const allowed: readonly Holder[] = PERMISSIONS[action].allowed;
  const teamRole = teamId === undefined ? undefined : teams.get(teamId);
  return allowed.includes(account.role as Holder) ||
    (teamRole !== undefined && allowed.includes(teamRole)) ||
    (accountId === account.id && allowed.includes("self"));
}
