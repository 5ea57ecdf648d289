/**
 * Alerts: marks that were reached, such as low credits or an open circuit, delivered to webhooks and shown in the console.
 *
 * Promise: one alert for each mark, whatever gateways race or restart; a delivery is tried for a day until the receiver takes
 * it; no request waits for any of it. Leaves to others: what balances, budgets and circuits are (`ledger/`, `upstreams/`).
 *
 * @module
 */

export type { NewAlert } from "./alert.ts";
export { Alerts, type AlertTimes } from "./alerts.ts";
export { diskSpace } from "./disk.ts";
export { auditOnce, type AuditOutcome, lastAudit, rememberAudit } from "./daily_audit.ts";
export {
  type Delivery,
  markRead,
  type Notice,
  notices,
  noticesOf,
  type Reader,
  unreadCount,
} from "./notices.ts";
export { Outbox } from "./outbox.ts";
export { checkReceiver, sendAlerts } from "./send.ts";
export { signatureOf } from "./signature.ts";
