import * as z from "zod";
import { flag, rowOf, shownText } from "../../ground/row.ts";
import type { Database } from "../../ground/database/mod.ts";
import { iif } from "../../ground/sql/mod.ts";

const line = rowOf({
  at_ms: z.int(),
  kind: z.enum(["paid", "refunded", "refund_failed", "disputed", "dispute_won"]),
  order_id: z.string(),
  /** Number of the order's receipt. */
  receipt: z.int().nullable(),
  package_name: shownText,
  credits: z.int(),
  /** In minor units: what the account paid, or, below 0, got back. Null if nobody wrote it down. */
  amount: z.int().nullable(),
  currency: z.string(),
  livemode: flag,
});

/** Money that was paid, or went back. */
export type StatementLine = z.output<typeof line>;

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
    `select order_events.at_ms as at_ms, ${
      iif("kind = 'dispute_lost'", "'disputed'", "kind")
    } as kind,
        orders.id as order_id, receipt, package_name, credits, currency, livemode, case
          when kind = 'paid' then paid_amount
          when kind in ('refunded', 'disputed', 'dispute_lost') then -order_events.amount
          else order_events.amount
        end as amount
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
  return rows.map((row) => line.parse(row));
}

/** The number of a receipt as people see it: `R-000042`. */
export function receiptNumber(receipt: number): string {
  return `R-${String(receipt).padStart(6, "0")}`;
}
