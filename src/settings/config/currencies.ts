import { AmountError, decimalIn } from "../../ground/amounts/mod.ts";
import { MINOR_UNITS } from "./amounts.ts";

/** Currencies without a minor unit. ISK and UGX have two decimals in the API, for compatibility. */
const WITHOUT_MINOR = new Set(
  "bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split(" "),
);
/** Currencies with three decimals; the last digit of a charge is 0. */
const WITH_THREE = new Set("bhd jod kwd omr tnd".split(" "));
const WITH_TWO = new Set(
  ("aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bmd bnd bob brl bsd bwp byn bzd cad cdf " +
    "chf cny cop crc cve czk dkk dop dzd egp etb eur fjd fkp gbp gel gip gmd gtq gyd hkd hnl htg huf " +
    "idr ils inr isk jmd kes kgs khr kyd kzt lak lbp lkr lrd lsl mad mdl mkd mmk mnt mop mur mvr mwk " +
    "mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php pkr pln qar ron rsd rub sar sbd scr sek sgd " +
    "shp sle sos srd std szl thb tjs top try ttd twd tzs uah ugx usd uyu uzs wst xcd yer zar zmw")
    .split(" "),
);
const MAX_MINOR = MINOR_UNITS.max;

/**
 * Returns how many decimals a currency's amounts have.
 *
 * @param currency A three-letter code in lower case.
 * @returns 0, 2 or 3; `undefined` for an unknown currency.
 */
export function decimalsOf(currency: string): 0 | 2 | 3 | undefined {
  if (WITHOUT_MINOR.has(currency)) return 0;
  if (WITH_THREE.has(currency)) return 3;
  return WITH_TWO.has(currency) ? 2 : undefined;
}

/**
 * Reads an amount of money as a person writes it.
 *
 * @param text Such as `19.99`.
 * @param currency A three-letter code in lower case.
 * @param min Smallest amount, in minor units.
 * @returns A whole number of minor units.
 * @throws {AmountError} If it is not written in plain digits, has more decimals than the currency, or is out of range.
 * @throws {RangeError} If the currency is unknown.
 */
export function moneyIn(text: string, currency: string, min = 0): number {
  const decimals = decimalsOf(currency);
  if (decimals === undefined) throw new RangeError(`Unknown currency ${JSON.stringify(currency)}`);
  const of = currency.toUpperCase();
  const shown = (minor: number) => moneyText(minor, currency).slice(0, -of.length - 1);
  const max = decimals === 3 ? MAX_MINOR - 9 : MAX_MINOR;
  const words = `an amount in ${of} from ${shown(min)} to ${shown(max)}, such as ${
    shown(25 * 10 ** Math.max(1, decimals - 1))
  }`;
  const minor = decimalIn(text, { words, decimals, of, min, max });
  if (decimals === 3 && minor % 10 !== 0) {
    throw new AmountError(words, text, "has a third decimal that is not 0");
  }
  return minor;
}

/**
 * Converts a price of the settings to minor units, exactly.
 *
 * @param price Such as `19.99`.
 * @param currency A known currency.
 * @returns A whole number of minor units.
 * @throws {RangeError} If the currency is unknown, or the price has too many decimals or is out of range.
 */
export function minorUnits(price: number, currency: string): number {
  try {
    return moneyIn(String(price), currency);
  } catch (error) {
    throw error instanceof AmountError ? new RangeError(error.message, { cause: error }) : error;
  }
}

/**
 * Formats an amount for people.
 *
 * @param amount In minor units; `null` if it is not known.
 * @returns Such as `4.99 USD`.
 */
export function moneyText(amount: number | null, currency: string): string {
  if (amount === null) return "not recorded";
  const decimals = decimalsOf(currency) ?? 2;
  const digits = String(amount).padStart(decimals + 1, "0");
  const split = digits.length - decimals;
  const text = decimals === 0 ? digits : `${digits.slice(0, split)}.${digits.slice(split)}`;
  return `${text} ${currency.toUpperCase()}`.trim();
}
