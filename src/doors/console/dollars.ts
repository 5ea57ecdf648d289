import type { Config } from "../../settings/config/mod.ts";

/** Credits for one US dollar, if the operator has set them: the default is a guess for prices, and not to be shown. */
export function dollarRateOf(
  { settings, origins }: Pick<Config, "settings" | "origins">,
): number | undefined {
  return origins.has("credits.perUsd") ? settings.credits.perUsd : undefined;
}

/** Formats credits as dollars: `$1,234.50`, `<$0.01`, `−$2.00`. */
export function dollars(credits: number, perUsd: number): string {
  return formatted(credits, perUsd, 2);
}

/** Formats the price of one request, of which cents would be a guess: `$0.005`, `$0.0123`, `<$0.0001`. */
export function smallDollars(credits: number, perUsd: number): string {
  return formatted(credits, perUsd, Math.abs(credits) < perUsd ? 4 : 2);
}

function formatted(credits: number, perUsd: number, digits: 2 | 4): string {
  const amount = Math.abs(credits) / perUsd;
  const smallest = 10 ** -digits;
  if (amount > 0 && amount < smallest / 2) return `<$${smallest}`;
  return `${credits < 0 ? "−" : ""}$${DOLLARS[digits].format(amount)}`;
}

const dollarsWith = (digits: number) =>
  new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: digits });
const DOLLARS = { 2: dollarsWith(2), 4: dollarsWith(4) } as const;
