import * as z from "zod";
import { flag, rowOf } from "../../ground/row.ts";
import { type Account, AccountError, type Accounts } from "../../people/accounts/mod.ts";
import type { Database, Statement } from "../../ground/database/mod.ts";
import { balancesOf, hasLessThan } from "../ledger/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { applyIntent, closeOrder, type NewsParts } from "./apply_news.ts";
import { orderMetadata } from "./check_session.ts";
import { type CreditPackage, savesMethod, termsOf } from "./checkout.ts";
import { debtOf, isDisputed, type Order, orderOfReference, orderStatement } from "./orders.ts";
import { type StripeClient, StripeError } from "./stripe_client.ts";
import { iif } from "../../ground/sql/mod.ts";

const topUp = rowOf({
  account_id: z.string(),
  is_on: flag,
  /** Credits below which a package is bought. */
  below_credits: z.int(),
  package_id: z.string(),
  max_per_month: z.int(),
  /** Whether a payment method was saved. */
  has_method: flag,
  /** Why it stopped; empty if it did not. */
  stopped: z.string(),
  stopped_at_ms: z.int().nullable(),
});

/** An account's automatic purchases. */
export type TopUp = z.output<typeof topUp>;

/** Called once when automatic purchases of an account stop. */
export type TopUpStopped = (
  stop: { readonly accountId: string; readonly orderId: string | undefined; readonly why: string },
) => void;

/** Dependencies of {@linkcode runTopUps}. */
export interface TopUpParts extends NewsParts {
  readonly accounts: Pick<Accounts, "byId">;
  readonly client: StripeClient;
  readonly currency: string;
  readonly packages: readonly CreditPackage[];
  readonly stopped: TopUpStopped;
}

const MAX_ACCOUNTS = 200;
/** An idempotency key is kept for a day. */
const RETRY_MS = 20 * 3_600_000;
const MAX_PER_MONTH = 100;
/** How many payments are searched for the one that saved a payment method. */
const MAX_PURCHASES = 100;

/** Logs that automatic purchases stopped. */
export function logStopped(log: Log): TopUpStopped {
  return ({ accountId, orderId, why }) =>
    log.error("automatic top-up stopped", { account: accountId, order: orderId, why });
}

/** Gets an account's automatic purchases; `undefined` if they were never on. */
export async function topUpOf(database: Database, accountId: string): Promise<TopUp | undefined> {
  const row = await database.one(
    "select *, payment_method_id is not null as has_method from top_ups where account_id = ?",
    [accountId],
  );
  return row && topUp.parse(row);
}

const stoppedTopUp = rowOf({
  account_id: z.string(),
  package_id: z.string(),
  why: z.string(),
  stopped_at_ms: z.int(),
});

/** Automatic purchases that stopped. */
export type StoppedTopUp = z.output<typeof stoppedTopUp>;

/**
 * Lists automatic purchases that have stopped and were not turned on or off since, by account.
 *
 * @param options ID of the account to go on behind, the earliest time, and the max number.
 */
export async function stoppedTopUps(
  database: Database,
  { after, sinceMs, limit }: {
    readonly after: string;
    readonly sinceMs: number;
    readonly limit: number;
  },
): Promise<StoppedTopUp[]> {
  const rows = await database.all(
    `select account_id, package_id, stopped as why, stopped_at_ms from top_ups
      where account_id > ? and stopped_at_ms >= ?
      order by account_id limit ?`,
    [after, sinceMs, limit],
  );
  return rows.map((row) => stoppedTopUp.parse(row));
}

/**
 * Turns automatic purchases on, with other terms, or again after they stopped.
 *
 * @throws {AccountError} If a number is out of range.
 */
export async function turnOn(
  { database, now, livemode }: Pick<NewsParts, "database" | "now" | "livemode">,
  account: Account,
  { belowCredits, offer, maxPerMonth }: {
    readonly belowCredits: number;
    readonly offer: CreditPackage;
    readonly maxPerMonth: number;
  },
): Promise<void> {
  if (belowCredits < 1 || belowCredits > 1e12) {
    throw new AccountError("The balance to top up at must be at least 1 credit");
  }
  if (offer.credits !== null && belowCredits > offer.credits) {
    throw new AccountError(
      `The balance to top up at must not be above the ${
        offer.credits.toLocaleString("en-US")
      } credits that are bought`,
    );
  }
  if (maxPerMonth < 1 || maxPerMonth > MAX_PER_MONTH) {
    throw new AccountError(`Purchases per month must be 1 to ${MAX_PER_MONTH}`);
  }
  await database.batch([{
    sql:
      `insert into top_ups (account_id, is_on, below_credits, package_id, max_per_month, livemode,
        changed_at_ms) values (?1, 1, ?2, ?3, ?4, ?5, ?6)
      on conflict (account_id) do update set is_on = 1, below_credits = ?2, package_id = ?3,
        max_per_month = ?4, stopped = '', stopped_at_ms = null, changed_at_ms = ?6,
        customer_id = ${iif("top_ups.livemode = ?5", "top_ups.customer_id", "null")},
        payment_method_id = ${iif("top_ups.livemode = ?5", "top_ups.payment_method_id", "null")},
        livemode = ?5`,
    args: [account.id, belowCredits, offer.id, maxPerMonth, livemode ? 1 : 0, now()],
  }]);
}

/** The statement that turns off automatic purchases of an account, and forgets the payment method. */
export function topUpOff(accountId: string, nowMs: number): Statement {
  return {
    sql: `update top_ups set is_on = 0, customer_id = null, payment_method_id = null, stopped = '',
      stopped_at_ms = null, changed_at_ms = ? where account_id = ?`,
    args: [nowMs, accountId],
  };
}

/**
 * Buys for the accounts whose balance is low. Several gateways may do so at once: an account's n-th purchase of a month is
 * one order, and its ID is the idempotency key of its payment.
 *
 * @returns How many purchases were paid.
 */
export async function runTopUps(parts: TopUpParts): Promise<number> {
  const { database, livemode } = parts;
  const rows = await database.all(
    `select * from top_ups where is_on = 1 and stopped = '' and livemode = ?
      order by random() limit ?`,
    [livemode ? 1 : 0, MAX_ACCOUNTS],
  );
  const balances = await balancesOf(database, rows.map(({ account_id }) => String(account_id)));
  let paid = 0;
  for (const row of rows) {
    const accountId = String(row.account_id);
    const { balance } = balances.get(accountId) ?? { balance: Infinity };
    try {
      const method = await methodOf(parts, row);
      if (method === undefined) continue;
      const pending = await pendingOrder(parts, accountId);
      if (pending === undefined && balance >= Number(row.below_credits)) continue;
      if (await failedSince(parts, accountId, Number(row.changed_at_ms))) continue;
      const order = pending ?? await nextOrder(parts, accountId, row);
      if (order !== undefined && await charge(parts, order, method)) paid++;
    } catch (error) {
      if (error instanceof AccountError) {
        await stop(parts, { accountId, orderId: undefined, why: error.message });
      } else if (error instanceof StripeError) {
        parts.log.warn("automatic top-up postponed", { account: accountId, error: error.message });
        if (error.isPassing) break; // the next run tries again
      } else throw error;
    }
  }
  return paid;
}

interface Method {
  readonly customerId: string;
  readonly methodId: string;
}

type Row = Readonly<Record<string, string | number | null>>;

/** The saved payment method; of the first payment after it was turned on that was to save one, if it is not known yet. */
async function methodOf(
  { database, client, now }: TopUpParts,
  row: Row,
): Promise<Method | undefined> {
  // both come and go together
  if (row.payment_method_id !== null) {
    return { customerId: String(row.customer_id), methodId: String(row.payment_method_id) };
  }
  const accountId = String(row.account_id);
  const all = await database.all(
    `select payment_id, checkout_options from orders where account_id = ? and provider = 'stripe'
        and livemode = ? and paid_at_ms is not null and created_at_ms >= ? - 1000
      order by paid_at_ms desc limit ?`,
    [accountId, row.livemode ?? 1, row.changed_at_ms ?? 0, MAX_PURCHASES],
  );
  const paid = all.find(({ checkout_options: options }) => savesMethod(options));
  if (paid === undefined) return undefined;
  const intent = await client.paymentIntent(String(paid.payment_id));
  const { customer, payment_method: method } = intent;
  if (customer === undefined || method === undefined) {
    throw new AccountError("The payment method was not saved with the payment");
  }
  await database.batch([{
    sql: `update top_ups set customer_id = ?, payment_method_id = ?
      where account_id = ? and is_on = 1 and changed_at_ms = ?`,
    args: [customer, method, accountId, row.changed_at_ms ?? now()],
  }]);
  return { customerId: customer, methodId: method };
}

/** An order of this mode that waits: one of the other mode would be paid, and give no credits. */
async function pendingOrder(
  { database, livemode }: TopUpParts,
  accountId: string,
): Promise<Order | undefined> {
  const [row] = await database.all(
    `select reference from orders where account_id = ? and origin = 'top_up' and state = 'open'
        and livemode = ? order by created_at_ms limit 1`,
    [accountId, livemode ? 1 : 0],
  );
  return row === undefined ? undefined : await orderOfReference(database, {
    accountId,
    provider: "stripe",
    reference: String(row.reference),
  });
}

/** Whether an automatic purchase has failed since it was turned on; then it stops. */
async function failedSince(
  parts: TopUpParts,
  accountId: string,
  sinceMs: number,
): Promise<boolean> {
  const [row] = await parts.database.all(
    `select id from orders where account_id = ? and origin = 'top_up' and state = 'failed'
      and created_at_ms >= ? limit 1`,
    [accountId, sinceMs],
  );
  if (row === undefined) return false;
  await stop(parts, { accountId, orderId: String(row.id), why: "The payment failed" });
  return true;
}

/** Makes the next purchase of this month; `undefined` if there is to be none. */
async function nextOrder(
  parts: TopUpParts,
  accountId: string,
  row: Row,
): Promise<Order | undefined> {
  const { database, now, packages, currency, livemode, accounts } = parts;
  if (await isDisputed(database, accountId) || await debtOf(database, accountId) > 0) {
    throw new AccountError("A payment of this account was refunded or disputed");
  }
  const nowMs = now();
  const month = new Date(nowMs).toISOString().slice(0, 7);
  const [counted] = await database.all(
    `select count(*) as n from orders where account_id = ? and origin = 'top_up'
      and reference like ?`,
    [accountId, `top-up ${month} %`],
  );
  const count = Number(counted?.n ?? 0);
  if (count >= Number(row.max_per_month)) return undefined;
  const offer = packages.find(({ id }) => id === row.package_id);
  if (offer === undefined) throw new AccountError(`Package ${row.package_id} is not sold any more`);
  const account = await accounts.byId(accountId);
  if (account?.disabledAtMs !== null) return undefined;
  const terms = termsOf(account, offer, {
    provider: "stripe",
    origin: "top_up",
    reference: `top-up ${month} ${count + 1}`,
    currency,
    livemode,
    atMs: nowMs,
  });
  const isLow = hasLessThan(accountId, Number(row.below_credits));
  await database.batch([
    orderStatement(terms, {
      // not if another gateway has bought since: the balance was read before
      sql: `${isLow.sql} and not exists (
        select 1 from orders as others where others.account_id = ? and others.origin = 'top_up'
          and others.state = 'open' and others.livemode = ?)`,
      args: [...isLow.args, accountId, livemode ? 1 : 0],
    }),
  ]);
  const order = await orderOfReference(database, terms);
  return order?.state === "open" ? order : undefined;
}

/** Charges the saved method. Returns whether the order was paid. */
async function charge(
  parts: TopUpParts,
  order: Order,
  { customerId, methodId }: Method,
): Promise<boolean> {
  const { client, database, now } = parts;
  /** Closes the order and stops automatic purchases. */
  const fail = async (detail: string, why: string) => {
    await closeOrder(parts, order, { state: "failed", causeId: order.id, detail });
    await stop(parts, { accountId: order.accountId, orderId: order.id, why });
    return false;
  };
  // what was made, such as a bank debit that takes days, is looked at; only making it needs the idempotency key
  const made = order.sessionId;
  if (made === null && now() - order.createdAtMs > RETRY_MS) {
    return await fail(
      "the payment service could not be reached for too long",
      "The payment service could not be reached",
    );
  }
  try {
    const intent = made !== null
      ? await client.paymentIntent(made)
      : await client.createPaymentIntent({
        amount: order.amount ?? 0,
        currency: order.currency,
        customer: customerId,
        payment_method: methodId,
        off_session: true,
        confirm: true,
        description: order.packageName,
        metadata: orderMetadata(order),
      }, order.id);
    await database.batch([{
      sql: "update orders set session_id = coalesce(session_id, ?) where id = ?",
      args: [intent.id, order.id],
    }]);
    const { order: after } = await applyIntent(parts, intent, {
      hasFailed: intent.status !== "processing",
    });
    if (after?.state === "failed") {
      const why = failureWords(`it is ${intent.status}`);
      await stop(parts, { accountId: order.accountId, orderId: order.id, why });
    }
    return (after?.paidAtMs ?? null) !== null;
  } catch (error) {
    if (!(error instanceof StripeError) || error.isPassing) throw error;
    return await fail(error.message, failureWords(error.code));
  }
}

function failureWords(why: string): string {
  return `The payment failed (${why.replaceAll("_", " ")})`;
}

async function stop(
  { database, now, stopped }: TopUpParts,
  { accountId, orderId, why }: Parameters<TopUpStopped>[0],
): Promise<void> {
  const [rows] = await database.batch([{
    sql: `update top_ups set stopped = ?, stopped_at_ms = ?
      where account_id = ? and stopped = '' and is_on = 1 returning account_id`,
    args: [why, now(), accountId],
  }]);
  if (rows!.length > 0) stopped({ accountId, orderId, why });
}
