import * as z from "zod";
import { decimalsOf, minorUnits } from "./currencies.ts";
import { Secret } from "./secret.ts";

/** A variable of the environment that is not set, where settings are not for serving. */
const UNSET = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/;
/** What stands for a secret in examples. */
const PLACEHOLDER = /(.)\1{7}|placeholder|changeme|replaceme|example|yoursecret|yourkey|x{6}/i;

/** A secret of Stripe's, by its prefix. Trimmed, since secrets read from files often end with a line break. */
function stripeSecret(pattern: RegExp, shape: string) {
  return z.string().trim()
    .refine((text) => UNSET.test(text) || pattern.test(text), {
      error: `must be ${shape}`,
      abort: true,
    })
    .refine(
      (text) => UNSET.test(text) || !PLACEHOLDER.test(text),
      "is a placeholder: insert the secret from Stripe's dashboard",
    )
    .transform((text) => new Secret(text));
}

/** Addresses of this machine, where tests run a Stripe of their own. */
const LOOPBACK = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?::\d+)?(?:\/|$)/;

/** Schema of the settings of Stripe. */
const stripeSettings = z.strictObject({
  secretKey: stripeSecret(
    /^(?:sk|rk)_(?:test|live)_[A-Za-z0-9_]{16,240}$/,
    "a secret or restricted key of Stripe: sk_live_…, sk_test_…, rk_live_… or rk_test_…",
  ).describe("Secret key of Stripe. Its prefix says whether payments are real (live) or tests."),
  webhookSecret: stripeSecret(
    /^whsec_[A-Za-z0-9+/=_-]{16,240}$/,
    "the signing secret of the webhook endpoint: whsec_…",
  ).describe("Signing secret of the webhook endpoint."),
  apiBase: z.url({ protocol: /^https?$/ }).refine(
    (text) => text.startsWith("https://") || LOOPBACK.test(text),
    "must be an https:// URL, or one of this machine",
  ).default("https://api.stripe.com").describe("Base URL of Stripe's API; tests set their own."),
  currency: z.string().trim().refine(
    (code) => decimalsOf(code) !== undefined,
    "must be a currency that Stripe knows, in lower case, such as usd",
  )
    .default("usd").describe(
      "Currency that packages are sold in. Packages have `priceUsd`, and `prices` for others.",
    ),
});

/** Schema of the settings of payments. */
export const paymentSettings = z.strictObject({
  contact: z.string().trim().min(1).max(200).optional().describe(
    "Whom to ask about buying credits: an email address, a URL or a sentence. Default: the owner's email address.",
  ),
  stripe: stripeSettings.optional().describe(
    "Sells packages in the console through Stripe Checkout. Without it, an operator records payments.",
  ),
});

/** Settings of payments, with defaults. */
export type PaymentSettings = z.output<typeof paymentSettings>;

/** A package as the check of its price needs it. */
interface PricedPackage {
  readonly priceUsd: number | null;
  readonly prices?: Readonly<Record<string, number>> | undefined;
}

/**
 * Returns the price of a package in minor units of a currency.
 *
 * @returns `null` if the package has no price in it.
 * @throws {RangeError} If the currency has not as many decimals as the price.
 */
export function priceIn(
  { priceUsd, prices }: PricedPackage,
  currency: string,
): number | null {
  const price = prices?.[currency] ?? (currency === "usd" ? priceUsd : null);
  return price === null ? null : minorUnits(price, currency);
}

/** Reports the packages whose price cannot be charged in the currency of the settings. */
export function checkPrices(
  { payments, packages }: {
    readonly payments: PaymentSettings;
    readonly packages: readonly PricedPackage[];
  },
  fault: (path: readonly (string | number)[], message: string) => void,
): void {
  const currency = payments.stripe?.currency;
  if (currency === undefined) return;
  packages.forEach((one, at) => {
    try {
      priceIn(one, currency);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      fault(["packages", at, currency === "usd" ? "priceUsd" : "prices"], error.message);
    }
  });
}
