import type * as z from "zod";
import type { Statement } from "../../ground/database/mod.ts";
import {
  type Applied,
  applyDispute,
  applyIntent,
  applyRefund,
  applySession,
  type Bearer,
  type NewsParts,
} from "./apply_news.ts";
import {
  checkoutSession,
  disputeObject,
  paymentIntent,
  refundObject,
  type StripeEvent,
} from "./stripe_objects.ts";

type Handler = (parts: NewsParts, event: StripeEvent, bearer: Bearer) => Promise<Applied>;

/** An event whose object has a shape that is not known takes no effect, and must not be sent again and again. */
function handler<T>(
  schema: z.ZodType<T>,
  apply: (parts: NewsParts, object: T, event: StripeEvent, bearer: Bearer) => Promise<Applied>,
): Handler {
  return async (parts, event, bearer) => {
    const read = schema.safeParse(event.data.object);
    if (read.success) return await apply(parts, read.data, event, bearer);
    parts.log.error("payment event not understood", { event: event.id, type: event.type });
    return await unhandled(parts, bearer);
  };
}

const session = (hasFailed: boolean) =>
  handler(checkoutSession, async (parts, object, event, bearer) => {
    if (object.livemode !== event.livemode) return await unhandled(parts, bearer);
    return await applySession(parts, object, { bearer, hasFailed });
  });

const intent = (hasFailed: boolean) =>
  handler(paymentIntent, async (parts, object, event, bearer) => {
    if (object.livemode !== event.livemode) return await unhandled(parts, bearer);
    return await applyIntent(parts, object, { bearer, hasFailed });
  });

const refund = handler(
  refundObject,
  (parts, object, { livemode }, bearer) => applyRefund(parts, object, { bearer, livemode }),
);

const dispute = handler(disputeObject, async (parts, object, event, bearer) => {
  if (object.livemode !== event.livemode) return await unhandled(parts, bearer);
  return await applyDispute(parts, object, { bearer, type: event.type });
});

/** The events that have an effect. The webhook endpoint needs to be subscribed to these. */
const HANDLERS: ReadonlyMap<string, Handler> = new Map([
  ["checkout.session.completed", session(false)],
  ["checkout.session.async_payment_succeeded", session(false)],
  ["checkout.session.async_payment_failed", session(true)],
  ["checkout.session.expired", session(false)],
  ["payment_intent.succeeded", intent(false)],
  ["payment_intent.payment_failed", intent(true)],
  ["refund.created", refund],
  ["refund.updated", refund],
  ["refund.failed", refund],
  ["charge.dispute.created", dispute],
  ["charge.dispute.updated", dispute],
  ["charge.dispute.funds_withdrawn", dispute],
  ["charge.dispute.funds_reinstated", dispute],
  ["charge.dispute.closed", dispute],
]);

/** Types of the events that have an effect. */
export const EVENT_TYPES: readonly string[] = [...HANDLERS.keys()];

/**
 * Applies an event, once: its record is written in the transaction of its effect.
 *
 * Events arrive late, twice and in any order. None is taken for the newest state: each adds what it says to what is known,
 * and disputes are ordered by the times of their events.
 *
 * @returns What became of it.
 */
export async function applyEvent(parts: NewsParts, event: StripeEvent): Promise<Applied> {
  const { database, log } = parts;
  if (await database.one("select 1 as found from payment_events where id = ?", [event.id])) {
    return { outcome: "repeated" };
  }
  const bearer = bearerOf(event, parts.now());
  if (event.livemode !== parts.livemode) {
    // a test's payment must never give real credits, nor the other way round
    log.warn("payment event of the other mode", { event: event.id, type: event.type });
    return await unhandled(parts, bearer);
  }
  const handle = HANDLERS.get(event.type);
  if (handle !== undefined) return await handle(parts, event, bearer);
  return await unhandled(parts, bearer);
}

async function unhandled({ database }: NewsParts, bearer: Bearer): Promise<Applied> {
  await database.batch([bearer.record("no_effect", undefined)]);
  return { outcome: "no_effect" };
}

function bearerOf({ id, type, livemode, created, data }: StripeEvent, nowMs: number): Bearer {
  const { id: objectId } = data.object;
  return {
    eventId: id,
    createdAtMs: created * 1_000,
    record: (outcome, orderId): Statement => ({
      sql: `insert into payment_events (id, type, object_id, livemode, order_id, outcome,
          created_at_ms, received_at_ms)
        select ?1, ?2, ?3, ?4, ?5, case when ?6 in ('applied', 'review') and not exists (
            select 1 from order_events where event_id = ?1
          ) then 'repeated' else ?6 end, ?7, ?8
        where true on conflict (id) do nothing`,
      args: [
        id,
        type,
        typeof objectId === "string" ? objectId.slice(0, 255) : "",
        livemode ? 1 : 0,
        orderId ?? null,
        outcome,
        created * 1_000,
        nowMs,
      ],
    }),
  };
}
