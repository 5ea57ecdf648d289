import * as z from "zod";
import { type Account, AccountError, mustNotMislead } from "../../people/accounts/mod.ts";
import { priceIn } from "../../settings/config/mod.ts";
import type { Condition, Database } from "../../ground/database/mod.ts";
import { newId } from "../../ground/platform/mod.ts";
import { closeOrder, type NewsParts } from "./apply_news.ts";
import { orderMetadata } from "./check_session.ts";
import {
  isDisputed,
  type NewOrder,
  type Order,
  orderById,
  orderOfReference,
  orderStatement,
} from "./orders.ts";
import { type StripeClient, StripeError } from "./stripe_client.ts";

/** A package of credits to buy (`packages` in the settings). */
export interface CreditPackage {
  readonly id: string;
  readonly name: string;
  /** `null`: by agreement. */
  readonly credits: number | null;
  readonly priceUsd: number | null;
  /** Days until the remaining credits expire; `null`: never. */
  readonly validDays: number | null;
  /** What the credits pay for: IDs of routes and prefixes ending in `*`; all models if left out. */
  readonly models?: readonly string[] | undefined;
  /** Prices in other currencies. */
  readonly prices?: Readonly<Record<string, number>> | undefined;
}

/**
 * Finds a package by its ID.
 *
 * @throws {AccountError} If there is none.
 */
export function packageOf(packages: readonly CreditPackage[], id: string): CreditPackage {
  const found = packages.find((one) => one.id === id);
  if (found !== undefined) return found;
  const known = packages.map((one) => one.id).join(", ");
  throw new AccountError(
    `Unknown package ${JSON.stringify(id.slice(0, 40))}. Available packages: ${known}`,
  );
}

/** How long a customer may take to pay. */
const SESSION_MS = 60 * 60_000;
/** The service wants at least 30 minutes: an order that is older cannot get a session any more. */
const SESSION_FROM_MS = 25 * 60_000;
/** Max open orders of an account within an hour. */
const MAX_OPEN = 20;
const MAX_REFERENCE = 150;
const MAX_NOTE = 500;

/** A checkout that can be paid. */
export interface Checkout {
  readonly order: Order;
  /** Where the customer pays. */
  readonly url: string;
}

/** Dependencies of {@linkcode startCheckout}. */
export interface CheckoutParts extends NewsParts {
  readonly client: StripeClient;
  readonly currency: string;
}

/**
 * Makes the terms of an order of a package.
 *
 * @throws {AccountError} If the package has no fixed number of credits or no price in the currency.
 */
export function termsOf(
  account: Account,
  offer: CreditPackage,
  { id = newId("ord"), note = offer.name, ...terms }:
    & Pick<NewOrder, "provider" | "origin" | "reference" | "currency" | "livemode" | "atMs">
    & { readonly id?: string | undefined; readonly note?: string | undefined },
): NewOrder {
  const amount = priceIn(offer, terms.currency);
  if (offer.credits === null || amount === null || amount === 0) {
    throw new AccountError(`Package ${offer.id} is not sold online`);
  }
  return {
    id,
    accountId: account.id,
    packageId: offer.id,
    packageName: offer.name,
    credits: offer.credits,
    validDays: offer.validDays,
    models: offer.models,
    amount,
    lotId: `lot_${id}`,
    note,
    ...terms,
  };
}

/** What a repeated form must find unchanged. */
const COMPARED = ["packageId", "credits", "validDays", "amount", "currency", "livemode"] as const;

/** What is bought, for whom. */
export interface OrderRequest {
  /** ID of the order, if it is a new one. */
  readonly id?: string | undefined;
  readonly origin: "console" | "command" | "operator";
  /** The same reference makes one order of a payer. */
  readonly reference: string;
  /** Who buys for another account, such as a lead for a team's pool. */
  readonly buyer?: Account | undefined;
}

const checkoutOptions = z.object({
  /** Base URL of this gateway, without a trailing slash. */
  returnTo: z.string(),
  /** The customer's email address, if there is one. */
  email: z.string().optional(),
  /** Whether the payment method is kept for automatic purchases. */
  savesMethod: z.boolean().optional(),
}).readonly();

/** How an order is paid. */
export type CheckoutOptions = z.output<typeof checkoutOptions>;

/** The reference of an order that is paid online. */
export function referenceOf({ origin, reference }: OrderRequest): string {
  return `${origin} ${reference}`;
}

/**
 * Makes an order. It is stored before the payment service is asked, so that no payment can be without one.
 *
 * @param account The payer: it gets the credits.
 * @returns The new order, or that of the same reference.
 * @throws {AccountError} If the package is not sold, or the account is disputing a payment.
 */
export async function makeOrder(
  { database, currency, livemode, now }: Omit<CheckoutParts, "client">,
  account: Account,
  offer: CreditPackage,
  request: OrderRequest,
): Promise<Order> {
  const { id, origin, reference, buyer } = request;
  if (reference === "" || reference.length > MAX_REFERENCE) {
    throw new AccountError(`The reference must be 1 to ${MAX_REFERENCE} characters long`);
  }
  mustNotMislead("reference", reference);
  const terms = termsOf(account, offer, {
    id,
    provider: "stripe",
    origin,
    reference: referenceOf(request),
    currency,
    livemode,
    note: buyer === undefined || buyer.id === account.id
      ? offer.name
      : `${offer.name}, ordered by ${buyer.email}`.slice(0, MAX_NOTE),
    atMs: now(),
  });
  if (await isDisputed(database, account.id)) {
    throw new AccountError(
      account.kind === "pool"
        ? "A payment of this team is being disputed: no purchases until that is decided"
        : "A payment of this account is being disputed: no purchases until that is decided",
    );
  }
  await database.batch([orderStatement(terms, hasFewOpen(account, now()))]);
  const order = await orderOfReference(database, terms);
  if (order === undefined) {
    throw new AccountError("Too many checkouts were started within an hour. Try again later");
  }
  // also after a reload of other settings: nobody pays what the page did not show, nor in the other mode
  const isOther = COMPARED.some((name) => order[name] !== terms[name]) ||
    JSON.stringify(order.models) !== JSON.stringify(terms.models ?? null);
  if (isOther) {
    throw new AccountError(
      "This form was used for another package, or the package has changed. Reload the page, and try again",
    );
  }
  return order;
}

/**
 * Makes the checkout of an order, once: the same order has the same one, with the options that were given first.
 *
 * @throws {AccountError} If the order cannot be paid any more, or the payment service cannot be used now.
 */
export async function openCheckout(
  parts: CheckoutParts,
  order: Order,
  options: CheckoutOptions,
): Promise<Checkout> {
  const { database, client, now } = parts;
  if (order.sessionUrl !== null && order.state === "open") return { order, url: order.sessionUrl };
  if (order.state !== "open" || now() - order.createdAtMs > SESSION_FROM_MS) {
    throw new AccountError("This checkout is over. Reload the page to start another one");
  }
  const asked = await noteOptions(database, order, options);
  try {
    const { id, url } = await client.createSession(sessionParameters(order, asked), order.id);
    if (!client.isCheckoutAddress(url)) {
      throw new StripeError(502, "no_url", "The payment service sent no address to pay at");
    }
    await noteSession(database, order, { id, url, atMs: now() });
    return { order: await orderById(database, order.id) ?? order, url };
  } catch (error) {
    if (!(error instanceof StripeError)) throw error;
    parts.log.warn("checkout not started", { order: order.id, error: error.message });
    // asked for with other parameters, as by a gateway of an earlier version: there is a checkout
    const isMade = error.code === "idempotency_error";
    const other = isMade ? await orderById(database, order.id) : undefined;
    if (other?.state === "open" && other.sessionUrl !== null) {
      return { order: other, url: other.sessionUrl };
    }
    if (!error.isPassing && !isMade) {
      await closeOrder(parts, order, {
        state: "failed",
        causeId: order.id,
        detail: error.message,
      });
    }
    throw new AccountError(
      "The payment service cannot be used right now. Nothing was charged. Try again in a few minutes",
      { cause: error },
    );
  }
}

/** What a Checkout session is created with. The same order has the same parameters, as its idempotency key demands. */
function sessionParameters(
  order: Order,
  { email, returnTo, savesMethod = false }: CheckoutOptions,
) {
  const metadata = orderMetadata(order);
  const page = `${returnTo}/console/orders/${order.id}`;
  return {
    mode: "payment",
    line_items: [{
      quantity: 1,
      price_data: {
        currency: order.currency,
        unit_amount: order.amount ?? 0,
        product_data: {
          name: `${order.packageName}: ${order.credits.toLocaleString("en-US")} credits`,
        },
      },
    }],
    client_reference_id: order.id,
    customer_email: email === undefined || email.includes("@localhost") ? undefined : email,
    metadata,
    payment_intent_data: {
      metadata,
      setup_future_usage: savesMethod ? "off_session" : undefined,
    },
    customer_creation: savesMethod ? "always" : undefined,
    adaptive_pricing: { enabled: false }, // amounts are compared in our currency
    expires_at: Math.floor((order.createdAtMs + SESSION_MS) / 1_000),
    success_url: `${page}?session={CHECKOUT_SESSION_ID}`,
    cancel_url: `${page}?cancelled=1`,
  };
}

/**
 * Notes how a checkout is asked for, before it is. After a crash, or at another gateway, the address of the gateway may be another;
 * the service rejects a repeated call whose parameters differ (https://docs.stripe.com/api/idempotent_requests).
 *
 * @returns The options that were noted first.
 */
async function noteOptions(
  database: Database,
  { id }: Order,
  options: CheckoutOptions,
): Promise<CheckoutOptions> {
  const [rows] = await database.batch([{
    sql: `update orders set checkout_options = coalesce(checkout_options, ?) where id = ?
      returning checkout_options`,
    args: [JSON.stringify(options), id],
  }]);
  return checkoutOptions.parse(JSON.parse(String(rows![0]!.checkout_options)));
}

/** Whether noted options keep the payment method. */
export function savesMethod(noted: unknown): boolean {
  return typeof noted === "string" && checkoutOptions.parse(JSON.parse(noted)).savesMethod === true;
}

async function noteSession(
  database: Database,
  order: Order,
  { id, url, atMs }: { readonly id: string; readonly url: string; readonly atMs: number },
): Promise<void> {
  await database.batch([
    {
      sql: `insert into order_events (id, kind, cause_id, order_id, at_ms)
        values (?, 'session', ?, ?, cast(? as bigint)) on conflict (id) do nothing`,
      args: [`session:${id}`, id, order.id, atMs],
    },
    {
      sql: "update orders set session_id = coalesce(session_id, ?), session_url = ? where id = ?",
      args: [id, url, order.id],
    },
  ]);
}

/** Nobody needs many at once; each is a call of the payment service. */
function hasFewOpen(account: Account, nowMs: number): Condition {
  return {
    sql: `(select count(*) from orders as others where others.account_id = ?
      and others.created_at_ms > ? and others.state in ('open', 'failed')) < ${MAX_OPEN}`,
    args: [account.id, nowMs - SESSION_MS],
  };
}
