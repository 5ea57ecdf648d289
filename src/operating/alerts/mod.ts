/**
 * Alerts: marks that were reached, such as low credits or an open circuit, delivered to webhooks and shown in the console.
 *
 * Promise: one alert for each mark, whatever gateways race or restart; a delivery is tried for a day until the receiver takes
 * it; no request waits for any of it. Leaves to others: what balances, budgets and circuits are (`ledger/`, `upstreams/`).
 *
 * @module
 */

export type { Alert, NewAlert } from "./alert.ts";
export { Alerts, type AlertsOptions, type AlertTimes } from "./alerts.ts";
export type { SeenCondition } from "./conditions.ts";
export { type AlertSettings, Deliveries, type DeliveriesOptions } from "./deliveries.ts";
export { type AuditOutcome, lastAudit, rememberAudit } from "./daily_audit.ts";
export { reachedMark } from "./budget_alerts.ts";
export {
  type Delivery,
  markRead,
  type Notice,
  type NoticeFilter,
  notices,
  noticesOf,
  type Reader,
  unreadCount,
} from "./notices.ts";
export {
  BACKOFF,
  type Backoff,
  type Claim,
  type DeliveryOutcome,
  Outbox,
  type Receivers,
} from "./outbox.ts";
export { checkReceiver, sendAlerts, type SendOptions } from "./send.ts";
export { signatureOf } from "./signature.ts";
export { Watch, type WatchOptions, type WatchTimes } from "./watch.ts";
