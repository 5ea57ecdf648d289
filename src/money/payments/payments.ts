import * as z from "zod";
import { type Account, AccountError, type Accounts } from "../../people/accounts/mod.ts";
import { type PaymentSettings, priceIn, type ProxySettings } from "../../settings/config/mod.ts";
import type { Database } from "../../ground/database/mod.ts";
import { RateLimit } from "../../ground/rate_limits/mod.ts";
import { applyEvent, EVENT_TYPES } from "./apply_event.ts";
import { applyIntent, applySession, closeOrder, type NewsParts } from "./apply_news.ts";
import {
  type Checkout,
  type CheckoutOptions,
  type CreditPackage,
  makeOrder,
  openCheckout,
  type OrderRequest,
  packageOf,
  referenceOf,
} from "./checkout.ts";
import { contactStatement } from "./health.ts";
import { lookedStatements, openOrders, type Order, orderById, orderOfReference } from "./orders.ts";
import { refundOrder, type RefundRequest } from "./refund.ts";
import { collectReleased } from "./settle_payment.ts";
import { StripeClient, StripeError } from "./stripe_client.ts";
import { stripeEvent } from "./stripe_objects.ts";
import { logStopped, runTopUps, type TopUp, topUpOf, topUpOff, turnOn } from "./top_up.ts";
import { respondToWebhook, type WebhookOutcome } from "./webhook.ts";

/** Dependencies of {@linkcode Payments}. */
export interface PaymentsParts extends Omit<NewsParts, "livemode"> {
  readonly accounts: Pick<Accounts, "byId">;
  readonly settings: PaymentSettings;
  readonly proxies?: ProxySettings;
  readonly packages: readonly CreditPackage[];
  /** Counts what became of calls of the webhook. */
  readonly counted?: (outcome: WebhookOutcome) => void;
  /** Aborted when the gateway closes. */
  readonly closing?: AbortSignal | undefined;
}

/** What a look at Stripe found. */
export const reconciledShape = z.strictObject({
  asked: z.int().describe("Open orders that were asked about."),
  changed: z.int().describe("Orders that were found paid, expired or failed."),
  events: z.int().describe("Events that no webhook had brought."),
  collected: z.int().describe("Orders whose withheld credits have now been collected."),
  orphans: z.array(z.string()).describe(
    "Payments of orders that there are not, as after a backup was restored.",
  ),
  faults: z.array(z.string()).describe("What could not be asked, and why."),
});

type Reconciled = z.output<typeof reconciledShape>;

/** Younger open orders are left to the webhook. */
const SWEEP_AFTER_MS = 10 * 60_000;
/** Sessions end within an hour; delayed methods take days. */
const SWEEP_UNTIL_MS = 30 * 86_400_000;
const SWEEP_ORDERS = 50;
/** An order whose checkout, or automatic payment, was never made. */
const ABANDONED_MS = 86_400_000;
const COLLECT_ORDERS = 100;
/** Calls of the payment service that the pages of one account may make within a minute. */
const MAX_ASKED = 20;
const ASKED_MS = 60_000;

/** Sells packages: checkouts, webhooks, sweeps and refunds. All of them end in one way to pay an order. */
export class Payments {
  readonly #parts: PaymentsParts;
  readonly #client: StripeClient | undefined;
  /** Calls of the payment service that pages have made, by account. */
  readonly #asked: RateLimit;
  /** Whether payments are real. */
  readonly livemode: boolean;

  /** @param like Payments of which the client and the counts are shared. */
  constructor(parts: PaymentsParts, like?: Payments) {
    this.#parts = parts;
    this.#asked = like === undefined
      ? new RateLimit({ limit: MAX_ASKED, windowMs: ASKED_MS, now: parts.now })
      : like.#asked;
    const { stripe } = parts.settings;
    const key = stripe?.secretKey.reveal() ?? "";
    // a command may run without the variable that the key comes from
    const isKnown = /^(?:sk|rk)_(?:test|live)_/.test(key);
    this.#client = like !== undefined
      ? like.#client
      : stripe && isKnown
      ? new StripeClient({ ...stripe, proxies: parts.proxies, closing: parts.closing })
      : undefined;
    this.livemode = !/^(?:sk|rk)_test_/.test(key);
  }

  /** The same on another database, such as one whose writes are logged. */
  on(database: Database): Payments {
    return new Payments({ ...this.#parts, database }, this);
  }

  /** Whether packages are sold online. */
  get isOnline(): boolean {
    return this.#client !== undefined;
  }

  /** Whom to ask about buying credits, if the settings say so. */
  get contact(): string | undefined {
    return this.#parts.settings.contact;
  }

  /** Currency that packages are sold in. */
  get currency(): string {
    return this.#parts.settings.stripe?.currency ?? "usd";
  }

  /** Price of a package online, in minor units; `null` if it is not sold online. */
  priceOf(offer: CreditPackage): number | null {
    if (!this.isOnline || offer.credits === null) return null;
    return priceIn(offer, this.currency) || null;
  }

  /**
   * Makes an order of a package. Nothing is asked of the payment service yet.
   *
   * @param account The payer: it gets the credits.
   * @param request A reference (the same one makes one order), and who buys.
   * @throws {AccountError} If it cannot be bought now; the message says why.
   */
  async order(account: Account, packageId: string, request: OrderRequest): Promise<Order> {
    this.#mustBeOnline();
    const offer = packageOf(this.#parts.packages, packageId);
    return await makeOrder({ ...this.#news, currency: this.currency }, account, offer, request);
  }

  /** Gets the order that an account has made with a reference. */
  async orderOf(account: Account, request: OrderRequest): Promise<Order | undefined> {
    return await orderOfReference(this.#parts.database, {
      accountId: account.id,
      provider: "stripe",
      reference: referenceOf(request),
    });
  }

  /**
   * Makes the checkout where an order is paid. The same order has the same one.
   *
   * @throws {AccountError} If it cannot be paid now; the message says why.
   */
  async open(order: Order, options: CheckoutOptions): Promise<Checkout> {
    const client = this.#mustBeOnline();
    return await openCheckout({ ...this.#news, client, currency: this.currency }, order, options);
  }

  /**
   * Asks the payment service what has become of an open order, and pays it if it was paid.
   *
   * @returns The order as it is then. If the service cannot be asked, as it was.
   */
  async refresh(order: Order): Promise<Order> {
    if (order.state !== "open" || this.#client === undefined) return order;
    // a page that is loaded again and again is no reason to call the service each time
    if (this.#asked.waitMs(order.accountId) > 0) return order;
    this.#asked.add(order.accountId);
    try {
      return await this.#ask(order);
    } catch (error) {
      if (!(error instanceof StripeError)) throw error;
      this.#parts.log.warn("order not refreshed", { order: order.id, error: error.message });
      return order;
    }
  }

  /**
   * Asks about an order that was not paid, also if it expired or failed.
   *
   * @throws {AccountError} If the payment service cannot be asked; the message says why.
   */
  async ask(order: Order): Promise<Order> {
    try {
      return await this.#ask(order);
    } catch (error) {
      if (!(error instanceof StripeError)) throw error;
      throw new AccountError(error.message, { cause: error });
    }
  }

  /** Handles a call of the webhook; `undefined` if there is none, as payments are not configured. */
  webhook(request: Request): Promise<Response> | undefined {
    const { stripe } = this.#parts.settings;
    if (stripe === undefined) return undefined;
    return respondToWebhook({
      ...this.#news,
      webhookSecret: stripe.webhookSecret,
      counted: this.#parts.counted ?? (() => {}),
    }, request);
  }

  /**
   * Looks for what webhooks have lost: asks about open orders that are older than ten minutes, and takes back what
   * in-flight requests held when a refund came.
   *
   * @param options Whether younger orders are asked about too, and since when events are read; none are by default.
   */
  async reconcile(
    { younger = false, eventsSinceMs, limit = SWEEP_ORDERS }: {
      readonly younger?: boolean;
      readonly eventsSinceMs?: number | undefined;
      readonly limit?: number;
    } = {},
  ): Promise<Reconciled> {
    const { database, now } = this.#parts;
    const faults: string[] = [];
    let asked = 0;
    let changed = 0;
    let read = { events: 0, orphans: [] as string[] };
    const nowMs = now();
    if (this.#client !== undefined) {
      const open = await openOrders(database, {
        livemode: this.livemode,
        fromMs: nowMs - SWEEP_UNTIL_MS,
        untilMs: younger ? nowMs + 1 : nowMs - SWEEP_AFTER_MS,
        limit,
      });
      for (const order of open) {
        asked++;
        try {
          if ((await this.#ask(order)).state !== order.state) changed++;
        } catch (error) {
          if (!(error instanceof StripeError)) throw error;
          faults.push(`${order.id}: ${error.message}`);
          if (error.isPassing) break; // the next sweep asks again
        }
      }
    }
    if (this.#client !== undefined && eventsSinceMs !== undefined) {
      try {
        read = await this.#readEvents(this.#client, eventsSinceMs);
      } catch (error) {
        if (!(error instanceof StripeError)) throw error;
        faults.push(`events: ${error.message}`);
      }
    }
    const collected = await collectReleased(database, { nowMs, limit: COLLECT_ORDERS });
    return { asked, changed, ...read, collected, faults };
  }

  /** Notes that a sweep has succeeded, if packages are sold online. */
  async swept(): Promise<void> {
    if (!this.isOnline) return;
    const { database, now } = this.#parts;
    const { livemode } = this;
    await database.batch([contactStatement("sweep", { livemode, atMs: now() })]);
  }

  /**
   * Refunds an order, or a part of it.
   *
   * @throws {AccountError} If that cannot be done; the message says why.
   */
  async refund(order: Order, request: RefundRequest): Promise<Order> {
    return await refundOrder({ ...this.#news, client: this.#client }, order, request);
  }

  /** Notes that an operator has looked at an order that did not fit its payment. */
  async looked(order: Order): Promise<void> {
    const { database, now } = this.#parts;
    await database.batch(lookedStatements(order, now()));
  }

  /** Gets an account's automatic purchases; `undefined` if they were never on. */
  async topUp(account: Account): Promise<TopUp | undefined> {
    return await topUpOf(this.#parts.database, account.id);
  }

  /**
   * Turns an account's automatic purchases on. They begin when a payment method was saved, by a checkout that does so.
   *
   * @throws {AccountError} If the package is not sold, or a number is out of range.
   */
  async turnOnTopUp(
    account: Account,
    { belowCredits, packageId, maxPerMonth }: {
      readonly belowCredits: number;
      readonly packageId: string;
      readonly maxPerMonth: number;
    },
  ): Promise<TopUp | undefined> {
    this.#mustBeOnline();
    const offer = packageOf(this.#parts.packages, packageId);
    if (this.priceOf(offer) === null) {
      throw new AccountError(`Package ${offer.id} is not sold online`);
    }
    await turnOn(this.#news, account, { belowCredits, offer, maxPerMonth });
    return await this.topUp(account);
  }

  /** Turns an account's automatic purchases off, and forgets its payment method. */
  async turnOffTopUp(account: Account): Promise<void> {
    const { database, now } = this.#parts;
    await database.batch([topUpOff(account.id, now())]);
  }

  /** Buys for the accounts whose balance is low. @returns How many purchases were paid. */
  async runTopUps(): Promise<number> {
    if (this.#client === undefined) return 0;
    const { accounts, packages, log } = this.#parts;
    return await runTopUps({
      ...this.#news,
      accounts,
      packages,
      client: this.#client,
      currency: this.currency,
      stopped: logStopped(log),
    });
  }

  async #ask(order: Order): Promise<Order> {
    const { database, now } = this.#parts;
    const client = this.#mustBeOnline();
    if (order.paidAtMs !== null || order.provider !== "stripe") return order;
    if (order.livemode !== this.livemode) return order;
    const isAutomatic = order.origin === "top_up";
    if (order.sessionId === null) {
      if (now() - order.createdAtMs < ABANDONED_MS) return order;
      const closed = await closeOrder(this.#news, order, {
        state: "expired",
        causeId: order.id,
        // of an automatic purchase too, should it have been turned off: turned on again, it would fail by its age
        detail: isAutomatic ? "no payment was made" : "no checkout was made",
      });
      return closed.order ?? order;
    }
    if (isAutomatic) await applyIntent(this.#news, await client.paymentIntent(order.sessionId));
    else await applySession(this.#news, await client.session(order.sessionId));
    return await orderById(database, order.id) ?? order;
  }

  /** Applies the events that no webhook has brought, oldest first. */
  async #readEvents(
    client: StripeClient,
    sinceMs: number,
  ): Promise<Pick<Reconciled, "events" | "orphans">> {
    const { events, isWhole } = await client.events(sinceMs, EVENT_TYPES);
    if (!isWhole) this.#parts.log.warn("not all events were read", { events: events.length });
    let count = 0;
    const orphans = new Set<string>(); // a payment has several events
    for (const one of events.toReversed()) {
      const event = stripeEvent.safeParse(one);
      if (!event.success || !EVENT_TYPES.includes(event.data.type)) continue;
      const { outcome, orphan } = await applyEvent(this.#news, event.data);
      if (outcome !== "repeated") count++;
      if (orphan !== undefined) orphans.add(orphan);
    }
    return { events: count, orphans: [...orphans] };
  }

  get #news(): NewsParts {
    const { database, log, now, bonusCredits } = this.#parts;
    return { database, log, now, bonusCredits, livemode: this.livemode };
  }

  #mustBeOnline(): StripeClient {
    if (this.#client !== undefined) return this.#client;
    throw new AccountError("Online payment is not configured: set payments.stripe");
  }
}
