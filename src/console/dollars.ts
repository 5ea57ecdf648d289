import type { Config } from "../config/mod.ts";

/** Credits for one US dollar, if the operator has set them: the default is a guess for prices, and not to be shown. */
export function dollarRateOf(
  { settings, origins }: Pick<Config, "settings" | "origins">,
): number | undefined {
  return origins.has("credits.perUsd") ? settings.credits.perUsd : undefined;
}

/** Formats credits as dollars: `$1,234.50`, `<$0.01`, `−$2.00`. */
export function dollars(credits: number, perUsd: number): string {
  const amount = Math.abs(credits) / perUsd;
  if (amount > 0 && amount < 0.005) return "<$0.01";
  const text = amount.toLocaleString("en-US", {
    minimumFractionDigits: 2,
    maximumFractionDigits: 2,
  });
  return `${credits < 0 ? "−" : ""}$${text}`;
}
