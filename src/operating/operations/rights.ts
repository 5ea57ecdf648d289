import type { Account, Action, ActionObject, Key, Role, Team } from "../../people/accounts/mod.ts";
import { may, OperationError, type Person } from "../../people/operation_log/mod.ts";

/** What a write is about, as far as it decides who may do it. */
export interface Subject {
  /** The account concerned; of a key, the one that pays for it. */
  readonly account?: Pick<Account, "id" | "role"> | undefined;
  readonly team?: Pick<Team, "id" | "poolId"> | undefined;
  /** A key, which may be still to be made. */
  readonly key?: Pick<Key, "teamId" | "memberId" | "accountId"> | undefined;
  /** A role that is to be given. */
  readonly role?: Role | undefined;
}

/** The right that a write requires. */
export interface Right extends ActionObject {
  readonly action: Action;
  /** The action by which the subject is seen at all: for others it does not exist. Default: all see it. */
  readonly sees?: Action | undefined;
  /** The message for those who see the subject and may not do the action. */
  readonly why?: string | undefined;
}

/** Returns the right that a write requires where it depends on the subject; what is left out is as the definition has it. */
export type RightOf = (person: Person, subject: Subject) => Partial<Right>;

/** A write, as far as it says who may do it. */
interface Ruled {
  readonly action: Action;
  readonly right?: RightOf | undefined;
}

/**
 * Returns whether somebody may do a write of a subject now. Pages show a form if so, forms and the API are accepted if so.
 *
 * @param person An account with its roles in teams, such as a session.
 */
export function mayOperate(person: Person, operation: Ruled, subject: Subject = {}): boolean {
  return denialOf(person, rightOf(person, operation, subject)) === undefined;
}

/** Returns the right that a write of a subject requires of a person. */
export function rightOf(person: Person, { action, right }: Ruled, subject: Subject): Right {
  const { account, team } = subject;
  return {
    action,
    ...(team === undefined ? {} : { teamId: team.id }),
    ...(account === undefined ? {} : { accountId: account.id }),
    ...right?.(person, subject),
  };
}

/** Returns the error for a person who lacks a right; `undefined` for others. What they may not even see does not exist. */
export function denialOf(person: Person, right: Right): OperationError | undefined {
  const { action, sees, why } = right;
  if (may(person, action, right)) return undefined;
  if (sees !== undefined && !may(person, sees, right)) {
    return new OperationError("not_found", "Not found.");
  }
  return denied(action, why);
}

/** The error for those who may not do an action. */
export function denied(
  action: Action,
  why = `The role of this account does not allow the action '${action}'.`,
): OperationError {
  return new OperationError("permission_denied", why);
}

/** Changing an account: that of an owner takes an owner. */
export const toManage: RightOf = (_person, { account }) => ({
  action: isOwner(account) ? "account.manage_owner" : "account.manage",
  sees: "account.read",
});

/** Giving an account a role: only owners give and take that of owners. */
export const toGiveRole: RightOf = (_person, { account, role }) => ({
  action: isOwner(account) || role === "owner" ? "account.role_owner" : "account.role",
  sees: "account.read",
  why: role === "owner" ? "Only an owner can make other owners." : undefined,
});

/** Making or changing a key: who pays for it and who uses it decide. */
export const toChangeKey: RightOf = (person, subject) => {
  const { account: payer, key } = subject;
  const self = person.account?.id;
  if (key === undefined || key.teamId === null) return onAccountOf(person, payer);
  const action = key.memberId === self
    ? "team.own_keys"
    : key.accountId === of(subject.team).poolId
    ? "team.keys"
    : "team.members_paid_keys";
  const accountId = key.memberId ?? key.accountId;
  if (!isOwner(payer) || payer?.id === self) {
    const why = action === "team.members_paid_keys"
      ? "Only an operator can change keys that another member pays for."
      : undefined;
    return { action, sees: "team.keys", why, accountId };
  }
  // what an owner pays for is changed by owners only
  const why = "Only an owner can change keys that an owner pays for.";
  return { action: "account.manage_owner", sees: action, why, accountId };
};

/** Making a key. Those who may make only their own get a message that says so. */
export const toMakeKey: RightOf = (person, subject) => {
  const right = toChangeKey(person, subject);
  if (subject.key === undefined) return right;
  return {
    ...right,
    sees: "team.own_keys",
    why: right.why ?? "You may create keys only for yourself.",
  };
};

/** Revoking a key takes less than changing it: its user and its payer may, also after having been stopped in the team. */
export const toRevokeKey: RightOf = (person, subject) => {
  const { memberId, accountId, teamId } = of(subject.key);
  const { account: self } = person;
  if (self !== null && [memberId, accountId].includes(self.id)) {
    return { action: "self.use", sees: "self.use", accountId: self.id, teamId: undefined };
  }
  if (teamId === null) return onAccountOf(person, subject.account);
  return { action: "team.keys", sees: "team.keys", accountId: memberId ?? accountId };
};

/** Changing the budget of a key; without one, of a team or its member; without a team, of an account. */
export const toChangeBudget: RightOf = (person, subject) => {
  const { account, team, key } = subject;
  if (key !== undefined) {
    const right = toChangeKey(person, subject);
    if (key.teamId === null) return right;
    const about = { ...right, accountId: key.memberId ?? undefined };
    // a member does not lift the budget of a key that a pool pays for
    return key.accountId === team?.poolId ? { ...about, action: "team.budgets" } : about;
  }
  if (team !== undefined) return { action: "team.budgets", sees: "team.read" };
  // an account that could change its own budget would have none
  const action = isOwner(account) ? "account.manage_owner" : "account.budgets";
  return { action, sees: "account.read" };
};

/** Moving an account's credits. */
export const onAccount: RightOf = () => ({ sees: "account.read" });

/** Changing a team and what is in it. */
export const inTeam: RightOf = () => ({ sees: "team.read" });

/** Setting the own keys of an account or a team. */
export const toSetOwnKey: RightOf = (person, { account, team }) =>
  team === undefined
    ? onAccountOf(person, account)
    : { action: "team.upstream_keys", sees: "team.read" };

/** Buying: everybody for themselves, leads for their pools, operators for everybody. */
export const toBuy: RightOf = (person, { account, team }) => {
  if (team !== undefined) return { action: "team.buy", sees: "team.orders" };
  return of(account).id === person.account?.id ? { action: "self.use" } : { sees: "account.read" };
};

/** Changing what is an account's: it may itself. */
function onAccountOf(person: Person, account: Subject["account"]): Partial<Right> {
  return of(account).id === person.account?.id ? { action: "self.use", sees: "self.use" } : {
    action: isOwner(account) ? "account.manage_owner" : "account.manage",
    sees: "account.keys",
  };
}

function isOwner(account: Subject["account"]): boolean {
  return of(account).role === "owner";
}

/** Who may do something is not decided on half of what it is about. */
function of<Part>(part: Part | undefined): Part {
  if (part !== undefined) return part;
  throw new TypeError("The subject of the write lacks what its right depends on.");
}
