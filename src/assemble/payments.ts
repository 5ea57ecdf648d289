import type { Settings } from "../settings/config/mod.ts";
import { Payments, type PaymentsParts } from "../money/payments/mod.ts";

/** Makes the payments of a reading of the settings. */
export function openPayments(
  { payments, packages, credits, proxies }: Pick<
    Settings,
    "payments" | "packages" | "credits" | "proxies"
  >,
  parts: Omit<PaymentsParts, "settings" | "proxies" | "packages" | "bonusCredits">,
): Payments {
  return new Payments({
    ...parts,
    settings: payments,
    proxies,
    packages,
    bonusCredits: credits.inviteFirstPayment,
  });
}
