import type { Database } from "../../ground/database/mod.ts";
import { displayed } from "../../ground/platform/mod.ts";

/** Money that was paid, or went back. */
export interface StatementLine {
  readonly atMs: number;
  readonly kind: "paid" | "refunded" | "refund_failed" | "disputed" | "dispute_won";
  readonly orderId: string;
  /** Number of the order's receipt. */
  readonly receipt: number | null;
  readonly packageName: string;
  readonly credits: number;
  /** In minor units: what the account paid, or, below 0, got back. Null if nobody wrote it down. */
  readonly amount: number | null;
  readonly currency: string;
  readonly livemode: boolean;
}

/**
 * Lists what an account paid and got back, oldest first.
 *
 * @param during From this time on, and before that one, in milliseconds since the epoch.
 */
export async function statementOf(
  database: Database,
  accountId: string,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): Promise<StatementLine[]> {
  const rows = await database.all(
    `select order_events.at_ms as at_ms, kind, orders.id as order_id, receipt, package_name, credits,
        iif(kind = 'paid', paid_amount, order_events.amount) as amount, currency, livemode
      from orders join order_events on order_events.order_id = orders.id
      where account_id = ? and provider <> 'gift' and order_events.at_ms >= ?
        and order_events.at_ms < ?
        and (kind in ('paid', 'refunded', 'refund_failed', 'disputed')
          -- one that was lost or won without having been told of before
          or kind = 'dispute_lost' and not exists (select 1 from order_events as earlier
            where earlier.id = 'disputed:' || order_events.cause_id)
          or kind = 'dispute_won' and exists (select 1 from order_events as earlier
            where earlier.id in ('disputed:' || order_events.cause_id,
              'dispute_lost:' || order_events.cause_id))
          )
        and (kind <> 'refund_failed' or exists (select 1 from order_events as earlier
            where earlier.id = 'refunded:' || order_events.cause_id))
      order by order_events.at_ms, order_events.id`,
    [accountId, fromMs, untilMs],
  );
  return rows.map((row) => {
    const kind = row.kind === "dispute_lost" ? "disputed" : row.kind as StatementLine["kind"];
    const amount = row.amount === null ? null : Number(row.amount);
    const goesBack = kind === "refunded" || kind === "disputed";
    return {
      atMs: Number(row.at_ms),
      kind,
      orderId: String(row.order_id),
      receipt: row.receipt === null ? null : Number(row.receipt),
      packageName: displayed(String(row.package_name)),
      credits: Number(row.credits),
      amount: amount === null || !goesBack ? amount : -amount,
      currency: String(row.currency),
      livemode: row.livemode === 1,
    };
  });
}

/** The number of a receipt as people see it: `R-000042`. */
export function receiptNumber(receipt: number): string {
  return `R-${String(receipt).padStart(6, "0")}`;
}
