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
/** What the provider takes for one charge. */
const MAX_MINOR = 99_999_999;

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
 * Converts a price to minor units, exactly: its decimal digits are read, nothing is multiplied.
 *
 * @param price Such as `19.99`.
 * @param currency A known currency.
 * @returns A whole number of minor units.
 * @throws {RangeError} If the currency is unknown, or the price has too many decimals or is out of range.
 */
export function minorUnits(price: number, currency: string): number {
  const decimals = decimalsOf(currency);
  if (decimals === undefined) throw new RangeError(`Unknown currency ${JSON.stringify(currency)}`);
  const [, whole, fraction = ""] = /^(\d{1,12})(?:\.(\d+))?$/.exec(String(price)) ?? [];
  if (whole === undefined || fraction.length > decimals) {
    throw new RangeError(
      `Invalid price ${price}: ${currency.toUpperCase()} has ${decimals} decimals`,
    );
  }
  const minor = Number(whole + fraction.padEnd(decimals, "0"));
  if (decimals === 3 && minor % 10 !== 0) {
    throw new RangeError(`Invalid price ${price}: its third decimal must be 0`);
  }
  if (minor > MAX_MINOR) throw new RangeError(`Price too high: ${price}`);
  return minor;
}

/**
 * Formats an amount for people.
 *
 * @param amount In minor units; `null` if it is not known.
 * @param currency Its currency.
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
