import * as z from "zod";
import type { Accounts, Teams } from "../../../people/accounts/mod.ts";
import {
  type Order,
  ORDER_STATES,
  type OrderCredits,
  type OrderEvent,
} from "../../../money/payments/mod.ts";
import { credits, describer, iso, timestamp } from "./common.ts";

const minorUnits = z.int().nullable().describe("In the currency's minor units, e.g. cents.");

/** An order as commands and the API show it. */
export const orderShape = z.strictObject({
  id: z.string(),
  account: z.string().describe("Email address of the account that gets the credits."),
  team: z.string().nullable().describe("Name of the team whose pool that is."),
  state: z.enum(ORDER_STATES),
  package: z.string(),
  credits,
  amount: minorUnits,
  paid_amount: minorUnits,
  gone_amount: z.int().describe("The part that was refunded or disputed."),
  currency: z.string(),
  live: z.boolean().describe("Whether the money is real."),
  provider: z.string(),
  origin: z.string(),
  payment: z.string().nullable(),
  session: z.string().nullable(),
  lot: z.string().nullable(),
  receipt: z.int().nullable(),
  created_at: timestamp,
  paid_at: timestamp.nullable(),
  needs_look: z.string().nullable().describe("Why its payment differs from it."),
});

/** An order, what happened to it, and the credits that it moved. */
export const wholeOrderShape = orderShape.extend({
  events: z.array(z.strictObject({
    kind: z.string(),
    cause: z.string(),
    event: z.string().nullable(),
    amount: minorUnits,
    detail: z.string().nullable(),
    at: timestamp,
  })),
  moved: z.array(z.strictObject({
    kind: z.string(),
    role: z.enum(["purchase", "bonus"]),
    credits,
    account: z.string(),
    lot: z.string().nullable(),
    at: timestamp,
  })),
});

/** Whose credits an order is about. */
export interface OrderOwner {
  /** Email address. */
  readonly account: string;
  /** Name of the team whose pool it is. */
  readonly team: string | null;
}

/** Finds whose credits something is about. */
export async function ownerOf(
  { accounts, teams }: { readonly accounts: Accounts; readonly teams: Teams },
  accountId: string,
): Promise<OrderOwner> {
  const account = await accounts.byId(accountId);
  const team = account?.kind === "pool" ? await teams.ofPool(accountId) : undefined;
  return { account: account?.email ?? accountId, team: team?.name ?? null };
}

/** Describes an order. The address where it is paid is not in it. */
export const describeOrder = describer(orderShape, (order: Order, owner: OrderOwner) => ({
  ...owner,
  package: order.packageId,
  live: order.livemode,
  payment: order.paymentId,
  session: order.sessionId,
  lot: order.paidAtMs === null ? null : order.lotId,
  needs_look: order.needsLook || null,
}));

/** Describes what happened to an order, and the credits that it moved. @param emailOf By account ID. */
export function describeHistory(
  events: readonly OrderEvent[],
  moved: readonly OrderCredits[],
  emailOf: (accountId: string) => string,
): Pick<z.output<typeof wholeOrderShape>, "events" | "moved"> {
  return {
    events: events.map(({ kind, causeId, eventId, amount, detail, atMs }) => ({
      kind,
      cause: causeId,
      event: eventId,
      amount,
      detail: detail || null,
      at: iso(atMs),
    })),
    moved: moved.map(({ accountId, kind, role, lotId, atMs, credits }) => ({
      kind,
      role,
      credits,
      account: emailOf(accountId),
      lot: lotId,
      at: iso(atMs),
    })),
  };
}
