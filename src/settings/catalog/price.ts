import type { Route } from "./route.ts";

/** Token counts of one request. `inputTokens` includes cached ones. */
export interface TokenUse {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

/**
 * Computes the price of a request: the route's minimum, or the price of the tokens rounded up, whichever is higher.
 *
 * @param route The route, for its prices and minimum.
 * @returns Whole credits.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { BUILTIN_ROUTES, priceOf } from "./mod.ts";
 *
 * const route = { id: "svc-k3", origin: "built-in" as const, targets: [], ...BUILTIN_ROUTES["svc-k3"]! };
 * // 8.2 credits, rounded up
 * assertEquals(
 *   priceOf(route, { inputTokens: 10_000, cachedTokens: 4_000, outputTokens: 2_000 }),
 *   9,
 * );
 * ```
 */
export function priceOf(route: Route, use: TokenUse): number {
  return Number((minimumOr(route, tokenMillionths(route, use)) + MILLION - 1n) / MILLION);
}

/** Converts US dollars to credits, rounded up: a route never costs less than its provider. */
export function inCredits(creditsPerUsd: number): (usd: number) => number {
  return (usd) => Math.ceil(usd * creditsPerUsd - 1e-9);
}

/** Millionths of a credit. Figures in them are bigint, since a token count times a price can exceed 2^53. */
export const MILLION = 1_000_000n;

/** The price of tokens in millionths of a credit. */
export function tokenMillionths(
  { prices: { input, cached, output } }: Pick<Route, "prices">,
  { inputTokens, cachedTokens, outputTokens }: TokenUse,
): bigint {
  return BigInt(inputTokens - cachedTokens) * BigInt(input) +
    BigInt(cachedTokens) * BigInt(cached) + BigInt(outputTokens) * BigInt(output);
}

/** Millionths of a credit, or the route's minimum if that is more. */
export function minimumOr({ minimum }: Pick<Route, "minimum">, millionths: bigint): bigint {
  const least = BigInt(minimum) * MILLION;
  return millionths > least ? millionths : least;
}

/**
 * Computes how many output tokens an amount of credits covers in addition to the input, none of it cached.
 *
 * @param route The route, for its prices and minimum.
 * @param budget Input tokens, and the available credits.
 * @returns Output tokens; 0 if the credits do not cover the input or the minimum, `Infinity` if output is free.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { affordableOutput, BUILTIN_ROUTES } from "./mod.ts";
 *
 * const route = { id: "svc-k2", origin: "built-in" as const, targets: [], ...BUILTIN_ROUTES["svc-k2"]! };
 * // 0.1 credits of input leave 0.9 for output
 * assertEquals(affordableOutput(route, { inputTokens: 1_000, credits: 1 }), 2_250);
 * ```
 */
export function affordableOutput(
  route: Route,
  { inputTokens, credits }: { readonly inputTokens: number; readonly credits: number },
): number {
  const { input, output } = route.prices;
  const left = BigInt(credits) * 1_000_000n - BigInt(inputTokens) * BigInt(input);
  if (credits < route.minimum || left < 0n) return 0;
  return output === 0 ? Infinity : Number(left / BigInt(output));
}
