import * as z from "zod";
import {
  type Account,
  AccountError,
  type Action,
  type Key,
  type Team,
} from "../../people/accounts/mod.ts";
import { type Actor, may, missing, OperationError } from "../../people/operation_log/mod.ts";
import { instantInput, wholeQuery } from "../../ground/amounts/mod.ts";
import type { OperationContext } from "./operation.ts";

/** An account in the input. */
export const accountInput = z.string().min(1).max(320).describe("Account ID or email address.");
/** A team in the input. */
export const teamInput = z.string().min(1).max(200).describe("Team ID or name.");
/** A key in the input. */
export const keyInput = z.string().min(1).max(100).describe("Key ID.");
/** A point in time in the input. */
export const timeInput = instantInput.describe("RFC 3339.");
/** Models in the input. */
export const modelsInput = z.array(z.string().min(1).max(200)).max(200).nullable().describe(
  "Model IDs; `null`: all.",
);
/** A name in the input; its limits are those of accounts, keys and teams, which say what is wrong. */
export const nameInput = z.string().meta({ maxLength: 200 });
/** Query parameters of lists. */
export const pageInput = {
  limit: wholeQuery({ min: 1, max: 500, unit: "items" }).default(100).describe(
    "Max number of items.",
  ),
  after: z.string().min(1).max(200).optional().describe("`next` of the page before."),
};
/** A flag in a query. */
export const flagInput = z.enum(["true", "false"]);

/** Finds an account by its ID or email address. @throws {OperationError} `not_found`. */
export async function accountOf({ parts: { accounts } }: Scope, named: string): Promise<Account> {
  const found = named.startsWith("acc_") && !named.includes("@")
    ? await accounts.byId(named)
    : await accounts.find(named);
  if (found === undefined) throw missing("Account", named);
  return found;
}

/** Finds a team by its ID or name. @throws {OperationError} `not_found`. */
export async function teamOf({ parts: { teams } }: Scope, named: string): Promise<Team> {
  try {
    return await teams.get(named);
  } catch (error) {
    throw error instanceof AccountError ? missing("Team", named) : error;
  }
}

/** Finds a key. @throws {OperationError} `not_found`. */
export async function keyOf({ parts: { keys } }: Scope, id: string): Promise<Key> {
  const found = await keys.byId(id);
  if (found === undefined) throw missing("Key", id);
  return found;
}

/** @throws {OperationError} `invalid_request` unless it is either an account or a team that is named. */
export function mustNameOne(
  { account, team }: { readonly account?: string | undefined; readonly team?: string | undefined },
): void {
  if ((account === undefined) !== (team === undefined)) return;
  throw new OperationError("invalid_request", "Pass either account or team.", {
    param: account === undefined ? "account" : "team",
  });
}

/** The account that pays: one that is named, or the pool of a team. */
export async function payerOf(
  c: Scope,
  { account, team }: { readonly account?: string | undefined; readonly team?: string | undefined },
): Promise<Account> {
  mustNameOne({ account, team });
  if (account !== undefined) return await accountOf(c, account);
  const { name, poolId } = await teamOf(c, team!);
  if (poolId === null) {
    throw new OperationError(
      "conflict",
      `Team ${name} has no pool: its members pay for their keys.`,
    );
  }
  return (await c.parts.accounts.byId(poolId))!;
}

/** What lookups need. */
type Scope = Pick<OperationContext, "parts">;

/** The action that is needed on an account instead of another: managing an owner's takes an owner. */
export function actionOn({ role }: Pick<Account, "role">, action: Action): Action {
  if (role !== "owner") return action;
  if (action === "account.manage" || action === "account.budgets") return "account.manage_owner";
  return action === "account.role" ? "account.role_owner" : action;
}

/** The action, and whom it is about, that changing a key of an account is. */
export function actionOnAccountKey(
  actor: Actor,
  payer: Account,
): { readonly action: Action; readonly sees: Action; readonly accountId: string } {
  const accountId = payer.id;
  const isOwn = actor.account?.id === accountId;
  return isOwn
    ? { action: "self.use", sees: "self.use", accountId }
    : { action: actionOn(payer, "account.manage"), sees: "account.keys", accountId };
}

/** The action that changing a key of a team is; revoking it takes less. */
export function actionOnTeamKey(
  { account }: Actor,
  team: Pick<Team, "id" | "poolId">,
  { memberId, accountId }: Pick<Key, "memberId" | "accountId">,
  isRevoked = false,
): { readonly action: Action; readonly sees: Action; readonly teamId: string } {
  const action = account !== null && memberId === account.id
    ? "team.own_keys"
    : isRevoked || accountId === team.poolId
    ? "team.keys"
    : "team.members_paid_keys";
  return { action, sees: "team.keys", teamId: team.id };
}

/** What an owner pays for is changed by owners only. */
export async function checkPayer({ parts, actor }: OperationContext, payerId: string) {
  if (payerId === actor.account?.id || may(actor, "account.manage_owner")) return;
  if ((await parts.accounts.byId(payerId))?.role !== "owner") return;
  throw new OperationError(
    "permission_denied",
    "Only an owner can change keys that an owner pays for.",
  );
}

/** Route IDs that are served, aliases resolved. @throws {OperationError} `invalid_request` for an unknown one. */
export async function routeIds(
  { parts }: Scope,
  names: readonly string[] | null | undefined,
): Promise<string[] | null | undefined> {
  if (names === null || names === undefined) return names;
  const catalog = await parts.catalog();
  return names.map((name) => {
    const route = catalog.find(name);
    if (route !== undefined) return route.id;
    const known = catalog.routes.map(({ id }) => id).join(", ");
    throw new OperationError(
      "invalid_request",
      `Unknown model ${JSON.stringify(name)}. Available models: ${known}.`,
      { param: "models" },
    );
  });
}

/** A page of a list. @param idOf The cursor of an item. */
export function pageOf<Item>(
  items: readonly Item[],
  limit: number,
  idOf: (item: Item) => string,
) {
  const data = items.slice(0, limit);
  const has_more = items.length > limit;
  return { object: "list", data, has_more, next: has_more ? idOf(data.at(-1)!) : null };
}

/** The end of the years that JSON's times have. */
const LATEST_MS = Date.UTC(9999, 11, 31);

/** A point in time for the input of an operation. */
export function isoOf(ms: number): string {
  return new Date(Math.min(ms, LATEST_MS)).toISOString();
}

/** A point in time of the input, in milliseconds. */
export function msOf(text: string): number;
export function msOf(text: string | undefined): number | undefined;
export function msOf(text: string | null | undefined): number | null | undefined;
export function msOf(text: string | null | undefined): number | null | undefined {
  return text === null || text === undefined ? text : Date.parse(text);
}
