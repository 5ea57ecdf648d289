import * as z from "zod";
import { columnsIn, flag, insertOf, jsonText, rowOf, shownText } from "../../ground/row.ts";
import type { Condition, Database, Statement } from "../../ground/database/mod.ts";
import { sumOf, textsOf } from "../../ground/sql/mod.ts";

/** Who takes the money: Stripe, or an operator by hand. `gift`: nobody; `earlier`: sold before there were orders. */
export type Provider = "stripe" | "manual" | "gift" | "earlier";

/** Where an order was made. */
export type OrderOrigin = "console" | "command" | "top_up" | "operator" | "earlier";

/** What has become of an order. Each has one of these. */
export const ORDER_STATES = [
  "open",
  "paid",
  "expired",
  "failed",
  "partly_refunded",
  "refunded",
  "disputed",
  "charged_back",
] as const;
/** What has become of an order. */
export type OrderState = typeof ORDER_STATES[number];

const orderRow = rowOf({
  id: z.string(),
  account_id: z.string(),
  provider: z.enum(["stripe", "manual", "gift", "earlier"]),
  origin: z.enum(["console", "command", "top_up", "operator", "earlier"]),
  reference: shownText,
  package_id: z.string(),
  package_name: shownText,
  credits: z.int(),
  valid_days: z.int().nullable(),
  /** What its credits pay for; null for all models. */
  models: jsonText(z.array(z.string())).nullable(),
  /** Price in minor units; null if nobody wrote it down. */
  amount: z.int().nullable(),
  currency: z.string(),
  /** Whether the money is real. */
  livemode: flag,
  lot_id: z.string(),
  note: shownText,
  created_at_ms: z.int(),
  session_id: z.string().nullable(),
  session_url: z.string().nullable(),
  state: z.enum(ORDER_STATES),
  payment_id: z.string().nullable(),
  /** What was paid, taxes included. */
  paid_amount: z.int().nullable(),
  paid_at_ms: z.int().nullable(),
  /** Number of the receipt. */
  receipt: z.int().nullable(),
  /** The part that was refunded or disputed. */
  gone_amount: z.int(),
  /** Why an operator has to look at it; empty if not. */
  needs_look: shownText,
});

/** The purchase of a package. Its terms never change; its state follows from what happened to its payment. */
export type Order = z.output<typeof orderRow>;

/** The terms of an order. */
export interface NewOrder {
  readonly id: string;
  readonly accountId: string;
  readonly provider: Exclude<Provider, "earlier">;
  readonly origin: Exclude<OrderOrigin, "earlier">;
  /** The same reference makes one order of an account. */
  readonly reference: string;
  readonly packageId: string;
  readonly packageName: string;
  readonly credits: number;
  readonly validDays: number | null;
  /** What its credits pay for: IDs of routes and prefixes ending in `*`; all models if left out. */
  readonly models?: readonly string[] | undefined;
  /** In minor units; null if nobody wrote it down. */
  readonly amount: number | null;
  readonly currency: string;
  readonly livemode: boolean;
  readonly lotId: string;
  readonly note: string;
  readonly atMs: number;
}

const eventRow = rowOf({
  kind: z.string(),
  /** ID of the session, payment, refund or dispute that caused it. */
  cause_id: z.string(),
  /** ID of the provider's event that brought it; null if it was found by asking. */
  event_id: z.string().nullable(),
  amount: z.int().nullable(),
  detail: shownText,
  at_ms: z.int(),
});

/** What happened to an order. */
export type OrderEvent = z.output<typeof eventRow>;

const creditsRow = rowOf({
  account_id: z.string(),
  role: z.enum(["purchase", "bonus"]),
  kind: z.enum(["granted", "taken", "owed", "repaid", "forgiven", "returned"]),
  credits: z.int(),
  lot_id: z.string().nullable(),
  at_ms: z.int(),
});

/** Credits that an order moved. */
export type OrderCredits = z.output<typeof creditsRow>;

const SELECT = "select * from orders";

/**
 * Returns the statement that makes an order, unless its account has one with that reference.
 *
 * @param onlyIf A condition without which none is made.
 */
export function orderStatement(order: NewOrder, onlyIf?: Condition): Statement {
  return insertOf("insert into orders", {
    id: order.id,
    accountId: order.accountId,
    provider: order.provider,
    origin: order.origin,
    reference: order.reference,
    packageId: order.packageId,
    packageName: order.packageName,
    credits: order.credits,
    validDays: order.validDays,
    amount: order.amount,
    currency: order.currency,
    livemode: order.livemode ? 1 : 0,
    lotId: order.lotId,
    note: order.note,
    createdAtMs: order.atMs,
    models: order.models && JSON.stringify(order.models),
  }, { onlyIf, then: "on conflict do nothing returning id" });
}

/** Selects an order, for a transaction that changes it. */
export function selectOrder(id: string): Statement {
  return { sql: `${SELECT} where id = ?`, args: [id] };
}

/** Parses a row of {@linkcode selectOrder}. */
export function readOrder(row: unknown): Order {
  return orderRow.parse(row);
}

/** Gets an order. */
export async function orderById(database: Database, id: string): Promise<Order | undefined> {
  return await firstOrder(database, `${SELECT} where id = ?`, [id.slice(0, 200)]);
}

/** Finds which of these orders there are: one that could not be made is in the log all the same. */
export async function storedOrders(database: Database, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const sql = `select id from orders where id in ${textsOf()}`;
  return (await database.all(sql, [JSON.stringify(ids)])).map(({ id }) => String(id));
}

/** Gets the order that a payment paid. */
export async function orderOfPayment(
  database: Database,
  paymentId: string,
): Promise<Order | undefined> {
  return await firstOrder(database, `${SELECT} where payment_id = ?`, [paymentId]);
}

/** Gets the order of a Checkout session. */
export async function orderOfSession(
  database: Database,
  sessionId: string,
): Promise<Order | undefined> {
  return await firstOrder(database, `${SELECT} where session_id = ?`, [sessionId]);
}

/** Gets an account's order with a reference. */
export async function orderOfReference(
  database: Database,
  { accountId, provider, reference }: Pick<NewOrder, "accountId" | "provider" | "reference">,
): Promise<Order | undefined> {
  const sql = `${SELECT} where account_id = ? and provider = ? and reference = ?`;
  return await firstOrder(database, sql, [accountId, provider, reference]);
}

async function firstOrder(
  database: Database,
  sql: string,
  args: readonly string[],
): Promise<Order | undefined> {
  const [row] = await database.all(sql, args);
  return row && orderRow.parse(row);
}

/** Which orders are listed. */
export interface OrderFilter {
  readonly accountId?: string | undefined;
  readonly state?: OrderState | undefined;
  /** Only those that an operator has to look at. */
  readonly needsLook?: boolean | undefined;
  /** The last one of the page before. */
  readonly after?: Pick<Order, "id" | "createdAtMs"> | undefined;
  readonly limit: number;
}

/** Lists orders, newest first. */
export async function listOrders(
  database: Database,
  { accountId, state, needsLook = false, after, limit }: OrderFilter,
): Promise<Order[]> {
  const rows = await database.all(
    `${SELECT} where (?1 is null or account_id = ?1) and (?2 is null or state = ?2)
        and (?3 = 0 or needs_look <> '')
        and (?5 is null or (created_at_ms, id) < (?5, ?6))
      order by created_at_ms desc, id desc limit ?4`,
    [
      accountId ?? null,
      state ?? null,
      needsLook ? 1 : 0,
      limit,
      after?.createdAtMs ?? null,
      after?.id ?? null,
    ],
  );
  return rows.map((row) => orderRow.parse(row));
}

/** Lists what happened to an order, oldest first. */
export async function eventsOfOrder(database: Database, orderId: string): Promise<OrderEvent[]> {
  const rows = await database.all(
    `select ${columnsIn(eventRow)} from order_events where order_id = ?
      order by at_ms, id`,
    [orderId],
  );
  return rows.map((row) => eventRow.parse(row));
}

/** Lists the credits that an order moved, oldest first. */
export async function creditsOfOrder(database: Database, orderId: string): Promise<OrderCredits[]> {
  const rows = await database.all(
    `select ${columnsIn(creditsRow)} from order_credits where order_id = ?
      order by at_ms, id`,
    [orderId],
  );
  return rows.map((row) => creditsRow.parse(row));
}

const OPEN_DEBT = sumOf(`case kind when 'owed' then credits when 'repaid' then -credits
    when 'forgiven' then -credits else 0 end`);

/** Returns the credits that an account owes from refunds and disputes. Its next purchases pay them off. */
export async function debtOf(database: Database, accountId: string): Promise<number> {
  const row = await database.one(
    `select ${OPEN_DEBT} as owed from order_credits where account_id = ?`,
    [accountId],
  );
  return Number(row?.owed ?? 0);
}

/** Lists the accounts that owe credits, most first. */
export async function debtors(
  database: Database,
  limit: number,
): Promise<{ readonly accountId: string; readonly credits: number }[]> {
  const rows = await database.all(
    `select account_id, ${OPEN_DEBT} as owed from order_credits group by 1 having ${OPEN_DEBT} > 0
      order by owed desc, account_id limit ?`,
    [limit],
  );
  return rows.map((row) => ({ accountId: String(row.account_id), credits: Number(row.owed) }));
}

/** Whether money of an account is being disputed. */
export async function isDisputed(database: Database, accountId: string): Promise<boolean> {
  const sql = "select 1 as found from orders where account_id = ? and state = 'disputed' limit 1";
  return await database.one(sql, [accountId]) !== undefined;
}

/** Lists open orders that were made between two times, in no order. */
export async function openOrders(
  database: Database,
  { livemode, fromMs, untilMs, limit }: {
    readonly livemode: boolean;
    readonly fromMs: number;
    readonly untilMs: number;
    readonly limit: number;
  },
): Promise<Order[]> {
  const rows = await database.all(
    `${SELECT} where state = 'open' and provider = 'stripe' and livemode = ?
        and created_at_ms >= ? and created_at_ms < ?
      order by random() limit ?`, // so that none waits behind others that stay open for days
    [livemode ? 1 : 0, fromMs, untilMs, limit],
  );
  return rows.map((row) => orderRow.parse(row));
}

/** Returns the statements that note that somebody has looked at an order which did not fit its payment. */
export function lookedStatements(order: Order, atMs: number): Statement[] {
  return [
    {
      sql: `insert into order_events (id, kind, cause_id, order_id, at_ms)
        select 'looked:' || cause_id, 'looked', cause_id, order_id, cast(? as bigint)
        from order_events where order_id = ? and kind = 'review' on conflict (id) do nothing`,
      args: [atMs, order.id],
    },
    { sql: "update orders set needs_look = '' where id = ?", args: [order.id] },
  ];
}
