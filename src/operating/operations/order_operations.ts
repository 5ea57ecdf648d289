import * as z from "zod";
import { wholeInput } from "../../ground/amounts/mod.ts";
import { MINOR_UNITS } from "../../settings/config/mod.ts";
import { type Account, AccountError } from "../../people/accounts/mod.ts";
import { OperationError } from "../../people/operation_log/mod.ts";
import {
  checkRefund,
  creditsOfOrder,
  eventsOfOrder,
  isServiceDown,
  listOrders,
  type Order,
  ORDER_STATES,
  orderById,
  type OrderRequest,
  reconciledShape,
} from "../../money/payments/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import {
  flagInput,
  msOf,
  type NamedPayer,
  pageInput,
  pageOf,
  payerInput,
  payerOf,
  teamOf,
  timeInput,
} from "./lookup.ts";
import {
  defineRead,
  defineWrite,
  type Found,
  type OperationContext,
  outcomeOnly,
} from "./operation.ts";
import {
  describeHistory,
  describeOrder,
  orderShape,
  ownerOf,
  wholeOrderShape,
} from "./shapes/order.ts";
import { toBuy } from "./rights.ts";
import { UndoneError } from "./undone_error.ts";

const RECONCILE_MS = 26 * 3_600_000;
/** Time for which the service keeps events. */
const EVENTS_MS = 30 * 86_400_000;

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
    ...payerInput,
    state: z.enum(ORDER_STATES).optional(),
    look: flagInput.optional().describe("`true`: only those whose payment differs from the order."),
    ...pageInput,
  }),
  output: orderShape,
}, {
  name: "order.list",
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
    return pageOf(await Promise.all(orders.map((one) => described(c, one))), limit);
  },
});

export const ORDER_GET = defineRead({
  input: z.strictObject({ order: orderInput }),
  output: wholeOrderShape,
}, {
  name: "order.get",
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

/** Whom is bought for. */
async function purchase(
  c: OperationContext,
  input: NamedPayer & { readonly reference?: string | undefined },
): Promise<Found<Purchase>> {
  const { actor, origin } = c;
  const account = await payerOf(c, input);
  const request = {
    id: c.ids.id("ord"),
    origin: ORIGINS[origin.door],
    reference: input.reference ?? `ref_${c.ids.text("reference", 16)}`,
    buyer: actor.account ?? undefined,
  };
  return {
    target: { account, request },
    account,
    team: input.team === undefined ? undefined : await teamOf(c, input.team),
    objectId: (await c.parts.payments.orderOf(account, request))?.id ?? request.id,
  };
}

export const ORDER_CREATE = defineWrite({
  input: z.strictObject({
    ...payerInput,
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
  path: "/orders",
  summary: "Order a package, to be paid at Stripe",
  description: "The credits are granted when Stripe says that it was paid.",
  status: 201,
  action: "credits.move",
  right: toBuy,
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
      throw isServiceDown(error) ? unavailable(c, error as AccountError) : error;
    }
  },
});

/** Of what may succeed later, the API's reply is not kept: the same request can be sent again. */
function unavailable({ origin }: OperationContext, error: AccountError): Error {
  if (origin.door !== "api") return error;
  return new Refusal("upstream_unavailable", `${error.message}.`, { cause: error });
}

/** What a write about an order is about. */
async function aboutOrder(c: OperationContext, { order: id }: { readonly order: string }) {
  const order = await orderOf(c, id);
  return { target: order, accountId: order.accountId, objectId: order.id };
}

/** An order as it is now. */
async function stateOf(c: OperationContext, { id }: Pick<Order, "id">) {
  return await described(c, await orderOf(c, id));
}

/** Writes about an order that there is, by those who manage payments. */
const OF_ORDER = { action: "payments.manage", find: aboutOrder, state: stateOf } as const;

/** What came of an attempt to refund. */
interface Refunded {
  /** Why it was refused for good. */
  readonly refused?: string;
  /** Why it may succeed later. */
  readonly down?: string;
}

async function refund(
  { parts, ids }: OperationContext,
  order: Order,
  { amount, reference }: {
    readonly amount?: number | undefined;
    readonly reference?: string | undefined;
  },
): Promise<Refunded> {
  try {
    await parts.payments.refund(order, {
      amount,
      reference: reference ?? `ref_${ids.text("reference", 16)}`,
    });
    return {};
  } catch (error) {
    if (!(error instanceof AccountError)) throw error;
    return isServiceDown(error) ? { down: error.message } : { refused: error.message };
  }
}

export const ORDER_REFUND = defineWrite({
  input: z.strictObject({
    order: orderInput,
    amount: wholeInput({ ...MINOR_UNITS, min: 1 }).optional().describe(
      "In the currency's minor units, e.g. cents. Default: all that is left.",
    ),
    reference: z.string().min(1).max(200).optional().describe(
      "The same reference refunds once.",
    ),
  }),
  output: orderShape.extend({ reference: z.string() }),
}, {
  name: "order.refund",
  path: "/orders/{order}/refund",
  summary: "Refund an order, or a part of it, and take its credits back",
  description: "A payment by hand is only recorded as refunded: pay the money back yourself.",
  ...OF_ORDER,
  async run({ database }, c, { target, input, logIf }) {
    checkRefund(target, {
      amount: input.amount,
      reference: input.reference ?? c.ids.text("reference", 16),
    });
    // Logged before money moves: who asked for it is known, whatever crashes.
    await database.batch([logIf({ sql: "true", args: [] })]);
    const { refused, down } = await refund(c, target, input);
    if (refused !== undefined) throw new UndoneError(`${refused}.`);
    return down === undefined ? {} : { down };
  },
  async reply(c, { target, input, result }) {
    // after a crash it is finished: the reference refunds once, at Stripe as well
    const { refused, down }: Refunded = result ?? await refund(c, target, input);
    if (refused !== undefined) throw new AccountError(refused, { fault: "conflict" });
    if (down !== undefined) throw unavailable(c, new AccountError(down));
    const reference = input.reference ?? `ref_${c.ids.text("reference", 16)}`;
    return { ...await stateOf(c, target), reference };
  },
});

export const ORDER_DISMISS = defineWrite({
  input: z.strictObject({ order: orderInput }),
  output: orderShape,
}, {
  name: "order.dismiss",
  path: "/orders/{order}/dismiss",
  summary: "Note that you have looked at an order whose payment differs from it",
  ...OF_ORDER,
  run: async ({ payments }, _c, { target }) => await payments.looked(target),
});

export const ORDER_RECONCILE = defineWrite({
  input: z.strictObject({ order: orderInput }),
  output: orderShape,
}, {
  name: "order.reconcile",
  path: "/orders/{order}/reconcile",
  summary: "Ask Stripe about an order that was not paid, also if it expired or failed",
  ...OF_ORDER,
  // what is paid is what Stripe says, not what the actor wants
  run: async (_nouns, { parts }, { target }) => void await parts.payments.ask(target),
});

export const PAYMENTS_RECONCILE = defineWrite({
  input: z.strictObject({
    since: timeInput.optional().describe(
      "How far back Stripe's events are read, up to 30 days. RFC 3339. Default: 26 hours.",
    ),
    limit: z.int().min(1).max(1_000).default(100).describe("Max number of open orders."),
  }),
  output: reconciledShape,
}, {
  name: "payments.reconcile",
  path: "/orders/reconcile",
  summary: "Ask Stripe about all open orders, and apply what no webhook has brought",
  description: "Nothing takes effect twice.",
  action: "payments.manage",
  find: () => Promise.resolve({ target: null }),
  async run(_nouns, { parts: { payments }, nowMs }, { input: { since, limit } }) {
    const sinceMs = msOf(since) ?? nowMs - RECONCILE_MS;
    return await payments.reconcile({
      younger: true,
      eventsSinceMs: Math.max(sinceMs, nowMs - EVENTS_MS),
      limit,
    });
  },
  reply: outcomeOnly,
});
