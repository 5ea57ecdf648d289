import type { Route } from "./route.ts";

/** Tokens of one request. `inputTokens` includes the cached ones. */
export interface TokenUse {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

/**
 * What a request costs, in whole credits: the larger of the route's minimum and the tokens' price,
 * rounded up.
 *
 * @example
 * ```ts
 * import { BUILTIN_ROUTES, priceOf } from "./mod.ts";
 *
 * const route = { id: "svc-k3", targets: [], ...BUILTIN_ROUTES["svc-k3"]! };
 * priceOf(route, { inputTokens: 10_000, cachedTokens: 4_000, outputTokens: 2_000 }); // ⌈8.2⌉ = 9
 * ```
 */
export function priceOf(route: Route, use: TokenUse): number {
  const { input, cached, output } = route.prices;
  // Bigints: a token count times a price may pass 2^53.
  const millionths = BigInt(use.inputTokens - use.cachedTokens) * BigInt(input) +
    BigInt(use.cachedTokens) * BigInt(cached) + BigInt(use.outputTokens) * BigInt(output);
  const credits = (millionths + 999_999n) / 1_000_000n;
  return Math.max(route.minimum, Number(credits));
}

/**
 * Output tokens that so many credits pay for beside the input, none of it cached; infinite where
 * output is free.
 *
 * @example
 * ```ts
 * import { affordableOutput, BUILTIN_ROUTES, priceOf } from "./mod.ts";
 *
 * const route = { id: "svc-k2", targets: [], ...BUILTIN_ROUTES["svc-k2"]! };
 * affordableOutput(route, { inputTokens: 1_000, credits: 1 }); // 2250: 0.1 and 0.9 credits
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
