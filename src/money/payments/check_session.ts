import type { Order } from "./orders.ts";
import type { CheckoutSession, PaymentIntent } from "./stripe_objects.ts";

/**
 * Compares a Checkout session with the order that it claims to pay.
 *
 * @returns What differs; empty if it is the session of the order.
 */
export function sessionFaults(order: Order, session: CheckoutSession): string[] {
  return [
    ...order.sessionId !== null && order.sessionId !== session.id ? ["another session"] : [],
    ...session.client_reference_id !== order.id ? ["client_reference_id"] : [],
    ...session.mode !== "payment" ? ["mode"] : [],
    ...termFaults(order, session),
  ];
}

/**
 * Compares a paid Checkout session with its order: also what was paid, and by which payment.
 *
 * @returns What differs; empty if the order is paid.
 */
export function paidFaults(order: Order, session: CheckoutSession): string[] {
  const { amount_subtotal: own, amount_total: total } = session;
  const isFree = session.payment_status === "no_payment_required";
  return [
    ...sessionFaults(order, session),
    ...session.status !== "complete" ? ["status"] : [],
    ...isFree && order.amount !== 0 ? ["payment_status"] : [],
    ...session.currency !== order.currency ? ["currency"] : [],
    ...own !== order.amount ? ["amount"] : [],
    // taxes are above our price; a discount that we did not give is not
    ...typeof total !== "number" || total < (order.amount ?? Infinity) ? ["amount_total"] : [],
    ...session.payment_intent === undefined && !isFree ? ["payment_intent"] : [],
  ];
}

/**
 * Compares a succeeded payment intent with the order that it was made for without Checkout.
 *
 * @returns What differs; empty if the order is paid.
 */
export function intentFaults(order: Order, intent: PaymentIntent): string[] {
  return [
    ...order.origin !== "top_up" ? ["origin"] : [],
    ...termFaults(order, intent),
    ...intent.currency !== order.currency ? ["currency"] : [],
    ...intent.amount !== order.amount ? ["amount"] : [],
    ...intent.amount_received !== order.amount ? ["amount_received"] : [],
  ];
}

/** What we wrote into the object when it was made; nobody else may have changed it. */
function termFaults(
  order: Order,
  { livemode, metadata }: Pick<CheckoutSession, "livemode" | "metadata">,
): string[] {
  const expected = orderMetadata(order);
  return [
    ...livemode !== order.livemode ? ["livemode"] : [],
    ...Object.entries(expected).filter(([name, value]) => metadata[name] !== value)
      .map(([name]) => `metadata.${name}`),
  ];
}

/** What is written into the objects of an order at Stripe. Only compared: credits come from the order. */
export function orderMetadata(order: Order): Record<string, string> {
  return {
    order_id: order.id,
    account_id: order.accountId,
    package: order.packageId,
    credits: String(order.credits),
  };
}
