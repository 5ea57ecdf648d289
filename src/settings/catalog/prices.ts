import type { PriceUnit } from "../known_prices/mod.ts";

/** Credits per million tokens. */
export interface Prices {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** Credits per million tokens or thousand calls: one price, or the first one, then amounts of input and the price above each. */
export type RowPrice = number | readonly [number, ...number[]];

/** Prices of a route by what they are of, and when they are effective. */
export interface PriceRow {
  /** Which one it is, for the record of a charge: `anthropic claude-sonnet-4-6 2026-03-13`. */
  readonly name: string;
  /** See `KnownRow.when`. */
  readonly when: 0 | string | readonly [string, string];
  readonly units: Readonly<Partial<Record<PriceUnit, RowPrice>>>;
}

/** What the parts of one request cost: credits per million tokens or thousand calls. */
export type UnitPrices = Readonly<Partial<Record<PriceUnit, number>>>;
