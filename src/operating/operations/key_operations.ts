import * as z from "zod";
import { wholeInput, type WholeRule } from "../../ground/amounts/mod.ts";
import { type Account, type Key, SCOPES, type Team } from "../../people/accounts/mod.ts";
import { budgetsOf, budgetsOfKeys } from "../../money/ledger/mod.ts";
import { SpentByKey } from "../../money/usage/mod.ts";
import { budgetInput, budgetsOfNew } from "./budget_operations.ts";
import {
  accountInput,
  accountOf,
  changedModels,
  flagInput,
  keyInput,
  keyOf,
  modelsInput,
  msOf,
  mustNameOne,
  nameInput,
  pageInput,
  pageOf,
  routeIds,
  subjectOfKey,
  subjectOfNewKey,
  teamInput,
  teamOf,
  timeInput,
} from "./lookup.ts";
import {
  defineRead,
  defineWrite,
  type Found,
  type Json,
  type OperationContext,
} from "./operation.ts";
import { toChangeKey, toMakeKey, toRevokeKey } from "./rights.ts";
import { conflict, invalid } from "../../people/operation_log/mod.ts";
import { iso } from "./shapes/common.ts";
import { describeKey, keyShape, listedKeyShape } from "./shapes/key.ts";
import { DAY_MS } from "../../ground/time.ts";

const secret = z.object({ key: z.string().describe("The key itself. It is shown once.") });

async function state({ parts, nowMs }: OperationContext, { id }: Pick<Key, "id">) {
  const key = await parts.keys.byId(id);
  if (key === undefined) return null;
  return describeKey(key, await budgetsOf(parts.database, { owner: "key", ownerId: id }, nowMs));
}

async function changed(c: OperationContext, id: string): Promise<Found<Key>> {
  const target = await keyOf(c, id);
  return { target, objectId: target.id, ...await subjectOfKey(c.parts, target) };
}

export const KEY_LIST = defineRead({
  input: z.strictObject({
    account: accountInput.optional().describe("Account that pays for the keys or uses them."),
    team: teamInput.optional(),
    member: accountInput.optional().describe("Member that uses the keys."),
    all: flagInput.optional().describe("`true`: revoked and expired keys as well."),
    ...pageInput,
  }),
  output: listedKeyShape,
}, {
  name: "key.list",
  path: "/keys",
  summary: "List keys, oldest first",
  action: "account.keys",
  isList: true,
  async read(c, { account, team, member, all, limit, after }) {
    const found = await c.parts.keys.page({
      accountId: account === undefined ? undefined : (await accountOf(c, account)).id,
      teamId: team === undefined ? undefined : (await teamOf(c, team)).id,
      memberId: member === undefined ? undefined : (await accountOf(c, member)).id,
      activeAtMs: all === "true" ? undefined : c.nowMs,
      after,
      limit: limit + 1,
    });
    return pageOf(await describeKeys({ ...c.parts, nowMs: c.nowMs }, found), limit);
  },
});

/** Describes keys with their last use and what they spent. */
export async function describeKeys(
  { keys, database, spent = new SpentByKey(database), nowMs }:
    & Pick<OperationContext["parts"], "keys" | "database" | "spent">
    & { readonly nowMs: number },
  found: readonly Key[],
): Promise<z.output<typeof listedKeyShape>[]> {
  const ids = found.map(({ id }) => id);
  const [lastUse, budgets, all] = await Promise.all([
    keys.lastUseOf(ids),
    budgetsOfKeys(database, ids, nowMs),
    spent.of(found.map(({ accountId }) => accountId)),
  ]);
  return found.map((one) => ({
    ...describeKey(one, budgets.get(one.id)),
    last_used_at: iso(lastUse.get(one.id) ?? null),
    spent: all.get(one.id) ?? 0,
  }));
}

/** A key that there was before, with its last use and what it spent; the log is without them. */
async function listed(c: OperationContext, { target }: { readonly target: Key }): Promise<Json> {
  const [described] = await describeKeys({ ...c.parts, nowMs: c.nowMs }, [
    await keyOf(c, target.id),
  ]);
  return described!;
}

export const KEY_GET = defineRead({
  input: z.strictObject({ key: keyInput }),
  output: listedKeyShape,
}, {
  name: "key.get",
  path: "/keys/{key}",
  summary: "Get a key, without its secret",
  action: "account.keys",
  async read(c, { key }) {
    const [described] = await describeKeys({ ...c.parts, nowMs: c.nowMs }, [await keyOf(c, key)]);
    return described!;
  },
});

/** Writes about a key that there is. */
const OF_KEY = {
  action: "account.manage",
  find: (c: OperationContext, { key }: { readonly key: string }) => changed(c, key),
  state,
  reply: listed,
} as const;

/** For whom a key is made. */
interface NewKey {
  readonly id: string;
  readonly owner:
    | { readonly account: Account }
    | { readonly team: Team; readonly member: Account | null };
}

/** Max requests of a key in flight at once. */
export const AT_ONCE: WholeRule = { min: 1, max: 1_000_000, unit: "requests" };

const atOnceInput = wholeInput(AT_ONCE).describe(
  "Max requests in flight, on all gateways together; `null`: any number.",
);

export const KEY_CREATE = defineWrite({
  input: z.strictObject({
    account: accountInput.optional().describe("Account that pays. Either this or `team`."),
    team: teamInput.optional(),
    member: accountInput.nullish().describe(
      "Member of the team that uses the key. Without it, the key is for the whole team.",
    ),
    name: nameInput.default(""),
    models: modelsInput.default(null),
    expires_at: timeInput.nullable().default(null),
    at_once: atOnceInput.nullable().default(null),
    scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).optional().describe(
      "Default: `inference`, the only one of a team's keys.",
    ),
    budgets: z.array(budgetInput).max(4).default([]),
    id: z.string().optional().describe(
      "`key_` and 16 letters and digits. Default: a new one.",
    ),
  }),
  output: keyShape,
  secrets: secret,
}, {
  name: "key.create",
  path: "/keys",
  summary: "Create a key of an account or a team",
  status: 201,
  action: "account.manage",
  right: toMakeKey,
  async find(c, input): Promise<Found<NewKey>> {
    const { account, team: named, member: user, scopes } = input;
    mustNameOne({ account, team: named });
    const id = input.id ?? c.ids.id("key");
    if (named === undefined) {
      if (user !== undefined && user !== null) {
        throw invalid("member", "member goes with team.");
      }
      const payer = await accountOf(c, account!);
      return { target: { id, owner: { account: payer } }, objectId: id, account: payer };
    }
    if (scopes?.some((scope) => scope !== "inference")) {
      throw invalid("scopes", "Keys of a team have the scope inference.");
    }
    const team = await teamOf(c, named);
    const member = user === undefined || user === null ? null : await accountOf(c, user);
    const target = { id, owner: { team, member } };
    return { target, objectId: id, ...await subjectOfNewKey(c.parts, team, member) };
  },
  state,
  async run({ keys, teamKeys }, c, { target: { id, owner }, input }) {
    const { name, models, expires_at, at_once, scopes, budgets } = input;
    const options = {
      id,
      secret: c.ids.keySecret(),
      name,
      models: await routeIds(c, models) ?? undefined,
      expiresAtMs: msOf(expires_at) ?? undefined,
      atOnce: at_once ?? undefined,
    };
    const also = (key: Key) => budgetsOfNew(key.id, budgets, c.nowMs);
    if ("team" in owner) await teamKeys.issue(owner.team, owner.member, options, also);
    else if (owner.account.disabledAtMs !== null) {
      throw conflict(`Account ${owner.account.email} is disabled.`);
    } else await keys.issue(owner.account, { ...options, scopes }, also);
  },
  secrets: ({ ids }) => Promise.resolve({ key: ids.keySecret() }),
});

export const KEY_UPDATE = defineWrite({
  input: z.strictObject({
    key: keyInput,
    name: nameInput.optional(),
    models: modelsInput.optional(),
    expires_at: timeInput.nullable().optional().describe("`null`: never."),
    at_once: atOnceInput.nullable().optional(),
  }),
  output: listedKeyShape,
}, {
  name: "key.update",
  method: "PATCH",
  path: "/keys/{key}",
  summary: "Change a key's name, models, expiry or requests at once",
  ...OF_KEY,
  right: toChangeKey,
  async run({ keys }, c, { target, input: { name, models, expires_at, at_once } }) {
    await keys.change(target.id, {
      name,
      models: await changedModels(c, models, target.models),
      expiresAtMs: msOf(expires_at),
      atOnce: at_once,
    });
  },
});

/** How long the secret before stays valid: up to 90 days. */
export const KEEP_SECONDS = { min: 0, max: 90 * DAY_MS / 1_000, unit: "seconds" };

/** The same in hours, as forms have it. */
export const KEEP_HOURS = { min: 0, max: 90 * 24, unit: "hours" };

export const KEY_ROTATE = defineWrite({
  input: z.strictObject({
    key: keyInput,
    keep_seconds: wholeInput(KEEP_SECONDS).default(0).describe(
      "How long the present secret stays valid.",
    ),
    end_earlier: z.boolean().default(false).describe(
      "Whether a secret before the present one, which an earlier rotation has kept, ends now. Otherwise keeping the present one " +
        "is a conflict while that is valid.",
    ),
  }),
  output: listedKeyShape,
  secrets: secret,
}, {
  name: "key.rotate",
  path: "/keys/{key}/rotate",
  summary: "Give a key another secret",
  ...OF_KEY,
  right: toChangeKey,
  async run({ keys }, { ids }, { target, input: { keep_seconds, end_earlier } }) {
    await keys.rotate(target.id, keep_seconds * 1_000, ids.keySecret(), end_earlier);
  },
  secrets: ({ ids }) => Promise.resolve({ key: ids.keySecret() }),
});

export const KEY_REVOKE = defineWrite({
  input: z.strictObject({ key: keyInput }),
  output: listedKeyShape,
}, {
  name: "key.revoke",
  path: "/keys/{key}/revoke",
  summary: "Revoke a key permanently, within a second",
  ...OF_KEY,
  right: toRevokeKey,
  async run({ keys }, _c, { target }) {
    await keys.revoke(target.id);
  },
});
