import type { Database } from "../../ground/database/mod.ts";

/**
 * How long events without an effect are kept. The provider sends an event again for three days and lists it for thirty;
 * three times that leaves room for gateways that were down and for looking into an old payment.
 */
export const EVENTS_KEPT_MS = 90 * 86_400_000;

/**
 * Deletes old events of the provider that changed no order, up to a number of them. Those that orders came to their state
 * by are kept, as the audit compares them. An event that is sent again after it was deleted changes nothing either.
 *
 * @returns Whether there may be more.
 */
export async function pruneEvents(
  database: Database,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): Promise<boolean> {
  const [gone] = await database.batch([{
    sql: `delete from payment_events where id in (
        select id from payment_events where outcome in ('repeated', 'no_effect', 'unknown')
          and received_at_ms < ? and not exists (
            select 1 from order_events where event_id = payment_events.id
          )
        order by received_at_ms limit ?
      ) returning 1 as gone`,
    args: [nowMs - EVENTS_KEPT_MS, limit],
  }]);
  return gone!.length === limit;
}
