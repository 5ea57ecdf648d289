import * as z from "zod";
import { wholeInput } from "../../ground/amounts/mod.ts";
import { CREDITS } from "../../settings/config/mod.ts";
import type { Account } from "../../people/accounts/mod.ts";
import { ownAccount } from "./code_operations.ts";
import { defineWrite, type Found, type OperationContext } from "./operation.ts";

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

/** How the account buys automatically, without what its payment method is. */
async function state({ parts }: OperationContext, account: Account) {
  const topUp = await parts.payments.topUp(account);
  return topUp === undefined ? null : {
    on: topUp.isOn,
    below_credits: topUp.belowCredits,
    package: topUp.packageId,
    max_per_month: topUp.maxPerMonth,
    has_method: topUp.hasMethod,
    stopped: topUp.stopped || null,
  };
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

/** Of the console only. */
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
