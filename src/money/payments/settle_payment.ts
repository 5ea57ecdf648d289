import type { Database, Statement } from "../../ground/database/mod.ts";
import {
  awaitReturns,
  decide,
  ORDER_COLLECTIONS,
  ORDER_PAYMENTS,
  PAYMENT_CHANGES,
  recallLoans,
} from "../ledger/mod.ts";
import { type Order, readOrder, selectOrder } from "./orders.ts";

/** A payment of an order. */
export interface Payment {
  readonly orderId: string;
  /** The payment's ID at its provider, or one that follows from the reference of a manual payment. */
  readonly paymentId: string;
  /** The checkout that it was made in. */
  readonly sessionId?: string | undefined;
  /** In minor units; null if nobody wrote it down. */
  readonly amount: number | null;
  /** The provider's event that brought it. */
  readonly eventId?: string | undefined;
  /** For the inviter of an account that pays for the first time. */
  readonly bonusCredits: number;
  /** Whether money was paid; a gift is not a payment. */
  readonly isPayment: boolean;
  readonly atMs: number;
}

/** A refund or dispute, as its provider tells of it. */
export interface PaymentChange {
  /** The refund's or dispute's ID. */
  readonly id: string;
  readonly kind: "refund" | "dispute";
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
  readonly livemode: boolean;
  /** Of a refund 0 pending, 1 succeeded, 2 failed; of a dispute 0 inquiry, 1 withdrawn, 2 lost, 3 won. */
  readonly rank: 0 | 1 | 2 | 3;
  readonly eventId?: string | undefined;
  readonly atMs: number;
  /** The provider's time of this state, in milliseconds since the epoch. Default: `atMs`. */
  readonly asOfMs?: number | undefined;
}

/** How long gateways have to return what they were lent, before credits are taken back. */
const RECALL_MS = 1_500;

/**
 * Returns the statement of the one way on which an order is paid: its lot, the inviter's bonus, what was known of refunds
 * and disputes before, and the account's debts, decided by the database in one transaction (`ledger/rules/pay_order.ts`).
 */
export function paymentStatement(payment: Payment): Statement {
  return decide(ORDER_PAYMENTS, {
    order_id: payment.orderId,
    payment_id: payment.paymentId,
    session_id: payment.sessionId,
    amount: payment.amount,
    event_id: payment.eventId,
    bonus_credits: payment.bonusCredits,
    is_payment: payment.isPayment ? 1 : 0,
    at_ms: payment.atMs,
  });
}

/**
 * Pays an order, once, however often the news of its payment comes.
 *
 * @param more Statements of the same transaction.
 * @returns The order, and whether this call paid it.
 * @throws {Error} If there is no such order.
 */
export async function settlePayment(
  database: Database,
  payment: Payment,
  more: readonly Statement[] = [],
): Promise<{ readonly order: Order; readonly isFirst: boolean }> {
  const [before, , after] = await database.batch([
    selectOrder(payment.orderId),
    paymentStatement(payment),
    selectOrder(payment.orderId),
    ...more,
  ]);
  const [was] = before!;
  const [row] = after!;
  if (was === undefined) throw new Error(`Unknown order ${payment.orderId}`);
  const order = readOrder(row);
  return {
    order,
    isFirst: readOrder(was).paidAtMs === null && order.paymentId === payment.paymentId,
  };
}

/**
 * Returns the statement that notes a refund or dispute, and moves the credits of the order that its payment paid, as the
 * database decides.
 */
export function changeStatement(change: PaymentChange): Statement {
  return decide(PAYMENT_CHANGES, {
    id: change.id,
    kind: change.kind,
    payment_id: change.paymentId,
    amount: change.amount,
    currency: change.currency,
    livemode: change.livemode ? 1 : 0,
    rank: change.rank,
    event_id: change.eventId,
    at_ms: change.atMs,
    as_of_ms: change.asOfMs ?? change.atMs,
  });
}

/**
 * Notes a refund or dispute, and moves the credits of the order that its payment paid. A payment of no order changes
 * nothing, unless it turns out later to be one of an order.
 *
 * @param accountIds Whose credits may be taken: what is lent of them to gateways is recalled first.
 * @param more Statements of the same transaction.
 */
export async function settleChange(
  database: Database,
  change: PaymentChange,
  { accountIds, more = [] }: {
    readonly accountIds: readonly string[];
    readonly more?: readonly Statement[];
  },
): Promise<void> {
  await recall(database, accountIds);
  await database.batch([changeStatement(change), ...more]);
}

/**
 * Lists the accounts whose credits an order may move: the buyer, and an inviter who got a bonus for it.
 */
export async function accountsOfOrder(database: Database, orderId: string): Promise<string[]> {
  const rows = await database.all(
    "select distinct account_id from order_credits where order_id = ?",
    [orderId],
  );
  return rows.map((row) => String(row.account_id));
}

/**
 * Takes back what in-flight requests held when a refund or dispute came, and have released or spent since.
 *
 * @param limit Max number of orders.
 * @returns How many orders there were to look at.
 */
export async function collectReleased(
  database: Database,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): Promise<number> {
  const rows = await database.all("select order_id from collectable_orders limit ?", [limit]);
  for (const { order_id } of rows) {
    const orderId = String(order_id);
    await recall(database, await accountsOfOrder(database, orderId));
    await database.batch([
      decide(ORDER_COLLECTIONS, {
        order_id: orderId,
        cause: `collected:${orderId}.${nowMs}`,
        at_ms: nowMs,
      }),
    ]);
  }
  return rows.length;
}

async function recall(database: Database, accountIds: readonly string[]): Promise<void> {
  for (const accountId of accountIds) {
    await recallLoans(database, accountId);
    await awaitReturns(database, { accountId, patienceMs: RECALL_MS });
  }
}
