import * as z from "zod";
import { wholeInput } from "../../ground/amounts/mod.ts";
import { CREDITS } from "../../settings/config/mod.ts";
import type { TopUp } from "../../money/payments/mod.ts";
import type { Account } from "../../people/accounts/mod.ts";
import { OperationError } from "../../people/operation_log/mod.ts";
import { defineWrite, type Found, type OperationContext } from "./operation.ts";
import { codeShape, describeCode } from "./shapes/code.ts";
import { describer } from "./shapes/common.ts";

const shape = z.strictObject({
  on: z.boolean(),
  below_credits: z.int(),
  package: z.string(),
  max_per_month: z.int(),
  has_method: z.boolean(),
  stopped: z.string().nullable(),
});

function own(c: OperationContext): Promise<Found<Account>> {
  const target = ownAccount(c);
  return Promise.resolve({ target, accountId: target.id, objectId: target.id });
}

const describe = describer(shape, ({ isOn, packageId, stopped }: TopUp) => ({
  on: isOn,
  package: packageId,
  stopped: stopped || null,
}));

/** How the account buys automatically, without what its payment method is. */
async function state({ parts }: OperationContext, account: Account) {
  const topUp = await parts.payments.topUp(account);
  return topUp === undefined ? null : describe(topUp);
}

/** Purchases of an automatic top-up in a month. */
export const PURCHASES = { min: 1, max: 100, unit: "purchases" };

/** Of the console only: nobody lets another's card be charged. */
export const TOP_UP_ON = defineWrite({
  input: z.strictObject({
    below_credits: wholeInput(CREDITS),
    package: z.string().max(200),
    max_per_month: wholeInput(PURCHASES),
  }),
  output: shape,
}, {
  name: "top_up.on",
  method: "PUT",
  path: "/top-up",
  summary: "Turn automatic purchases on, or on again after they stopped",
  action: "self.use",
  find: own,
  state,
  async run({ payments }, _c, { target, input }) {
    await payments.turnOnTopUp(target, {
      belowCredits: input.below_credits,
      packageId: input.package,
      maxPerMonth: input.max_per_month,
    });
  },
});

export const TOP_UP_OFF = defineWrite({ input: z.strictObject({}), output: shape }, {
  name: "top_up.off",
  method: "DELETE",
  path: "/top-up",
  summary: "Turn automatic purchases off, and forget the payment method",
  action: "self.use",
  find: own,
  state,
  run: async ({ payments }, _c, { target }) => await payments.turnOffTopUp(target),
});

/** A code that somebody has typed. */
interface TypedCode {
  readonly account: Account;
  /** `undefined` if there is no such code. */
  readonly id: string | undefined;
}

/** Whose own write it is: there is none by a user of the shell. @throws {OperationError} Without an account. */
export function ownAccount({ actor: { account } }: OperationContext): Account {
  if (account !== null) return account;
  throw new OperationError("permission_denied", "Only an account can do this for itself.");
}

/** Of the console only: it is for oneself. */
export const CODE_REDEEM = defineWrite({
  input: z.strictObject({ code: z.string().max(200) }),
  output: codeShape,
}, {
  name: "code.redeem",
  path: "/codes/redeem",
  summary: "Redeem a code",
  action: "self.use",
  async find(c, { code }): Promise<Found<TypedCode>> {
    const account = ownAccount(c);
    const { codes } = c.parts;
    // before anything is looked for; what is over the limit is not logged each time
    await codes.countTry(account, c.origin.address ?? "");
    const id = (await codes.find(code))?.id;
    return { target: { account, id }, accountId: account.id, objectId: id };
  },
  async state({ parts: { codes }, actor }, { id }) {
    const code = id === undefined ? undefined : await codes.byId(id);
    if (code === undefined) return null;
    const { redeemedBy } = code;
    // of a code that is another's, the log of this account says no more than that
    return redeemedBy === null || redeemedBy === actor.account?.id
      ? { ...describeCode(code) }
      : { id: code.id, redeemed_at: new Date(code.redeemedAtMs!).toISOString() };
  },
  async run({ codes }, { origin }, { target: { account }, input }) {
    await codes.redeemCounted(account, input.code, origin.address ?? "");
  },
});
