/** A number that is known as far as its bounds. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Credits for one token: enough that each token shows in a charge. */
export const PRICES = { input: 10, cached: 1, output: 40 } as const;
/** What a request costs at least. */
export const MINIMUM = 5;

/** The price of input, which is in credits already, and of output tokens. */
export function price(input: Interval, output: Interval): Interval {
  return {
    low: input.low + PRICES.output * output.low,
    high: input.high + PRICES.output * output.high,
  };
}

/** The sum of several. */
export function sum(all: readonly Interval[]): Interval {
  return {
    low: all.reduce((total, { low }) => total + low, 0),
    high: all.reduce((total, { high }) => total + high, 0),
  };
}
