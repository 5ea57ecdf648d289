/**
 * Sells packages of credits: orders, checkouts, webhooks, refunds and disputes.
 *
 * Promise: an order is stored before anybody is asked for money; it is paid once, by one payment, in one transaction with its
 * credits, however often its news comes; what does not fit its order gives no credits. Nothing takes effect that
 * is not signed. Leaves to others: how credits move (`ledger/rules/pay_order.ts`, `ledger/rules/adjust_order.ts`).
 *
 * @module
 */

export { type CreditPackage, type OrderRequest, packageOf } from "./checkout.ts";
export {
  Codes,
  codesOf,
  DuplicateCode,
  type MadeCode,
  newCodeId,
  type RedemptionCode,
} from "./codes.ts";
export { paymentHealth } from "./health.ts";
export {
  creditsOfOrder,
  debtOf,
  debtors,
  eventsOfOrder,
  isDisputed,
  listOrders,
  type Order,
  ORDER_STATES,
  orderById,
  type OrderCredits,
  type OrderEvent,
  type OrderState,
  storedOrders,
} from "./orders.ts";
export { Payments, type PaymentsParts, reconciledShape } from "./payments.ts";
export { pruneEvents } from "./prune_events.ts";
export { recordSale } from "./record_sale.ts";
export { checkRefund } from "./refund.ts";
export { receiptNumber, type StatementLine, statementOf } from "./statement.ts";
export { isServiceDown } from "./stripe_client.ts";
export { PaymentSweep } from "./sweep.ts";
export { type StoppedTopUp, stoppedTopUps, type TopUp, topUpOff } from "./top_up.ts";
export { WEBHOOK_PATH } from "./webhook.ts";
export { hasNotPaid } from "./has_not_paid.ts";
