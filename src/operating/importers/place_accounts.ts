import {
  type Account,
  AccountError,
  type Accounts,
  type Key,
  type Keys,
} from "../../people/accounts/mod.ts";
import type { Sales } from "../../money/billing/mod.ts";
import type { Database } from "../../ground/database/mod.ts";
import {
  budgetStatements,
  grantStatements,
  idOfReference,
  keptGrants,
} from "../../money/ledger/mod.ts";
import { digestOf, displayed, nameFrom } from "../../ground/platform/mod.ts";
import type { ImportPlan, Notices, PlannedAccount, PlannedKey } from "./plan.ts";

/** What accounts and keys are kept with. */
export interface AccountParts {
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly sales: Sales;
  readonly database: Database;
}

/** What becomes of an account. */
export interface PlacedAccount {
  readonly email: string;
  readonly name: string;
  readonly state: "new" | "existing";
  /** Credits that it is granted; 0 if it got them before. */
  readonly credits: number;
  readonly keys: number;
}

/** What becomes of a key. */
export interface PlacedKey {
  readonly account: string;
  readonly name: string;
  /** First and last characters. */
  readonly hint: string | null;
  /** Whether it goes on working, is replaced by a new one, or is there already. */
  readonly state: "adopted" | "replaced" | "unchanged";
  readonly id: string | null;
  /** Route IDs that it may use; `null`: all. */
  readonly models: readonly string[] | null;
  readonly budget: number | null;
  /** How often its budget renews; `null`: never. */
  readonly budget_period: "day" | "week" | "month" | null;
  readonly expires_at: string | null;
  /** A new key; it is shown once. */
  readonly key?: string;
}

/** Accounts and keys, as far as they were placed. */
export interface PlacedAccounts {
  readonly accounts: readonly PlacedAccount[];
  readonly keys: readonly PlacedKey[];
  /** What ended the import, if anything did. Repeating it goes on from there. */
  readonly fault: unknown;
}

/** How accounts and keys are placed. */
export interface AccountOptions {
  /** Parts of the gateway; `undefined` if it has no database yet. */
  readonly parts: AccountParts | undefined;
  readonly owner: () => Promise<Account>;
  /** Whether anything is written. */
  readonly write: boolean;
  /** Whether accounts that exist already get the keys and credits of their email addresses. */
  readonly join: boolean;
  /** Domain of the addresses of accounts that have none. */
  readonly domain: string;
  /** Route IDs for a name of a model in the source; the name itself if nothing is known by it. */
  readonly routesFor: (model: string) => readonly string[];
  readonly notices: Notices;
}

/** Most names that are tried for an account without an address. */
const MAX_NAMES = 1_000;

/**
 * Creates the accounts of a plan with their credits and keys. Each has a reference, so that repeating it changes
 * nothing.
 *
 * An account that exists already and does not come from an earlier import gets nothing without `join`: an email address
 * in another gateway's database proves nothing, and its keys would spend the account's credits.
 */
export async function placeAccounts(
  plan: ImportPlan,
  options: AccountOptions,
): Promise<PlacedAccounts> {
  const accounts: PlacedAccount[] = [];
  const keys: PlacedKey[] = [];
  const taken = new Set<string>();
  const keysOf = Map.groupBy(plan.keys, ({ account }) => account);
  try {
    for (const planned of plan.accounts) {
      const own = keysOf.get(planned.ref) ?? [];
      const found = await findAccount(planned, own, taken, options);
      taken.add(found.email);
      if (found.account !== undefined && found.account.disabledAtMs !== null) {
        options.notices.notImported(`account ${found.email}`, "it is disabled here");
        continue;
      }
      const { account, credits } = await withCredits(planned, found, options);
      accounts.push({
        email: found.email,
        name: nameFrom(planned.name),
        state: found.account === undefined && !planned.isOwner ? "new" : "existing",
        credits,
        keys: own.length,
      });
      for (const key of own) keys.push(await placeKey(key, found.email, account, options));
    }
    return { accounts, keys, fault: undefined };
  } catch (fault) {
    return { accounts, keys, fault };
  }
}

interface Found {
  readonly email: string;
  readonly account: Account | undefined;
}

/** Finds the account of a plan, or the address that it gets. */
async function findAccount(
  planned: PlannedAccount,
  keys: readonly PlannedKey[],
  taken: ReadonlySet<string>,
  { parts, owner, write, join, domain, notices }: AccountOptions,
): Promise<Found> {
  if (planned.isOwner) {
    const account = write ? await owner() : await parts?.accounts.owner();
    return { email: account?.email ?? "owner@localhost", account };
  }
  const addresses = function* () {
    if (planned.email !== undefined) yield planned.email;
    yield `${planned.handle}@${domain}`;
    for (let number = 2; number < MAX_NAMES; number++) {
      yield `${planned.handle}-${number}@${domain}`;
    }
  };
  for (const email of addresses()) {
    if (taken.has(email)) continue;
    const account = await parts?.accounts.find(email);
    if (account === undefined) return { email, account };
    const isOwn = (keys.length === 0 && planned.credits === 0) ||
      await isImported(account, planned, keys, parts!);
    if (isOwn || (join && email === planned.email)) return { email, account };
    if (email === planned.email) {
      notices.check(
        `account ${email}`,
        "it exists already, so another one is made: to add keys and credits to it, pass --join",
      );
    }
  }
  throw new AccountError(`Too many accounts are named ${planned.handle}@${domain}`);
}

/** Whether an earlier import made the account: it has a key or the credits of the plan. */
async function isImported(
  account: Account,
  planned: PlannedAccount,
  keys: readonly PlannedKey[],
  parts: AccountParts,
): Promise<boolean> {
  if (await isGranted(account, planned, parts)) return true;
  for (const key of keys) {
    if ((await existing(key, parts))?.accountId === account.id) return true;
  }
  return false;
}

async function isGranted(
  account: Account,
  { reference }: PlannedAccount,
  { database }: AccountParts,
): Promise<boolean> {
  const lotId = idOfReference("lot", account.id, reference);
  return (await keptGrants(database, [lotId])).has(lotId);
}

/** Creates the account if it is missing, and grants its credits unless it has had them. */
async function withCredits(
  planned: PlannedAccount,
  { email, account }: Found,
  { parts, write }: AccountOptions,
): Promise<{ readonly account: Account | undefined; readonly credits: number }> {
  const { credits, reference } = planned;
  const note = "imported";
  if (account !== undefined) {
    const isDue = credits > 0 && !await isGranted(account, planned, parts!);
    if (isDue && write) await parts!.sales.grant(account, { credits, note, reference });
    return { account, credits: isDue ? credits : 0 };
  }
  if (!write) return { account, credits };
  const name = nameFrom(planned.name);
  const made = await parts!.accounts.create({ email, name }, (one) =>
    // with the account, so that an import that was cut off finds its account again
    grantStatements({
      lotId: idOfReference("lot", one.id, reference),
      accountId: one.id,
      source: "grant",
      credits,
      expiresAtMs: null,
      note,
      atMs: one.createdAtMs,
    }));
  return { account: made, credits };
}

async function placeKey(
  key: PlannedKey,
  email: string,
  account: Account | undefined,
  { parts, write, routesFor, notices }: AccountOptions,
): Promise<PlacedKey> {
  const models = key.models === undefined
    ? undefined
    : [...new Set(key.models.flatMap((model) => routesFor(model)))];
  const name = nameFrom(key.name);
  const { budgetCredits, budgetPeriod, expiresAtMs, digest } = key;
  const row = {
    account: email,
    name,
    hint: digest === undefined ? null : displayed(digest.hint),
    models: models ?? null,
    budget: budgetCredits ?? null,
    budget_period: budgetPeriod ?? null,
    expires_at: expiresAtMs === undefined ? null : new Date(expiresAtMs).toISOString(),
  };
  const there = parts === undefined ? undefined : await existing(key, parts);
  if (there !== undefined) {
    if (account !== undefined && there.accountId !== account.id) {
      notices.check(`key ${name || row.hint}`, "it belongs to another account, and stays there");
    }
    return { ...row, state: "unchanged", id: there.id };
  }
  const state = digest === undefined ? "replaced" : "adopted";
  if (!write || account === undefined) return { ...row, state, id: null };
  const options = { id: idOf(key), name, expiresAtMs, models };
  const withBudget = ({ id, createdAtMs }: Key) =>
    budgetCredits === undefined ? [] : budgetStatements({
      owner: "key",
      ownerId: id,
      period: budgetPeriod ?? "life",
      credits: budgetCredits,
    }, { nowMs: createdAtMs });
  if (digest === undefined) {
    const made = await parts!.keys.issue(account, options, withBudget);
    return { ...row, hint: made.hint, state, id: made.id, key: made.secret };
  }
  const hint = displayed(digest.hint).slice(0, 16);
  const made = await parts!.keys.import(account, { hex: digest.hex, hint }, options, withBudget);
  return { ...row, state, id: made.id };
}

async function existing(key: PlannedKey, { keys }: AccountParts): Promise<Key | undefined> {
  return (key.digest && await keys.byDigest(key.digest.hex)) ?? await keys.byId(idOf(key));
}

/** The ID of a key follows from its reference: it is issued once. */
function idOf({ reference }: PlannedKey): string {
  return `key_${digestOf(reference).slice(0, 16)}`;
}
