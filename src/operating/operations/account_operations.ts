import * as z from "zod";
import { type Account, ROLES } from "../../people/accounts/mod.ts";
import { balancesOf, creditsOf } from "../../money/ledger/mod.ts";
import {
  accountInput,
  accountOf,
  flagInput,
  nameInput,
  pageAfter,
  pageInput,
  pageOf,
} from "./lookup.ts";
import { defineRead, defineWrite, type Found, type OperationContext } from "./operation.ts";
import { toGiveRole, toManage } from "./rights.ts";
import { accountShape, describeAccount } from "./shapes/account.ts";
import { credits } from "./shapes/common.ts";

const listed = accountShape.extend({
  credits: credits.describe("Balance."),
  consumed: credits,
  requests: z.int(),
});

const shown = accountShape.extend({
  credits: credits.describe("Balance."),
  keys: z.int(),
  active_keys: z.int(),
});

async function changed(c: OperationContext, named: string): Promise<Found<Account>> {
  const target = await accountOf(c, named);
  return { target, account: target, objectId: target.id };
}

async function state({ parts }: OperationContext, { id }: Pick<Account, "id">) {
  const account = await parts.accounts.byId(id);
  return account === undefined ? null : describeAccount(account);
}

/** Writes about an account, by those who manage them. */
const MANAGED = {
  action: "account.manage",
  right: toManage,
  find: (c: OperationContext, { account }: { readonly account: string }) => changed(c, account),
  state,
} as const;

export const ACCOUNT_LIST = defineRead({
  input: z.strictObject({
    search: z.string().max(200).optional().describe("Part of an email address or name."),
    role: z.enum(ROLES).optional(),
    kind: z.enum(["person", "service", "pool"]).optional().describe(
      "Without it, pools of teams are left out.",
    ),
    disabled: flagInput.optional(),
    ...pageInput,
  }),
  output: listed,
}, {
  name: "account.list",
  path: "/accounts",
  summary: "List accounts, oldest first",
  action: "account.read",
  isList: true,
  async read({ parts: { accounts, database } }, { limit, disabled, ...filter }) {
    const found = await accounts.page({
      ...filter,
      disabled: disabled === undefined ? undefined : disabled === "true",
      limit: limit + 1,
    });
    const balances = await balancesOf(database, found.map(({ id }) => id));
    return pageOf(
      found.map((account) => {
        const { balance, consumed, requests } = balances.get(account.id) ??
          { balance: 0, consumed: 0, requests: 0 };
        return { ...describeAccount(account), credits: balance, consumed, requests };
      }),
      limit,
    );
  },
});

export const ACCOUNT_GET = defineRead({
  input: z.strictObject({ account: accountInput }),
  output: shown,
}, {
  name: "account.get",
  path: "/accounts/{account}",
  summary: "Get an account",
  action: "account.read",
  async read(c, { account }) {
    const { keys, database } = c.parts;
    const found = await accountOf(c, account);
    const own = await keys.list(found);
    const { balance } = await creditsOf(database, found.id, c.nowMs);
    return {
      ...describeAccount(found),
      credits: balance,
      keys: own.length,
      active_keys: own.filter(({ revokedAtMs }) => revokedAtMs === null).length,
    };
  },
});

export const ACCOUNT_CREATE = defineWrite({
  input: z.strictObject({
    email: z.string().meta({ maxLength: 254 }),
    name: nameInput.default(""),
    kind: z.enum(["person", "service"]).default("person"),
    invite_code: z.string().optional().describe("Of the account that invited this one."),
  }),
  output: accountShape,
}, {
  name: "account.create",
  path: "/accounts",
  summary: "Create an account with its signup credits",
  status: 201,
  action: "account.create",
  find({ ids }) {
    const id = ids.id("acc");
    return Promise.resolve({ target: { id }, accountId: id, objectId: id });
  },
  state,
  async run({ registration }, _c, { target, input: { email, name, kind, invite_code } }) {
    await registration.register({ id: target.id, email, name, kind, inviteCode: invite_code });
  },
});

export const ACCOUNT_UPDATE = defineWrite({
  input: z.strictObject({ account: accountInput, name: nameInput }),
  output: accountShape,
}, {
  name: "account.update",
  method: "PATCH",
  path: "/accounts/{account}",
  summary: "Change an account's display name",
  ...MANAGED,
  async run({ accounts }, _c, { target, input: { name } }) {
    await accounts.rename(target.email, name);
  },
});

const switched = (verb: "disable" | "enable", summary: string) =>
  defineWrite({
    input: z.strictObject({ account: accountInput }),
    output: accountShape,
  }, {
    name: `account.${verb}`,
    path: `/accounts/{account}/${verb}`,
    summary,
    ...MANAGED,
    async run({ accounts }, _c, { target }) {
      await accounts[verb](target.email);
    },
  });

export const ACCOUNT_DISABLE = switched(
  "disable",
  "Reject an account's keys within a second, and end its sessions and sign-in links",
);
export const ACCOUNT_ENABLE = switched("enable", "Accept the keys of a disabled account again");

export const ACCOUNT_ROLE = defineWrite({
  input: z.strictObject({ account: accountInput, role: z.enum(ROLES) }),
  output: accountShape,
}, {
  name: "account.role",
  path: "/accounts/{account}/role",
  summary: "Give an account a role",
  description: "Only owners give and take the role `owner`.",
  action: "account.role",
  right: toGiveRole,
  find: async (c, { account, role }) => ({ ...await changed(c, account), role }),
  state,
  async run({ accounts }, _c, { target, input: { role } }) {
    await accounts.setRole(target.email, role);
  },
});

export const ACCOUNT_LINK = defineWrite({
  input: z.strictObject({ account: accountInput }),
  output: accountShape,
  secrets: z.object({ link: z.string().describe("Signs in once, within a day.") }),
}, {
  name: "account.link",
  path: "/accounts/{account}/sign-in-link",
  summary: "Create a one-time link that signs in to the console",
  status: 201,
  ...MANAGED,
  async run({ sessions }, { ids }, { target }) {
    await sessions.makeLink(target, ids.text("sign-in link", 32));
  },
  async secrets({ ids, parts }) {
    return { link: `${await parts.address()}/console/link/${ids.text("sign-in link", 32)}` };
  },
});

export const INVITE_LIST = defineRead({
  input: z.strictObject({
    account: accountInput.optional().describe("The inviter."),
    ...pageInput,
  }),
  output: z.strictObject({
    inviter: z.string(),
    email: z.string(),
    joined_at: z.iso.datetime(),
    credits_earned: credits,
  }),
}, {
  name: "invite.list",
  path: "/invites",
  summary: "List who invited whom",
  action: "invites.read",
  isList: true,
  async read(c, { account, limit, after }) {
    const { registration } = c.parts;
    const inviters = account === undefined
      ? await registration.inviters()
      : await registration.invitations(await accountOf(c, account))
        .then(async (joined) => [{ email: (await accountOf(c, account)).email, joined }]);
    const rows = inviters.flatMap(({ email: inviter, joined }) =>
      joined.map((one) => ({
        inviter,
        email: one.email,
        joined_at: new Date(one.joinedAtMs).toISOString(),
        credits_earned: one.earned,
      }))
    );
    return pageAfter(rows, { limit, after }, { noun: "Invitee", idOf: ({ email }) => email });
  },
});
