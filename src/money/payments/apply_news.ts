import type { Database, Statement } from "../../ground/database/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { insertOf } from "../../ground/row.ts";
import { intentFaults, paidFaults, sessionFaults } from "./check_session.ts";
import { type Order, orderById, orderOfPayment, orderOfSession } from "./orders.ts";
import {
  accountsOfOrder,
  type PaymentChange,
  settleChange,
  settlePayment,
} from "./settle_payment.ts";
import type {
  CheckoutSession,
  DisputeObject,
  PaymentIntent,
  RefundObject,
} from "./stripe_objects.ts";

/** What became of news. */
export type Outcome = "applied" | "repeated" | "no_effect" | "unknown" | "review";

/** What news need to take effect. */
export interface NewsParts {
  readonly database: Database;
  readonly log: Log;
  readonly now: () => number;
  /** Whether the configured key is for real payments. */
  readonly livemode: boolean;
  /** For the inviter of an account that pays for the first time. */
  readonly bonusCredits: number;
}

/** The event that brought news, and the statement that records it in the same transaction. */
export interface Bearer {
  readonly eventId: string;
  /** When it happened at the provider. */
  readonly createdAtMs: number;
  readonly record: (outcome: Outcome, orderId: string | undefined) => Statement;
}

/** News that took effect, or did not. */
export interface Applied {
  readonly outcome: Outcome;
  readonly order?: Order | undefined;
  /** A payment of an order that there is not, as after a backup was restored: nobody gets credits for it. */
  readonly orphan?: string;
}

/**
 * Applies what a Checkout session says to its order. The one way for the webhook, the landing page, the sweep and the
 * commands.
 *
 * @param bearer The event that brought it; without, it was asked for.
 */
export async function applySession(
  parts: NewsParts,
  session: CheckoutSession,
  { bearer, hasFailed = false }: { readonly bearer?: Bearer; readonly hasFailed?: boolean } = {},
): Promise<Applied> {
  const { database } = parts;
  const order = await orderById(database, session.client_reference_id ?? "") ??
    await orderOfSession(database, session.id) ??
    await orderById(database, session.metadata.order_id ?? "");
  const isPaid = session.payment_status === "paid" ||
    session.payment_status === "no_payment_required";
  if (order === undefined) {
    // the account may sell other things as well; but this one says that it is ours
    if (isPaid && session.metadata.order_id !== undefined) {
      return await orphaned(parts, session.payment_intent ?? session.id, bearer);
    }
    return await noted(parts, bearer, { outcome: "unknown" });
  }
  if (isPaid && session.status === "complete") {
    const faults = paidFaults(order, session);
    if (faults.length > 0) return await toReview(parts, { order, faults, id: session.id, bearer });
    return await paid(parts, order, {
      paymentId: session.payment_intent ?? session.id,
      sessionId: session.id,
      amount: session.amount_total ?? order.amount,
      bearer,
    });
  }
  const closed = hasFailed ? "failed" : session.status === "expired" ? "expired" : undefined;
  const faults = sessionFaults(order, session);
  if (faults.length > 0) return await toReview(parts, { order, faults, id: session.id, bearer });
  if (closed === undefined) return await noted(parts, bearer, { outcome: "no_effect", order });
  return await closeOrder(parts, order, { state: closed, causeId: session.id, bearer });
}

/** Applies what a payment intent says to the automatic purchase that it was made for. */
export async function applyIntent(
  parts: NewsParts,
  intent: PaymentIntent,
  { bearer, hasFailed = false }: { readonly bearer?: Bearer; readonly hasFailed?: boolean } = {},
): Promise<Applied> {
  const orderId = intent.metadata.order_id;
  const order = await orderById(parts.database, orderId ?? "");
  if (order === undefined && orderId !== undefined && intent.status === "succeeded") {
    return await orphaned(parts, intent.id, bearer);
  }
  // Checkout's payments are told by their sessions
  if (order === undefined || order.origin !== "top_up") {
    return await noted(parts, bearer, { outcome: order === undefined ? "unknown" : "no_effect" });
  }
  if (intent.status === "succeeded") {
    const faults = intentFaults(order, intent);
    if (faults.length > 0) return await toReview(parts, { order, faults, id: intent.id, bearer });
    return await paid(parts, order, { paymentId: intent.id, amount: intent.amount, bearer });
  }
  if (!hasFailed && intent.status !== "canceled") {
    return await noted(parts, bearer, { outcome: "no_effect", order });
  }
  return await closeOrder(parts, order, { state: "failed", causeId: intent.id, bearer });
}

/** Applies what a refund says. It may be one of a payment that is not ours, or not known yet. */
export async function applyRefund(
  parts: NewsParts,
  refund: RefundObject,
  { bearer, livemode = parts.livemode }: {
    readonly bearer?: Bearer;
    readonly livemode?: boolean;
  } = {},
): Promise<Applied> {
  const { status } = refund;
  const rank = status === "failed" || status === "canceled" ? 2 : status === "succeeded" ? 1 : 0;
  return await applyChange(parts, refund.payment_intent, {
    id: refund.id,
    kind: "refund",
    amount: refund.amount,
    currency: refund.currency,
    livemode,
    rank,
  }, bearer);
}

/** Applies what a dispute says. */
export async function applyDispute(
  parts: NewsParts,
  dispute: DisputeObject,
  { bearer, type = "" }: { readonly bearer?: Bearer; readonly type?: string } = {},
): Promise<Applied> {
  return await applyChange(parts, dispute.payment_intent, {
    id: dispute.id,
    kind: "dispute",
    amount: dispute.amount,
    currency: dispute.currency,
    livemode: dispute.livemode,
    rank: rankOfDispute(dispute.status, type),
  }, bearer);
}

/** What is known of a dispute: 0 inquiry, 1 money withdrawn, 2 lost, 3 won. */
function rankOfDispute(status: string, type: string): 0 | 1 | 2 | 3 {
  if (status === "lost") return 2;
  if (status === "won" || type === "charge.dispute.funds_reinstated") return 3;
  if (type === "charge.dispute.funds_withdrawn") return 1;
  // of an inquiry no money has moved, nor of a dispute that was prevented
  return status.startsWith("warning_") || status === "prevented" ? 0 : 1;
}

async function applyChange(
  parts: NewsParts,
  paymentId: string | undefined,
  change: Omit<PaymentChange, "paymentId" | "eventId" | "atMs" | "asOfMs">,
  bearer: Bearer | undefined,
): Promise<Applied> {
  const { database, log } = parts;
  if (paymentId === undefined) return await noted(parts, bearer, { outcome: "unknown" });
  const before = await orderOfPayment(database, paymentId);
  // amounts of two currencies cannot be compared, and no credits are moved by them
  const isOther = before !== undefined && before.currency !== change.currency;
  await settleChange(database, {
    ...change,
    paymentId,
    eventId: bearer?.eventId,
    atMs: parts.now(),
    asOfMs: bearer?.createdAtMs,
  }, {
    accountIds: before === undefined ? [] : await accountsOfOrder(database, before.id),
    more: bearer === undefined || isOther
      ? []
      : [bearer.record(before === undefined ? "unknown" : "applied", before?.id)],
  });
  if (before === undefined) return { outcome: "unknown" };
  if (isOther) {
    return await toReview(parts, { order: before, faults: ["currency"], id: change.id, bearer });
  }
  const order = await orderById(database, before.id);
  if (order?.state !== before.state || order.goneAmount !== before.goneAmount) {
    log.warn("payment changed", { order: before.id, state: order?.state, cause: change.id });
  }
  return { outcome: "applied", order };
}

async function paid(
  parts: NewsParts,
  order: Order,
  { paymentId, sessionId, amount, bearer }: {
    readonly paymentId: string;
    readonly sessionId?: string;
    readonly amount: number | null;
    readonly bearer: Bearer | undefined;
  },
): Promise<Applied> {
  const { database, log, now, bonusCredits } = parts;
  const settled = await settlePayment(database, {
    orderId: order.id,
    paymentId,
    sessionId,
    amount,
    eventId: bearer?.eventId,
    bonusCredits,
    isPayment: true,
    atMs: now(),
  }, bearer === undefined ? [] : [bearer.record("applied", order.id)]);
  if (settled.isFirst) {
    log.info("order paid", { order: order.id, account: order.accountId, credits: order.credits });
  }
  if (settled.order.paymentId !== paymentId) {
    // a second payment of an order, or one that paid another: money without credits
    return await toReview(parts, {
      order,
      faults: ["another payment"],
      id: paymentId,
      bearer: undefined,
    });
  }
  return { outcome: settled.isFirst ? "applied" : "repeated", order: settled.order };
}

/** Closes an open order. A paid one stays as it is. */
export async function closeOrder(
  { database, now }: Pick<NewsParts, "database" | "now">,
  order: Order,
  { state, causeId, bearer, detail = "" }: {
    readonly state: "expired" | "failed";
    readonly causeId: string;
    readonly bearer?: Bearer | undefined;
    readonly detail?: string;
  },
): Promise<Applied> {
  await database.batch([
    {
      sql: `insert into order_events (id, kind, cause_id, order_id, event_id, detail, at_ms)
        select ?, ?, ?, id, ?, ?, cast(? as bigint) from orders where id = ? and state = 'open'
        on conflict (id) do nothing`,
      args: [
        `${state}:${causeId}`,
        state,
        causeId,
        bearer?.eventId ?? null,
        detail.slice(0, 500),
        now(),
        order.id,
      ],
    },
    { sql: "update orders set state = ? where id = ? and state = 'open'", args: [state, order.id] },
    ...bearer === undefined ? [] : [bearer.record("applied", order.id)],
  ]);
  return { outcome: "applied", order: await orderById(database, order.id) };
}

/** What does not fit its order gives no credits: somebody has to look at it. */
async function toReview(
  { database, log, now }: NewsParts,
  { order, faults, id, bearer }: {
    readonly order: Order;
    readonly faults: readonly string[];
    /** Of the object that does not fit. */
    readonly id: string;
    readonly bearer: Bearer | undefined;
  },
): Promise<Applied> {
  const detail = `Differs from the order in ${faults.join(", ")}: ${id}`.slice(0, 500);
  const [noticed] = await database.batch([
    insertOf("insert into order_events", {
      id: `review:${order.id}/${id}`,
      kind: "review",
      causeId: `${order.id}/${id}`,
      orderId: order.id,
      eventId: bearer?.eventId,
      detail,
      atMs: now(),
    }, { then: "on conflict (id) do nothing returning id" }),
    {
      sql: `update orders set needs_look = ? where id = ? and not exists (
          select 1 from order_events where order_id = orders.id and kind = 'looked'
            and cause_id = ?
        )`,
      args: [detail, order.id, `${order.id}/${id}`],
    },
    ...bearer === undefined ? [] : [bearer.record("review", order.id)],
  ]);
  if (noticed!.length > 0) {
    // once, however often it is swept
    log.error("payment needs a look: it differs from its order", {
      order: order.id,
      object: id,
      differs: faults.join(", "),
    });
  }
  return { outcome: "review", order: await orderById(database, order.id) };
}

/** Says that somebody paid for an order that there is not: it never makes one. */
async function orphaned(
  parts: NewsParts,
  payment: string,
  bearer: Bearer | undefined,
): Promise<Applied> {
  parts.log.error("payment without an order", { payment });
  return await noted(parts, bearer, { outcome: "unknown", orphan: payment });
}

/** Records an event that changes nothing. */
async function noted(
  { database }: NewsParts,
  bearer: Bearer | undefined,
  applied: Applied,
): Promise<Applied> {
  if (bearer !== undefined) {
    await database.batch([bearer.record(applied.outcome, applied.order?.id)]);
  }
  return applied;
}
