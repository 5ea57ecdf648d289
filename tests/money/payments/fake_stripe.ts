import { createHmac } from "node:crypto";
import Stripe from "stripe";

/** Secret key of the fake's test mode. */
export const TEST_KEY = "sk_test_51MarkedSecretKeyForTests42abcdEFGH";
/** Signing secret of the fake's webhook. */
export const WEBHOOK_SECRET = "whsec_MarkedWebhookSecretForTests1234567890";

/** An object of Stripe's API. */
export type StripeObject = Record<string, unknown> & { id: string };

/** How long a call waits, and what it gets instead of an answer. */
export type Fault = "500" | "reset" | "html";

interface Stored {
  readonly path: string;
  readonly body: string;
  readonly status: number;
  readonly reply: string;
}

/** A Stripe on loopback: Checkout, payment intents, refunds, disputes, events, idempotency keys, signed webhooks. */
export interface FakeStripe extends AsyncDisposable {
  readonly url: string;
  readonly sessions: Map<string, StripeObject>;
  readonly intents: Map<string, StripeObject>;
  readonly refunds: Map<string, StripeObject>;
  /** All events so far, oldest first. */
  readonly events: StripeObject[];
  /** Calls that were made, as method and path. */
  readonly calls: string[];
  /** What the next calls get, one after the other. */
  readonly faults: Fault[];
  /** How far its clock is ahead. */
  clockMs: number;
  /** Whether every call fails. */
  down: boolean;
  /** Whether automatic charges are declined. */
  declines: boolean;
  /** How automatic charges are left that are neither declined nor made, such as `requires_action`. */
  leaves: string | undefined;
  /** Called when a customer pays on the page of Checkout, before the redirect. */
  onPaid: ((event: StripeObject) => Promise<unknown>) | undefined;
  /** Makes an event of an object. Nothing is sent. */
  event(type: string, object: StripeObject, more?: Record<string, unknown>): StripeObject;
  /** A customer pays in Checkout. Returns the event. */
  pay(sessionId: string, options?: { readonly status?: "paid" | "unpaid" }): StripeObject;
  /** A delayed method succeeds or fails. */
  settleDelayed(sessionId: string, isPaid: boolean): StripeObject;
  /** A session is over. */
  expire(sessionId: string): StripeObject;
  /** Money is given back. Returns the refund. */
  refund(paymentIntent: string, amount?: number): StripeObject;
  /** A dispute of a payment. */
  dispute(paymentIntent: string, status: string, amount?: number): StripeObject;
}

/** Signs and sends an event, as Stripe does. */
export async function send(
  url: string,
  event: StripeObject | string,
  { secret = WEBHOOK_SECRET, timestamp, headers = {} }: {
    readonly secret?: string;
    readonly timestamp?: number;
    readonly headers?: Record<string, string>;
  } = {},
): Promise<number> {
  const payload = typeof event === "string" ? event : JSON.stringify(event, null, 2);
  const response = await fetch(`${url}/webhooks/stripe`, {
    method: "POST",
    headers: {
      "content-type": "application/json; charset=utf-8",
      "stripe-signature": await signatureOf(payload, { secret, timestamp }),
      ...headers,
    },
    body: payload,
    redirect: "manual",
  });
  await response.body?.cancel();
  return response.status;
}

/** The official library's signature of a payload. */
export async function signatureOf(
  payload: string,
  { secret = WEBHOOK_SECRET, timestamp }: {
    readonly secret?: string | undefined;
    readonly timestamp?: number | undefined;
  } = {},
): Promise<string> {
  if (secret === "") {
    // Web Crypto has no empty key; an attacker's library has
    const time = timestamp ?? Math.floor(Date.now() / 1_000);
    const digest = createHmac("sha256", "").update(`${time}.${payload}`).digest("hex");
    return `t=${time},v1=${digest}`;
  }
  const { webhooks } = new Stripe(TEST_KEY);
  return await webhooks.generateTestHeaderStringAsync({
    payload,
    secret,
    timestamp: timestamp ?? Math.floor(Date.now() / 1_000),
  });
}

/** Reads a form with brackets: `a[b][0][c]=1`. */
export function decodeForm(text: string): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const path = [...name.matchAll(/^[^[\]]+|\[([^[\]]+)\]/g)].map(([all, inner]) => inner ?? all);
    let at = root;
    for (const step of path.slice(0, -1)) at = (at[step] ??= {}) as Record<string, unknown>;
    at[path.at(-1)!] = value;
  }
  return root;
}

const KNOWN = {
  "/v1/checkout/sessions": [
    "mode",
    "line_items",
    "client_reference_id",
    "customer_email",
    "metadata",
    "payment_intent_data",
    "customer_creation",
    "adaptive_pricing",
    "expires_at",
    "success_url",
    "cancel_url",
  ],
  "/v1/refunds": ["payment_intent", "amount", "metadata", "reason"],
  "/v1/payment_intents": [
    "amount",
    "currency",
    "customer",
    "payment_method",
    "off_session",
    "confirm",
    "metadata",
    "description",
  ],
} as const;

/** Starts one. Disposing stops it. */
export function fakeStripe({ key = TEST_KEY }: { readonly key?: string } = {}): FakeStripe {
  const stored = new Map<string, Stored>();
  const sessions = new Map<string, StripeObject>();
  const intents = new Map<string, StripeObject>();
  const refunds = new Map<string, StripeObject>();
  const events: StripeObject[] = [];
  const calls: string[] = [];
  const faults: Fault[] = [];
  const livemode = key.includes("_live_");
  let made = 0;
  const newId = (prefix: string) =>
    `${prefix}_${String(++made).padStart(4, "0")}${
      crypto.randomUUID().replaceAll("-", "").slice(0, 12)
    }`;
  const nowS = () => Math.floor((Date.now() + fake.clockMs) / 1_000);

  const failure = (status: number, code: string, message: string, param?: string) => ({
    status,
    reply: { error: { type: "invalid_request_error", code, message, param } },
  });

  function createSession(form: Record<string, unknown>) {
    const lines = Object.values((form.line_items ?? {}) as Record<string, Record<string, unknown>>);
    const total = lines.reduce(
      (sum, { price_data, quantity }) =>
        sum + Number((price_data as Record<string, string>).unit_amount) * Number(quantity),
      0,
    );
    const { currency } = lines[0]!.price_data as Record<string, string>;
    const expiresAt = Number(form.expires_at);
    if (expiresAt < nowS() + 30 * 60 - 60 || expiresAt > nowS() + 86_400) {
      return failure(400, "parameter_invalid", "expires_at out of range", "expires_at");
    }
    const id = newId("cs_test");
    const session: StripeObject = {
      id,
      object: "checkout.session",
      mode: form.mode,
      livemode,
      status: "open",
      payment_status: "unpaid",
      client_reference_id: form.client_reference_id ?? null,
      customer_email: form.customer_email ?? null,
      currency,
      amount_subtotal: total,
      amount_total: total,
      payment_intent: null,
      customer: null,
      customer_creation: form.customer_creation ?? "if_required",
      metadata: form.metadata ?? {},
      payment_intent_data: form.payment_intent_data,
      expires_at: expiresAt,
      success_url: form.success_url,
      cancel_url: form.cancel_url,
      url: `${fake.url}/pay/${id}`,
    };
    sessions.set(id, session);
    return { status: 200, reply: session };
  }

  function createRefund(form: Record<string, unknown>) {
    const intent = intents.get(String(form.payment_intent));
    if (intent === undefined) return failure(404, "resource_missing", "No such payment_intent");
    if (intent.disputed === true) {
      return failure(400, "charge_disputed", "This charge has been charged back");
    }
    const left = Number(intent.amount) - Number(intent.refunded ?? 0);
    const amount = form.amount === undefined ? left : Number(form.amount);
    if (left <= 0) {
      return failure(400, "charge_already_refunded", "Charge has already been refunded");
    }
    if (amount > left) {
      return failure(400, "amount_too_large", "Refund amount is greater than left");
    }
    return { status: 200, reply: fake.refund(intent.id, amount) };
  }

  function createIntent(form: Record<string, unknown>) {
    const id = newId("pi");
    const isDeclined = fake.declines;
    const isPaid = !isDeclined && fake.leaves === undefined;
    const intent: StripeObject = {
      id,
      object: "payment_intent",
      livemode,
      status: isDeclined ? "requires_payment_method" : fake.leaves ?? "succeeded",
      amount: Number(form.amount),
      amount_received: isPaid ? Number(form.amount) : 0,
      currency: form.currency,
      customer: form.customer,
      payment_method: form.payment_method,
      metadata: form.metadata ?? {},
    };
    intents.set(id, intent);
    if (!isDeclined) return { status: 200, reply: intent };
    return {
      status: 402,
      reply: {
        error: {
          type: "card_error",
          code: "card_declined",
          message: "Your card was declined.",
          payment_intent: intent,
        },
      },
    };
  }

  function answer(method: string, path: string, body: string, query: URLSearchParams) {
    if (method === "POST") {
      const known = KNOWN[path as keyof typeof KNOWN] as readonly string[] | undefined;
      if (known === undefined) {
        return failure(404, "url_invalid", `Unrecognized request URL ${path}`);
      }
      const form = decodeForm(body);
      const unknown = Object.keys(form).find((name) => !known.includes(name));
      if (unknown !== undefined) {
        return failure(400, "parameter_unknown", `Received unknown parameter: ${unknown}`, unknown);
      }
      if (path === "/v1/checkout/sessions") return createSession(form);
      return path === "/v1/refunds" ? createRefund(form) : createIntent(form);
    }
    const [, kind, id] = /^\/v1\/(checkout\/sessions|payment_intents)\/([^/]+)$/.exec(path) ?? [];
    if (kind !== undefined) {
      const found = (kind === "payment_intents" ? intents : sessions).get(id!);
      return found === undefined
        ? failure(404, "resource_missing", `No such object: '${id}'`)
        : { status: 200, reply: found };
    }
    if (path === "/v1/events") {
      const since = Number(query.get("created[gte]") ?? 0);
      const types = [...query].filter(([name]) => name.startsWith("types[")).map(([, one]) => one);
      const all = events.filter(({ created, type }) =>
        Number(created) >= since && (types.length === 0 || types.includes(String(type)))
      ).toReversed();
      const after = query.get("starting_after");
      const from = after === null ? 0 : all.findIndex((one) => one.id === after) + 1;
      const limit = Number(query.get("limit") ?? 10);
      const data = all.slice(from, from + limit);
      return {
        status: 200,
        reply: { object: "list", data, has_more: from + limit < all.length, url: "/v1/events" },
      };
    }
    return failure(404, "url_invalid", `Unrecognized request URL ${path}`);
  }

  const closing = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, signal: closing.signal },
    async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      const body = await request.text();
      if (pathname === "/favicon.ico") return new Response(null, { status: 204 });
      if (pathname.startsWith("/pay/")) {
        const [, , id, act] = pathname.split("/");
        const session = sessions.get(id!)!;
        if (act === undefined) {
          return new Response(
            `<!doctype html><title>Pay</title><h1>Fake checkout</h1>
              <a href="/pay/${id}/paid">Pay</a> <a href="${session.cancel_url}">Back</a>`,
            { headers: { "content-type": "text/html" } },
          );
        }
        const event = fake.pay(id!);
        await fake.onPaid?.(event);
        return new Response(null, {
          status: 303,
          headers: {
            location: String(session.success_url).replace("{CHECKOUT_SESSION_ID}", id!),
          },
        });
      }
      calls.push(`${request.method} ${pathname}`);
      const fault = fake.down ? "500" : faults.shift();
      if (fault === "html") return new Response("<html>bad gateway</html>", { status: 502 });
      if (fault === "500") {
        return Response.json({ error: { type: "api_error", message: "down" } }, { status: 500 });
      }
      if (request.headers.get("authorization") !== `Bearer ${key}`) {
        return Response.json({
          error: { type: "invalid_request_error", message: "Invalid API Key provided" },
        }, { status: 401 });
      }
      const idempotencyKey = request.headers.get("idempotency-key");
      if (request.method === "POST") {
        if (request.headers.get("content-type") !== "application/x-www-form-urlencoded") {
          return Response.json({ error: { message: "form encoding expected" } }, { status: 400 });
        }
        const before = idempotencyKey === null ? undefined : stored.get(idempotencyKey);
        if (before !== undefined) {
          if (before.path !== pathname || before.body !== body) {
            return Response.json({
              error: {
                type: "idempotency_error",
                message: "Keys for idempotent requests can only be used with the same parameters.",
              },
            }, { status: 400 });
          }
          return new Response(before.reply, {
            status: before.status,
            headers: { "content-type": "application/json", "idempotent-replayed": "true" },
          });
        }
      }
      const { status, reply } = answer(request.method, pathname, body, searchParams);
      const text = JSON.stringify(reply);
      if (request.method === "POST" && idempotencyKey !== null) {
        stored.set(idempotencyKey, { path: pathname, body, status, reply: text });
      }
      // the call took effect, and its answer is lost
      if (fault === "reset") return new Response("{", { status: 200 });
      return new Response(text, { status, headers: { "content-type": "application/json" } });
    },
  );

  const fake: FakeStripe = {
    url: `http://127.0.0.1:${server.addr.port}`,
    sessions,
    intents,
    refunds,
    events,
    calls,
    faults,
    clockMs: 0,
    down: false,
    declines: false,
    leaves: undefined,
    onPaid: undefined,
    event(type, object, more = {}) {
      const event: StripeObject = {
        id: newId("evt"),
        object: "event",
        api_version: "2026-10-28.endive",
        created: nowS(),
        livemode,
        pending_webhooks: 1,
        request: { id: null, idempotency_key: null },
        type,
        data: { object: structuredClone(object) },
        ...more,
      };
      events.push(event);
      return event;
    },
    pay(sessionId, { status = "paid" } = {}) {
      const session = sessions.get(sessionId)!;
      const data = session.payment_intent_data as
        | { metadata?: Record<string, string>; setup_future_usage?: string }
        | undefined;
      const id = newId("pi");
      const customer = session.customer_creation === "always" ? newId("cus") : null;
      intents.set(id, {
        id,
        object: "payment_intent",
        livemode,
        status: status === "paid" ? "succeeded" : "processing",
        amount: session.amount_total,
        amount_received: status === "paid" ? session.amount_total : 0,
        currency: session.currency,
        customer,
        payment_method: data?.setup_future_usage === undefined ? null : newId("pm"),
        metadata: data?.metadata ?? {},
      });
      Object.assign(session, {
        status: "complete",
        payment_status: status,
        payment_intent: id,
        customer,
        url: null,
      });
      return fake.event("checkout.session.completed", session);
    },
    settleDelayed(sessionId, isPaid) {
      const session = sessions.get(sessionId)!;
      if (isPaid) session.payment_status = "paid";
      return fake.event(
        `checkout.session.async_payment_${isPaid ? "succeeded" : "failed"}`,
        session,
      );
    },
    expire(sessionId) {
      const session = sessions.get(sessionId)!;
      Object.assign(session, { status: "expired", url: null });
      return fake.event("checkout.session.expired", session);
    },
    refund(paymentIntent, amount) {
      const intent = intents.get(paymentIntent)!;
      const id = newId("re");
      const value = amount ?? Number(intent.amount);
      intent.refunded = Number(intent.refunded ?? 0) + value;
      const refund: StripeObject = {
        id,
        object: "refund",
        amount: value,
        charge: `ch_${paymentIntent}`,
        currency: intent.currency,
        payment_intent: paymentIntent,
        status: "succeeded",
        metadata: {},
      };
      refunds.set(id, refund);
      return refund;
    },
    dispute(paymentIntent, status, amount) {
      const intent = intents.get(paymentIntent)!;
      if (!status.startsWith("warning_")) intent.disputed = true;
      return {
        id: newId("dp"),
        object: "dispute",
        livemode,
        amount: amount ?? Number(intent.amount),
        charge: `ch_${paymentIntent}`,
        currency: intent.currency,
        payment_intent: paymentIntent,
        reason: "fraudulent",
        status,
      };
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await server.finished;
    },
  };
  return fake;
}
