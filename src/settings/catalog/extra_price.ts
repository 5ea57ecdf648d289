import { nameOf, type UsedExtras } from "../../wire/extras/mod.ts";
import type { Route } from "./route.ts";

/** What a reply took besides its tokens. */
export interface ExtraUse {
  /** Input that was written to a prompt cache. */
  readonly cacheWrittenTokens: number;
  /** Calls of tools that ran at the upstream, by kind; undefined if the upstream does not tell. */
  readonly hostedCalls?: ReadonlyMap<string, number> | undefined;
  /** Requests that were sent upstream for it. */
  readonly requests?: number | undefined;
}

/** The route with the prices of tokens that a request is charged by. */
export function pricedRoute(route: Route, { factor }: UsedExtras): Route {
  if (factor === 1) return route;
  const { input, cached, output } = route.prices;
  const at = (price: number) => Math.ceil(price * factor);
  return { ...route, prices: { input: at(input), cached: at(cached), output: at(output) } };
}

/** How a request is priced: its route, and the prices of what it asks for besides text. */
export interface PricedBy {
  readonly route: Route;
  readonly used: UsedExtras;
}

/** How a request is priced whose reply comes with a key of the caller's own: by the route's part of each price. */
export function pricedByOwnKey({ route, used }: PricedBy): PricedBy {
  const { ownKeyShare = 0 } = route;
  if (ownKeyShare === 1) return { route, used };
  const { input, cached, output } = route.prices;
  const at = (price: number) => Math.ceil(price * ownKeyShare);
  const tools = Object.entries(used.tools).map(([name, price]) => [name, at(price)]);
  return {
    route: {
      ...route,
      minimum: at(route.minimum),
      prices: { input: at(input), cached: at(cached), output: at(output) },
    },
    used: { ...used, tools: Object.fromEntries(tools) },
  };
}

/** The route with prices for a hold: as if all of the input were written to a cache, and each tool were called once. */
export function heldRoute(route: Route, used: UsedExtras): Route {
  const priced = pricedRoute(route, used);
  const calls = Object.values(used.tools).reduce((sum, price) => sum + price, 0);
  if (used.writeFactor <= 1 && calls === 0) return priced;
  const input = Math.ceil(priced.prices.input * Math.max(1, used.writeFactor));
  return {
    ...priced,
    minimum: priced.minimum + calls,
    prices: { ...priced.prices, input },
  };
}

/**
 * Maximum tokens of input that a request may have in addition to those counted: no more than the context has, which is read once more after
 * each call of a tool at the upstream.
 *
 * @param of.inputTokens As counted.
 * @param of.openTokens What it may have beyond that by itself; `Infinity` if nobody can tell.
 * @param of.calls Calls of tools that run at the upstream.
 */
export function openInput(
  { context }: Pick<Route, "context">,
  { inputTokens, openTokens, calls }: {
    readonly inputTokens: number;
    readonly openTokens: number;
    readonly calls: number;
  },
): number {
  const most = Math.max(0, context * (1 + calls) - inputTokens);
  return calls > 0 ? most : Math.min(openTokens, most);
}

/**
 * Credits that a request may cost besides what is counted before it is sent, with the prices of {@linkcode heldRoute}.
 *
 * @param inputTokens Input that only the upstream gets to know, at most.
 */
export function reservedFor(route: Route, used: UsedExtras, inputTokens: number): number {
  const { prices: { input } } = heldRoute(route, used);
  const prices = Object.values(used.tools);
  const once = prices.reduce((sum, price) => sum + price, 0);
  const calls = Math.max(0, ...prices) * used.maxCalls;
  return Math.ceil(inputTokens * input / 1_000_000) + Math.max(0, calls - once);
}

/**
 * Computes what a request costs besides its tokens: writes to a prompt cache by what they cost more than other input, and calls of
 * tools that ran at the upstream. Where an upstream does not tell its calls, each tool that was offered counts once for each request.
 *
 * @param route The route with the prices of {@linkcode pricedRoute}.
 * @returns Whole credits.
 */
export function extraPriceOf(
  { prices }: Pick<Route, "prices">,
  { cacheWrittenTokens, hostedCalls, requests = 1 }: ExtraUse,
  { writeFactor, tools }: UsedExtras,
): number {
  const written = cacheWrittenTokens * prices.input * Math.max(0, writeFactor - 1) / 1_000_000;
  const calls = new Map<string, number>();
  for (
    const [kind, count] of hostedCalls ??
      Object.keys(tools).map((name) => [name, requests] as const)
  ) {
    const name = nameOf(kind);
    calls.set(name, (calls.get(name) ?? 0) + count);
  }
  const called = Object.entries(tools)
    .reduce((sum, [name, price]) => sum + price * (calls.get(name) ?? 0), 0);
  // a hair above a whole number is a rounding of floats
  return Math.ceil(written - 1e-9) + called;
}
