import * as z from "zod";
import { type Account, AccountError } from "../accounts/mod.ts";
import { OperationError } from "../operation_log/mod.ts";
import {
  creditsOfOrder,
  eventsOfOrder,
  isServiceDown,
  listOrders,
  type Order,
  ORDER_STATES,
  orderById,
  type OrderRequest,
} from "../payments/mod.ts";
import { Refusal } from "../refusal.ts";
import {
  accountInput,
  flagInput,
  pageInput,
  pageOf,
  payerOf,
  teamInput,
  teamOf,
} from "./lookup.ts";
import {
  defineRead,
  defineWrite,
  type Found,
  type Operation,
  type OperationContext,
} from "./operation.ts";
import {
  describeHistory,
  describeOrder,
  orderShape,
  ownerOf,
  wholeOrderShape,
} from "./shapes/order.ts";

const payer = {
  account: accountInput.optional().describe("Account ID or email address. Either this or `team`."),
  team: teamInput.optional().describe("Team for whose pool it is, by ID or name."),
};

/** An order in the input. */
const orderInput = z.string().min(1).max(200).describe("Order ID.");

/** Finds an order. @throws {OperationError} `not_found`. */
async function orderOf({ parts: { database } }: Pick<OperationContext, "parts">, id: string) {
  const order = await orderById(database, id);
  if (order !== undefined) return order;
  throw new OperationError(
    "not_found",
    `Unknown order ${JSON.stringify(id.slice(0, 60))}. List orders with: sluice payments list.`,
    { param: "order" },
  );
}

async function described({ parts }: OperationContext, order: Order) {
  return describeOrder(order, await ownerOf(parts, order.accountId));
}

export const ORDER_LIST = defineRead({
  input: z.strictObject({
    ...payer,
    state: z.enum(ORDER_STATES).optional(),
    look: flagInput.optional().describe("`true`: only those whose payment differs from the order."),
    ...pageInput,
  }),
  output: orderShape,
}, {
  name: "order.list",
  method: "GET",
  path: "/orders",
  summary: "List orders, newest first",
  action: "payments.read",
  isList: true,
  async read(c, { account, team, state, look, limit, after }) {
    const isOfOne = account !== undefined || team !== undefined;
    const orders = await listOrders(c.parts.database, {
      accountId: isOfOne ? (await payerOf(c, { account, team })).id : undefined,
      state,
      needsLook: look === "true",
      after: after === undefined ? undefined : await orderOf(c, after),
      limit: limit + 1,
    });
    return pageOf(
      await Promise.all(orders.map((one) => described(c, one))),
      limit,
      ({ id }) => id,
    );
  },
});

export const ORDER_GET = defineRead({
  input: z.strictObject({ order: orderInput }),
  output: wholeOrderShape,
}, {
  name: "order.get",
  method: "GET",
  path: "/orders/{order}",
  summary: "Get an order, what happened to it, and the credits that it moved",
  action: "payments.read",
  async read(c, { order: id }) {
    const order = await orderOf(c, id);
    const { database, accounts } = c.parts;
    const moved = await creditsOfOrder(database, order.id);
    const ids = [...new Set(moved.map(({ accountId }) => accountId))];
    const emails = new Map(
      await Promise.all(ids.map(async (one) => [one, (await accounts.byId(one))?.email] as const)),
    );
    return {
      ...await described(c, order),
      ...describeHistory(
        await eventsOfOrder(database, order.id),
        moved,
        (one) => emails.get(one) ?? one,
      ),
    };
  },
});

/** A purchase that is to be made. */
interface Purchase {
  readonly account: Account;
  readonly request: OrderRequest;
}

const ORIGINS = { console: "console", command: "command", api: "operator" } as const;

/** Whom is bought for, and who may: everybody for themselves, leads for their pools, operators for everybody. */
async function purchase(
  c: OperationContext,
  input: { readonly account?: string | undefined; readonly team?: string | undefined } & {
    readonly reference?: string | undefined;
  },
): Promise<Found<Purchase>> {
  const { actor, origin } = c;
  const account = await payerOf(c, input);
  const request = {
    id: c.ids.id("ord"),
    origin: ORIGINS[origin.door],
    reference: input.reference ?? `ref_${c.ids.text("reference", 16)}`,
    buyer: actor.account ?? undefined,
  };
  const about = {
    target: { account, request },
    accountId: account.id,
    objectId: (await c.parts.payments.orderOf(account, request))?.id ?? request.id,
  };
  if (input.team !== undefined) {
    const { id: teamId } = await teamOf(c, input.team);
    return { ...about, teamId, action: "team.buy", sees: "team.orders" };
  }
  const isOwn = actor.account?.id === account.id;
  return isOwn ? { ...about, action: "self.use" } : { ...about, sees: "account.read" };
}

export const ORDER_CREATE = defineWrite({
  input: z.strictObject({
    ...payer,
    package: z.string().min(1).max(200).describe("ID of a package that is sold online."),
    saves_method: z.boolean().default(false).describe(
      "Whether the payment method is kept for the account's automatic top-up.",
    ),
    reference: z.string().meta({ minLength: 1, maxLength: 150 }).optional().describe(
      "The same reference makes one order.",
    ),
  }),
  output: orderShape.extend({
    url: z.string().describe("Where it is paid, within an hour."),
  }),
}, {
  name: "order.create",
  method: "POST",
  path: "/orders",
  summary: "Order a package, to be paid at Stripe",
  description: "The credits are granted when Stripe says that it was paid.",
  status: 201,
  action: "credits.move",
  find: purchase,
  async state(c, { account, request }) {
    const order = await c.parts.payments.orderOf(account, request);
    return order === undefined ? null : await described(c, order);
  },
  async run({ payments }, { parts: { teams } }, { target: { account, request }, input }) {
    const team = account.kind === "pool" ? await teams.ofPool(account.id) : undefined;
    if ((team ?? account).disabledAtMs !== null) {
      throw new AccountError(
        team === undefined
          ? `Account ${account.email} is disabled`
          : `Team ${team.name} is disabled: nothing can be bought for it`,
        { fault: "conflict" },
      );
    }
    await payments.order(account, input.package, request);
  },
  // asks for the checkout, which is one however often it is asked for: after a crash too
  async reply(c, { target: { account, request }, input }) {
    const order = (await c.parts.payments.orderOf(account, request))!;
    try {
      const { url, order: opened } = await c.parts.payments.open(order, {
        returnTo: await c.parts.address(),
        email: account.kind === "pool" ? request.buyer?.email : account.email,
        savesMethod: input.saves_method,
      });
      return { ...await described(c, opened), url };
    } catch (error) {
      if (c.origin.door !== "api" || !isServiceDown(error)) throw error;
      throw new Refusal("upstream_unavailable", `${(error as Error).message}.`, { cause: error });
    }
  },
});

export const ORDER_OPERATIONS: readonly Operation[] = [ORDER_LIST, ORDER_CREATE, ORDER_GET];
