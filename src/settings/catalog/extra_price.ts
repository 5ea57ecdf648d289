import type { TokenKinds, Told } from "../../wire/dialects/mod.ts";
import { nameOf, toldFactor, type UsedExtras } from "../../wire/extras/mod.ts";
import { MILLION, minimumOr, tokenMillionths, type TokenUse } from "./price.ts";
import { routeFor } from "./price_rows.ts";
import type { Route } from "./route.ts";

/** What a reply took, by all that may have a price of its own. */
export interface ReplyUse extends TokenUse {
  /** Input that was written to a prompt cache. */
  readonly cacheWrittenTokens: number;
  readonly reasoningTokens: number;
  /** Tokens of kinds that may have a price of their own. */
  readonly kinds?: TokenKinds | undefined;
  /** What the reply says of how it was made. */
  readonly told?: Told | undefined;
  /** Calls of tools that ran at the upstream, by kind; undefined if the upstream does not tell. */
  readonly hostedCalls?: ReadonlyMap<string, number> | undefined;
  /** Requests that were sent upstream for it. */
  readonly requests?: number | undefined;
}

/** A charge, and what it was made with. */
export interface Charge {
  /** The route with the prices of the charge. */
  readonly priced: Route;
  /** All of it, in whole credits. */
  readonly priceCredits: number;
  /** What of it is not the price of input, cached input and output. */
  readonly extraCredits: number;
  /** Tokens, calls and requests that `extraCredits` are of, by unit or name of a tool, each with its price per million or thousand. */
  readonly extras: Readonly<Record<string, readonly [count: number, price: number]>>;
}

/** The route with all prices of tokens times a factor, rounded up. */
function times(route: Route, factor: number): Route {
  if (factor === 1) return route;
  const { prices: { input, cached, output }, units } = route;
  const at = (price: number) => Math.ceil(price * factor - 1e-9);
  return {
    ...route,
    prices: { input: at(input), cached: at(cached), output: at(output) },
    ...(units !== undefined && {
      units: Object.fromEntries(Object.entries(units).map(([unit, price]) => [unit, at(price)])),
    }),
  };
}

/** How a request is priced: its route, and the prices of what it asks for besides text. */
export interface PricedBy {
  readonly route: Route;
  readonly used: UsedExtras;
}

/** How a request is priced whose reply comes with a key of the caller's own: by the route's part of each price. */
export function pricedByOwnKey({ route, used }: PricedBy, inputTokens: number): PricedBy {
  const { ownKeyShare = 0 } = route;
  if (ownKeyShare === 1) return { route, used };
  const at = (price: number) => Math.ceil(price * ownKeyShare);
  const { row: _, ...priced } = times(routeFor(route, inputTokens), ownKeyShare);
  const tools = Object.entries(used.tools).map(([name, price]) => [name, at(price)]);
  return {
    route: {
      ...priced,
      minimum: at(route.minimum),
    },
    used: { ...used, tools: Object.fromEntries(tools) },
  };
}

/** The route with prices for a hold: as if all of the input were written to a cache, and each tool were called once. */
export function heldRoute(route: Route, used: UsedExtras): Route {
  const priced = times(route, used.factor);
  const calls = Object.values(used.tools).reduce((sum, price) => sum + price, 0) +
    (priced.units?.requests ?? 0) / 1_000;
  if (used.writeFactor <= 1 && calls === 0) return priced;
  const input = Math.ceil(priced.prices.input * Math.max(1, used.writeFactor));
  return {
    ...priced,
    minimum: priced.minimum + Math.ceil(calls),
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
  return Math.ceil(inputTokens * input / 1_000_000) + Math.max(0, Math.ceil(calls - once));
}

/**
 * Computes what a request costs: the route's minimum or the price of its input, cached input and output, and what kinds of tokens cost
 * more than those, calls of tools that ran at the upstream, and what a request costs by itself. It is rounded up once.
 *
 * - What the upstream says that it did is charged, as far as the route has a price for it (`toldFactor`).
 * - Where an upstream does not tell its calls, each tool that was offered counts once for each request.
 *
 * @param by The route with its prices at the time of the request, and what was asked for.
 * @param use What the reply took.
 */
export function chargeOf({ route, used }: PricedBy, use: ReplyUse): Charge {
  const { inputTokens, cacheWrittenTokens, requests = 1 } = use;
  const priced = times(
    routeFor(route, Math.ceil(inputTokens / Math.max(1, requests))),
    toldFactor(used, use.told, route.allow),
  );
  const extras: Record<string, readonly [number, number]> = {};
  let more = 0n;
  const add = (name: string, count: number, price: number, over: number) => {
    if (count <= 0 || price <= over) return; // never less than what a hold is computed by
    extras[name] = [count, price];
    more += BigInt(count) * BigInt(price - over);
  };
  const addCalls = (name: string, count: number, perThousand: number) => {
    if (count <= 0 || perThousand <= 0) return;
    extras[name] = [count, perThousand];
    more += BigInt(count) * BigInt(perThousand) * 1_000n;
  };
  const { input } = priced.prices;
  const writeAt = (factor: number) => Math.ceil(input * factor - 1e-9);
  const { writtenHour } = use.kinds ?? {};
  if (writtenHour === undefined) {
    add("written", cacheWrittenTokens, writeAt(used.writeFactor), input);
  } else {
    const hour = Math.min(writtenHour, cacheWrittenTokens);
    add("writtenHour", hour, writeAt(used.writes.hour), input);
    add("written", cacheWrittenTokens - hour, writeAt(used.writes.usual), input);
  }
  addKinds(priced, use, add);
  for (const [name, count] of callsOf(use, used)) {
    addCalls(name, count, Math.round(used.tools[name]! * 1_000));
  }
  addCalls("requests", requests, priced.units?.requests ?? 0);
  const tokens = minimumOr(priced, tokenMillionths(priced, use));
  const base = Number((tokens + MILLION - 1n) / MILLION);
  const priceCredits = Number((tokens + more + MILLION - 1n) / MILLION);
  return { priced, priceCredits, extraCredits: priceCredits - base, extras };
}

/** Kinds of tokens by what they are part of. */
const KINDS = {
  audioInput: "input",
  audioCached: "cached",
  audioOutput: "output",
  imageInput: "input",
  imageCached: "cached",
  imageOutput: "output",
  reasoning: "output",
} as const;

function addKinds(
  { units = {}, prices }: Route,
  { kinds = {}, reasoningTokens, outputTokens, inputTokens, cachedTokens }: ReplyUse,
  add: (name: string, count: number, price: number, over: number) => void,
): void {
  const left = { input: inputTokens - cachedTokens, cached: cachedTokens, output: outputTokens };
  const counts = {
    ...kinds,
    // what was read from a cache is part of its kind
    audioInput: (kinds.audioInput ?? 0) - (kinds.audioCached ?? 0),
    imageInput: (kinds.imageInput ?? 0) - (kinds.imageCached ?? 0),
    reasoning: reasoningTokens,
  };
  for (const [kind, whole] of Object.entries(KINDS)) {
    const price = units[kind as keyof typeof KINDS];
    if (price === undefined) continue;
    const count = Math.min(counts[kind as keyof typeof KINDS] ?? 0, left[whole]);
    left[whole] -= Math.max(0, count);
    add(kind, count, price, prices[whole]);
  }
}

/** Calls of tools that have a price. */
function callsOf(
  { hostedCalls, requests = 1 }: ReplyUse,
  { tools }: UsedExtras,
): ReadonlyMap<string, number> {
  const calls = new Map<string, number>();
  for (
    const [kind, count] of hostedCalls ??
      Object.keys(tools).map((name) => [name, requests] as const)
  ) {
    const name = nameOf(kind);
    if (Object.hasOwn(tools, name)) calls.set(name, (calls.get(name) ?? 0) + count);
  }
  return calls;
}
