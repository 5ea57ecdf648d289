import * as z from "zod";

/** What is read of Stripe's objects. Everything else in them may change. */

const id = z.string().min(1).max(255);
/** Schema of what has an ID. */
export const identified = z.looseObject({ id });
/** An ID, or the object if it was expanded. */
const reference = z.union([id, identified.transform((one) => one.id)]).nullish()
  .transform((one) => one ?? undefined);
const metadata = z.record(z.string(), z.string()).nullish().transform((one) => one ?? {});
const amount = z.int().nonnegative();
const currency = z.string().regex(/^[a-z]{3}$/);

/** Schema of a Checkout session. */
export const checkoutSession = z.looseObject({
  object: z.literal("checkout.session"),
  id,
  mode: z.string(),
  livemode: z.boolean(),
  status: z.enum(["open", "complete", "expired"]).nullish(),
  payment_status: z.string(),
  client_reference_id: z.string().nullish(),
  currency: currency.nullish(),
  amount_subtotal: amount.nullish(),
  amount_total: amount.nullish(),
  payment_intent: reference,
  customer: reference,
  metadata,
  url: z.string().nullish(),
});
/** A Checkout session. */
export type CheckoutSession = z.output<typeof checkoutSession>;

/** Schema of a payment intent. */
export const paymentIntent = z.looseObject({
  object: z.literal("payment_intent"),
  id,
  livemode: z.boolean(),
  status: z.string(),
  amount,
  amount_received: amount.nullish(),
  currency,
  customer: reference,
  payment_method: reference,
  metadata,
});
/** A payment intent. */
export type PaymentIntent = z.output<typeof paymentIntent>;

/** Schema of a refund. It has no mode of its own. */
export const refundObject = z.looseObject({
  object: z.literal("refund"),
  id,
  amount,
  currency,
  payment_intent: reference,
  status: z.string().nullish(),
});
/** A refund. */
export type RefundObject = z.output<typeof refundObject>;

/** Schema of a dispute. */
export const disputeObject = z.looseObject({
  object: z.literal("dispute"),
  id,
  livemode: z.boolean(),
  amount,
  currency,
  payment_intent: reference,
  status: z.string(),
});
/** A dispute. */
export type DisputeObject = z.output<typeof disputeObject>;

/** Schema of an event. */
export const stripeEvent = z.looseObject({
  object: z.literal("event"),
  id,
  type: z.string().min(1).max(255),
  livemode: z.boolean(),
  created: z.int().nonnegative(),
  data: z.looseObject({ object: z.looseObject({}) }),
});
/** An event. */
export type StripeEvent = z.output<typeof stripeEvent>;

/** Schema of a page of a list. */
export const eventList = z.looseObject({
  object: z.literal("list"),
  data: z.array(z.unknown()),
  has_more: z.boolean(),
});

/** Schema of an error. */
export const stripeFailure = z.looseObject({
  error: z.looseObject({
    type: z.string().optional(),
    code: z.string().optional(),
    message: z.string().optional(),
    param: z.string().optional(),
  }),
});
