import {
  AccountError,
  type Accounts,
  type OwnedKey,
  type OwnedKeyFilter,
  ownersOfKeys,
  type Teams,
} from "../../people/accounts/mod.ts";
import type { Database } from "../../ground/database/mod.ts";
import { ReportError } from "./range.ts";
import type { UsageQuery } from "./usage_query.ts";

/** What reports are made of. */
export interface UsageParts {
  readonly database: Database;
  readonly accounts: Pick<Accounts, "get" | "byIds" | "list">;
  readonly teams: Pick<Teams, "get" | "list">;
  readonly now: () => number;
}

/** What a reader may see: the keys that an account pays for, or those of a team; all without either. */
export interface UsageScope {
  readonly accountId?: string | undefined;
  readonly teamId?: string | undefined;
}

/** Which keys and accounts a report is of. */
export interface Selected {
  readonly accountIds: readonly string[] | undefined;
  readonly keyIds: readonly string[] | undefined;
  /** Teams or members of keys, if the report is grouped by them. */
  readonly owners: Readonly<Partial<Record<"team" | "member", ReadonlyMap<string, string>>>>;
}

/**
 * Finds the keys and accounts that a report is of.
 *
 * @throws {ReportError} If a noun does not exist.
 */
export async function select(
  { database, accounts, teams }: UsageParts,
  { by, account, key, team, member }: UsageQuery,
  scope: UsageScope,
): Promise<Selected> {
  const found = async <T>(search: Promise<T>): Promise<T> => {
    try {
      return await search;
    } catch (error) {
      if (error instanceof AccountError) {
        throw new ReportError(`${error.message}.`, { isMissing: true });
      }
      throw error;
    }
  };
  const [paying, ofTeam, ofMember] = await Promise.all([
    account === undefined ? undefined : found(accounts.get(account)),
    team === undefined ? undefined : found(teams.get(team)),
    member === undefined ? undefined : found(accounts.get(member)),
  ]);
  const filters: OwnedKeyFilter[] = [
    ...key === undefined ? [] : [{ keyIds: [key] }],
    ...ofTeam === undefined ? [] : [{ teamId: ofTeam.id }],
    ...ofMember === undefined ? [] : [{ memberId: ofMember.id }],
    ...scope.teamId === undefined ? [] : [{ teamId: scope.teamId }],
  ];
  const lists = await Promise.all(filters.map((filter) => ownersOfKeys(database, filter)));
  const accountIds = [paying?.id, scope.accountId].filter((id) => id !== undefined);
  const [first, ...others] = lists;
  const keys = first?.filter(({ id, accountId }) =>
    others.every((list) => list.some((one) => one.id === id)) &&
    accountIds.every((one) => one === accountId)
  );
  const isGrouped = by.includes("team") || by.includes("member");
  const owned = isGrouped ? keys ?? await ownersOfKeys(database, { inTeam: true }) : [];
  return {
    keyIds: keys?.map(({ id }) => id),
    accountIds: keys !== undefined
      ? [...new Set(keys.map(({ accountId }) => accountId))]
      : new Set(accountIds).size > 1
      ? [] // an account that the reader may not see
      : accountIds.length === 0
      ? undefined
      : accountIds.slice(0, 1),
    owners: {
      ...by.includes("team") ? { team: ownersBy(owned, ({ teamId }) => teamId) } : {},
      ...by.includes("member") ? { member: ownersBy(owned, ({ memberId }) => memberId) } : {},
    },
  };
}

function ownersBy(
  keys: readonly OwnedKey[],
  ownerOf: (key: OwnedKey) => string | null,
): ReadonlyMap<string, string> {
  return new Map(keys.map((key) => [key.id, ownerOf(key) ?? ""]));
}
