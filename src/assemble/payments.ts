import type { Settings } from "../settings/config/mod.ts";
import { Payments, type PaymentsParts } from "../money/payments/mod.ts";

/** Makes the payments of a reading of the settings. */
export function openPayments(
  { payments, packages, credits }: Pick<Settings, "payments" | "packages" | "credits">,
  parts: Omit<PaymentsParts, "settings" | "packages" | "bonusCredits">,
): Payments {
  return new Payments({
    ...parts,
    settings: payments,
    packages,
    bonusCredits: credits.inviteFirstPayment,
  });
}
