import * as z from "zod";
import { type Account, AccountError, type Key, type Team } from "../../people/accounts/mod.ts";
import { conflict, invalid, missing } from "../../people/operation_log/mod.ts";
import { instantInput, wholeQuery } from "../../ground/amounts/mod.ts";
import type { OperationContext } from "./operation.ts";
import type { Subject } from "./rights.ts";

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
/** Who pays, in the input. */
export const payerInput = {
  account: accountInput.optional().describe("Account ID or email address. Either this or `team`."),
  team: teamInput.optional().describe("Team whose pool it is, by ID or name."),
};
/** Who pays: an account, or the pool of a team. */
export interface NamedPayer {
  readonly account?: string | undefined;
  readonly team?: string | undefined;
}
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
export function mustNameOne({ account, team }: NamedPayer): void {
  if ((account === undefined) !== (team === undefined)) return;
  throw invalid(account === undefined ? "account" : "team", "Pass either account or team.");
}

/** The account that pays: one that is named, or the pool of a team. */
export async function payerOf(c: Scope, { account, team }: NamedPayer): Promise<Account> {
  mustNameOne({ account, team });
  if (account !== undefined) return await accountOf(c, account);
  const { name, poolId } = await teamOf(c, team!);
  if (poolId === null) {
    throw conflict(`Team ${name} has no pool: its members pay for their keys.`);
  }
  return (await c.parts.accounts.byId(poolId))!;
}

/** What lookups need. */
type Scope = Pick<OperationContext, "parts">;

/** What a write of a key is about. */
export async function subjectOfKey(
  parts: KeyParts,
  key: Key,
): Promise<Subject & { readonly key: Key }> {
  return { ...(await subjectsOfKeys(parts, [key])).get(key.id), key };
}

/** What writes of keys are about, by the IDs of the keys. */
export async function subjectsOfKeys(
  { accounts, teams }: KeyParts,
  keys: readonly Key[],
): Promise<ReadonlyMap<string, Subject>> {
  const teamIds = new Set(keys.flatMap(({ teamId }) => teamId ?? []));
  const [payers, ...all] = await Promise.all([
    accounts.byIds([...new Set(keys.map(({ accountId }) => accountId))]),
    ...[...teamIds].map((id) => teams.byId(id)),
  ]);
  return new Map(keys.map((key) => [key.id, {
    key,
    account: payers.get(key.accountId),
    team: all.find((team) => team?.id === key.teamId),
  }]));
}

/** What a new key of a team is about. Where nobody would pay for it, it is not made. */
export async function subjectOfNewKey(
  { accounts }: Pick<KeyParts, "accounts">,
  team: Pick<Team, "id" | "poolId">,
  member: Account | null,
): Promise<Subject> {
  const payer = team.poolId === null ? member : await accounts.byId(team.poolId);
  const account = payer ?? { id: "", role: "none" };
  const key = { teamId: team.id, memberId: member?.id ?? null, accountId: account.id };
  return { key, account, team };
}

/** What lookups of keys need. */
type KeyParts = Pick<OperationContext["parts"], "accounts" | "teams">;

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
    throw invalid("models", `Unknown model ${JSON.stringify(name)}. Available models: ${known}.`);
  });
}

/** The models of a change: those that its object has already may be served again. */
export async function changedModels(
  c: Scope,
  models: readonly string[] | null | undefined,
  present: readonly string[] | null,
): Promise<readonly string[] | null | undefined> {
  const known = new Set(present ?? []);
  const served = await routeIds(c, models?.filter((one) => !known.has(one))) ?? [];
  return models?.filter((one) => known.has(one)).concat(served) ?? models;
}

/** A page of a list that was read whole. @throws {OperationError} `not_found` if the page before has ended with what is not there. */
export function pageAfter<Item>(
  all: readonly Item[],
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
  { noun, idOf }: { readonly noun: string; readonly idOf: (item: Item) => string },
) {
  const start = after === undefined ? 0 : all.findIndex((one) => idOf(one) === after) + 1;
  if (after !== undefined && start === 0) throw missing(noun, after);
  return pageBy(all.slice(start), limit, idOf);
}

/** A list that has no pages. */
export function wholeList<Item>(items: readonly Item[]) {
  return pageBy(items, items.length, () => "");
}

/** A page of a list whose cursors are IDs. */
export function pageOf<Item extends { readonly id: string }>(
  items: readonly Item[],
  limit: number,
) {
  return pageBy(items, limit, ({ id }) => id);
}

/** A page of a list. @param idOf The cursor of an item. */
export function pageBy<Item>(
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

/** @throws {OperationError} If credits are named beside a package that sets them. */
export function checkPackageCredits(
  { credits: fixed }: { readonly credits: number | null },
  credits: number | undefined,
): void {
  if (fixed !== null && credits !== undefined) {
    throw invalid("credits", `The package sets the credits (${fixed}): omit them.`);
  }
}
