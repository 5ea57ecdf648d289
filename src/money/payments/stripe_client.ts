import { jsonIn } from "../../ground/platform/mod.ts";
import type * as z from "zod";
import { proxyOf, type ProxySettings, type Secret } from "../../settings/config/mod.ts";
import { exchange, ProxyFault } from "../../ground/ways_out/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import {
  type CheckoutSession,
  checkoutSession,
  eventList,
  identified,
  type PaymentIntent,
  paymentIntent,
  type RefundObject,
  refundObject,
  stripeFailure,
} from "./stripe_objects.ts";

/** The version of the API that the objects in `stripe_objects.ts` are of. */
export const API_VERSION = "2026-10-28.endive";

const TIMEOUT_MS = 10_000;
const RETRY_MS = 300;
const MAX_REPLY_BYTES = 2_097_152;
/** Events of a page, and pages that are read at a time. */
const PAGE_EVENTS = 100;
const MAX_PAGES = 10;

/** Parameters of a call; objects and lists become brackets. */
export interface Parameters {
  readonly [name: string]:
    | string
    | number
    | boolean
    | undefined
    | Parameters
    | readonly Parameters[]
    | readonly string[];
}

/** Thrown when the payment service cannot be reached, or rejects a call. Its message holds no secret. */
export class StripeError extends Error {
  override readonly name = "StripeError";
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  /** The service's own code, such as `card_declined`. */
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }

  /** Whether the same call may succeed later: no response, a failure of the service, or too many calls. */
  get isPassing(): boolean {
    return this.status === 0 || this.status >= 500 || this.status === 429 || this.status === 409;
  }
}

/** Whether an error is, or was caused by, a payment service that cannot be used now: the same may succeed later. */
export function isServiceDown(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return cause instanceof StripeError && cause.isPassing;
}

/**
 * Encodes parameters as the API takes them: `line_items[0][quantity]=1`.
 *
 * @param parameters Parameters; those that are `undefined` are left out.
 */
export function encodeForm(parameters: Parameters): URLSearchParams {
  const form = new URLSearchParams();
  const add = (name: string, value: Parameters[string]) => {
    if (value === undefined) return;
    if (Array.isArray(value)) return value.forEach((one, at) => add(`${name}[${at}]`, one));
    if (typeof value === "object") {
      for (const [inner, one] of Object.entries(value)) add(`${name}[${inner}]`, one);
      return;
    }
    form.append(name, String(value));
  };
  for (const [name, value] of Object.entries(parameters)) add(name, value);
  return form;
}

/** The few calls of Stripe's API that are needed. Each is bounded in time and size. */
export class StripeClient {
  readonly #base: string;
  readonly #key: Secret;
  readonly #proxies: ProxySettings | undefined;
  /** Aborted when the gateway closes. */
  readonly #closing: AbortSignal | undefined;

  constructor(
    { apiBase, secretKey, proxies, closing }: {
      readonly apiBase: string;
      readonly secretKey: Secret;
      readonly proxies?: ProxySettings | undefined;
      readonly closing?: AbortSignal | undefined;
    },
  ) {
    this.#base = apiBase.replace(/\/+$/, "");
    this.#key = secretKey;
    this.#proxies = proxies;
    this.#closing = closing;
  }

  /** Whether an address is one that customers may be sent to: of any host, as checkouts may have a domain of their own. */
  isCheckoutAddress(address: string | null | undefined): address is string {
    const url = URL.parse(address ?? "");
    if (url === null) return false;
    // a fake on loopback has no certificate
    const isSafe = url.protocol === "https:" || url.origin === new URL(this.#base).origin;
    return isSafe && url.username === "" && url.password === "";
  }

  /**
   * Creates a Checkout session, once per idempotency key.
   *
   * @throws {StripeError} If it was not created.
   */
  createSession(parameters: Parameters, idempotencyKey: string): Promise<CheckoutSession> {
    return this.#call(checkoutSession, "/v1/checkout/sessions", { parameters, idempotencyKey });
  }

  /** Gets a Checkout session. @throws {StripeError} If it cannot be read. */
  session(id: string): Promise<CheckoutSession> {
    return this.#call(checkoutSession, `/v1/checkout/sessions/${encodeURIComponent(id)}`);
  }

  /** Charges a saved payment method, once per idempotency key. @throws {StripeError} If that fails. */
  createPaymentIntent(parameters: Parameters, idempotencyKey: string): Promise<PaymentIntent> {
    return this.#call(paymentIntent, "/v1/payment_intents", { parameters, idempotencyKey });
  }

  /** Gets a payment intent. @throws {StripeError} If it cannot be read. */
  paymentIntent(id: string): Promise<PaymentIntent> {
    return this.#call(paymentIntent, `/v1/payment_intents/${encodeURIComponent(id)}`);
  }

  /** Refunds a payment, or a part of it, once per idempotency key. @throws {StripeError} If that fails. */
  createRefund(parameters: Parameters, idempotencyKey: string): Promise<RefundObject> {
    return this.#call(refundObject, "/v1/refunds", { parameters, idempotencyKey });
  }

  /**
   * Lists events of some types since a time, newest first, up to 1,000.
   *
   * @param sinceMs Milliseconds since the epoch.
   * @param types Up to 20, as what else an account sells has many events of its own. Default: all.
   * @throws {StripeError} If they cannot be read.
   */
  async events(
    sinceMs: number,
    types: readonly string[] = [],
  ): Promise<{ readonly events: unknown[]; readonly isWhole: boolean }> {
    const events: unknown[] = [];
    let after: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = encodeForm({
        limit: PAGE_EVENTS,
        created: { gte: Math.floor(sinceMs / 1_000) },
        starting_after: after,
        types,
      });
      const { data, has_more } = await this.#call(eventList, `/v1/events?${query}`);
      events.push(...data);
      const last = identified.safeParse(data.at(-1));
      if (!has_more || !last.success) return { events, isWhole: !has_more };
      after = last.data.id;
    }
    return { events, isWhole: false };
  }

  async #call<T>(
    schema: z.ZodType<T>,
    path: string,
    post?: { readonly parameters: Parameters; readonly idempotencyKey: string },
  ): Promise<T> {
    try {
      return await this.#once(schema, path, post);
    } catch (error) {
      if (!(error instanceof StripeError) || !error.isPassing) throw error;
      // with its idempotency key a call takes effect once, however often it is sent
      await delay(RETRY_MS);
      return await this.#once(schema, path, post);
    }
  }

  async #once<T>(
    schema: z.ZodType<T>,
    path: string,
    post?: { readonly parameters: Parameters; readonly idempotencyKey: string },
  ): Promise<T> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const signal = this.#closing === undefined
      ? timeout
      : AbortSignal.any([timeout, this.#closing]);
    const url = new URL(`${this.#base}${path}`);
    const { status, text } = await exchange({
      url,
      proxy: proxyOf(url, { proxies: this.#proxies }),
      method: post === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${this.#key.reveal()}`,
        "stripe-version": API_VERSION,
        "user-agent": "Sluice",
        ...(post && {
          "content-type": "application/x-www-form-urlencoded",
          "idempotency-key": post.idempotencyKey,
        }),
      },
      ...(post && { body: encodeForm(post.parameters).toString() }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_REPLY_BYTES,
      signal,
    }).catch((error) => {
      // any other message may name headers
      const why = error instanceof ProxyFault ? error.message : error?.name ?? "unknown";
      throw new StripeError(0, "unreachable", `The payment service cannot be reached (${why})`);
    });
    const body = jsonIn(text);
    if (status > 299) throw failureOf(status, body);
    const read = schema.safeParse(body);
    if (read.success) return read.data;
    throw new StripeError(502, "unreadable", "The payment service sent an unreadable response");
  }
}

function failureOf(status: number, body: unknown): StripeError {
  const { error } = stripeFailure.safeParse(body).data ?? { error: {} };
  const code = error.code ?? error.type ?? `http_${status}`;
  // its message may quote what was sent: kept short and on one line
  const said = (error.message ?? "").replaceAll(/(?:sk|rk|whsec)_\S+/g, "[secret]")
    .replaceAll(/\s+/g, " ").slice(0, 200);
  return new StripeError(
    status,
    code,
    `The payment service rejected the call with ${status} ${code}${said && `: ${said}`}`,
  );
}
