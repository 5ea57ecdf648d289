import { AccountError, conflict } from "../../people/accounts/mod.ts";
import { applyRefund, type NewsParts } from "./apply_news.ts";
import { type Order, orderById } from "./orders.ts";
import { type StripeClient, StripeError } from "./stripe_client.ts";
import { digestOf } from "../../ground/platform/mod.ts";

/** A refund that an operator wants. */
export interface RefundRequest {
  /** In minor units; all that is left by default. */
  readonly amount?: number | undefined;
  /** The same reference refunds once. */
  readonly reference: string;
}

/**
 * Checks that an order can be refunded, as far as it is known here.
 *
 * @throws {AccountError} If it cannot.
 */
export function checkRefund(order: Order, { amount, reference }: RefundRequest): void {
  if (order.paymentId === null || order.paidAtMs === null) {
    throw conflict(`Order ${order.id} is ${order.state}: there is nothing to refund`);
  }
  if (order.paidAmount === null || order.paidAmount === 0) {
    throw conflict(
      `What was paid for order ${order.id} is not recorded. Take its credits back with: sluice ` +
        "credits take-back",
    );
  }
  if (order.state === "disputed" || order.state === "charged_back") {
    throw conflict(
      `The payment of order ${order.id} is disputed: it cannot be refunded as well`,
    );
  }
  if (reference === "" || reference.length > 200) {
    throw new AccountError("The reference must be 1 to 200 characters long");
  }
  if (amount !== undefined && (!Number.isSafeInteger(amount) || amount < 1)) {
    throw new AccountError("The amount to refund must be more than 0");
  }
}

/**
 * Refunds an order, or a part of it, and takes the credits back. A payment by hand is only recorded as refunded: the
 * operator pays the money back.
 *
 * @param client For orders that Stripe was paid for.
 * @returns The order after it.
 * @throws {AccountError} If there is nothing to refund, or the payment service rejects it.
 */
export async function refundOrder(
  parts: NewsParts & { readonly client: StripeClient | undefined },
  order: Order,
  { amount, reference }: RefundRequest,
): Promise<Order> {
  checkRefund(order, { amount, reference });
  const { provider, currency } = order;
  const paymentId = order.paymentId!;
  const { database } = parts;
  if (provider === "manual") {
    const id = `refund_${order.id}_${digestOf(reference).slice(0, 24)}`;
    const known = await database.one("select amount from payment_facts where id = ?", [id]);
    const wanted = known === undefined ? amountLeft(order, amount) : Number(known.amount);
    await applyRefund(parts, {
      object: "refund",
      id,
      amount: wanted,
      currency,
      payment_intent: paymentId,
      status: "succeeded",
    }, { livemode: order.livemode });
    return await orderById(database, order.id) ?? order;
  }
  const { client } = parts;
  if (client === undefined) {
    throw new AccountError("Stripe is not configured: set payments.stripe, or refund at Stripe");
  }
  if (order.livemode !== parts.livemode) {
    throw new AccountError(
      `Order ${order.id} was paid in ${
        order.livemode ? "live" : "test"
      } mode, and the configured ` +
        "key is of the other mode",
    );
  }
  try {
    const refund = await client.createRefund({
      payment_intent: paymentId,
      amount,
      metadata: { order_id: order.id },
    }, `${order.id} refund ${plain(reference)}`);
    await applyRefund(parts, refund);
  } catch (error) {
    if (!(error instanceof StripeError)) throw error;
    throw new AccountError(
      error.isPassing
        ? `${error.message}. Repeat the command with --reference ${
          JSON.stringify(reference)
        }: it ` +
          "refunds once"
        : error.message,
      { cause: error },
    );
  }
  return await orderById(database, order.id) ?? order;
}

/** The reference as a header can have it, in which it is sent. */
function plain(reference: string): string {
  return /^[\x20-\x7e]+$/.test(reference) ? reference : digestOf(reference);
}

function amountLeft({ id, paidAmount, goneAmount }: Order, amount: number | undefined): number {
  const left = (paidAmount ?? 0) - goneAmount;
  if (left <= 0) throw conflict(`Order ${id} was refunded already`);
  if (amount !== undefined && amount > left) {
    throw conflict(`Cannot refund more than is left: ${left} minor units`);
  }
  return amount ?? left;
}
