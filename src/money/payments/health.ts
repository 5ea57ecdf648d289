import type { Database, Statement } from "../../ground/database/mod.ts";

/** What tells that payments are heard of. */
export type Contact = "webhook" | "sweep";

/** How payments fare, for operators. Times are in milliseconds since the epoch. */
export interface PaymentHealth {
  /** When the last genuine webhook came; null if none has. */
  readonly lastWebhookAtMs: number | null;
  /** When the last sweep without faults ended; null if none has. */
  readonly lastSweepAtMs: number | null;
  /** Orders of the payment service, whatever became of them. */
  readonly orders: number;
  /** Orders that have been open for more than a day. */
  readonly waiting: number;
  readonly oldestWaitingAtMs: number | null;
  /** Orders that an operator has to look at. */
  readonly needLook: number;
}

/** Checkouts end within an hour, and a sweep closes orders without one after a day. */
const WAITING_MS = 26 * 3_600_000;
/** A later time is written only this long after the one before. */
const EVERY_MS = 10_000;

/** Returns the statement that notes a webhook or a sweep. */
export function contactStatement(
  contact: Contact,
  { livemode, atMs }: { readonly livemode: boolean; readonly atMs: number },
): Statement {
  return {
    sql: `insert into payment_contacts (name, livemode, at_ms) values (?, ?, cast(? as bigint))
      on conflict (name, livemode) do update set at_ms = excluded.at_ms
      where excluded.at_ms >= payment_contacts.at_ms + ${EVERY_MS}`,
    args: [contact, livemode ? 1 : 0, atMs],
  };
}

/** Returns how payments of a mode fare. */
export async function paymentHealth(
  database: Database,
  { livemode, nowMs }: { readonly livemode: boolean; readonly nowMs: number },
): Promise<PaymentHealth> {
  const mode = livemode ? 1 : 0;
  const contacts = await database.all(
    "select name, at_ms from payment_contacts where livemode = ?",
    [mode],
  );
  const at = (contact: Contact) => {
    const found = contacts.find(({ name }) => name === contact);
    return found === undefined ? null : Number(found.at_ms);
  };
  const row = await database.one(
    `select count(*) as orders,
        count(*) filter (where state = 'open' and created_at_ms < ?2) as waiting,
        min(created_at_ms) filter (where state = 'open' and created_at_ms < ?2) as oldest,
        count(*) filter (where needs_look <> '') as look
      from orders where provider = 'stripe' and livemode = ?1`,
    [mode, nowMs - WAITING_MS],
  );
  const oldest = row?.oldest ?? null;
  return {
    lastWebhookAtMs: at("webhook"),
    lastSweepAtMs: at("sweep"),
    orders: Number(row?.orders ?? 0),
    waiting: Number(row?.waiting ?? 0),
    oldestWaitingAtMs: oldest === null ? null : Number(oldest),
    needLook: Number(row?.look ?? 0),
  };
}
