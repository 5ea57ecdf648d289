import type { TokenKinds, Told } from "../../wire/dialects/mod.ts";
import { nameOf, toldFactor, type UsedExtras } from "../../wire/extras/mod.ts";
import { MILLION, minimumOr, tokenMillionths, type TokenUse } from "./price.ts";
import { routeFor } from "./price_rows.ts";
import type { Prices } from "./prices.ts";
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

/**
 * The route with prices for a hold: each token at the dearest that a reply may charge it at, and each tool called once. All of the input
 * may be written to a cache and be sound or pictures as well, a dearer tier than the one asked for may have served the request, and output
 * may be of any kind.
 */
export function heldRoute(route: Route, used: UsedExtras): Route {
  // a tier below the plain price may not have been given
  const factor = Object.values(used.asked).reduce((all, one) => all * Math.max(1, one), 1);
  const priced = times(route, factor);
  const { prices: { input, cached, output } } = priced;
  const dearest = (part: keyof Prices) =>
    kindsOf(priced, used).reduce(
      (most, [, of, price]) => of === part ? Math.max(most, price) : most,
      priced.prices[part],
    );
  const writes = Math.max(input, writtenAt(input, used.writeFactor)) - input;
  const held = {
    input: Math.max(dearest("input") + writes, dearest("cached")),
    output: dearest("output"),
  };
  const calls = pricesOfCalls(priced, used).once;
  if (held.input === input && held.output === output && calls === 0) return priced;
  return {
    ...priced,
    minimum: priced.minimum + Math.ceil(calls),
    prices: { ...held, cached },
  };
}

/** Credits of calls that one reply may have: of one of each tool, and of the most there may be; the request itself among them. */
function pricesOfCalls({ units }: Route, used: UsedExtras) {
  const prices = Object.values(used.tools);
  const request = (units?.requests ?? 0) / 1_000;
  const once = prices.reduce((sum, price) => sum + price, 0);
  return {
    once: once + request,
    most: Math.max(once, Math.max(0, ...prices) * used.maxCalls) + request,
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
 * Credits that a request may cost besides the price of its counted tokens, with the prices of {@linkcode heldRoute}.
 *
 * @param inputTokens Input of one choice that only the upstream gets to know, at most.
 * @param choices Number of choices: each may need a request of its own.
 */
export function reservedFor(
  route: Route,
  used: UsedExtras,
  { inputTokens, choices }: { readonly inputTokens: number; readonly choices: number },
): number {
  const held = heldRoute(route, used);
  return Math.ceil(choices * inputTokens * held.prices.input / 1_000_000) +
    Math.ceil(choices * pricesOfCalls(held, used).most);
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
  let [more, calls] = [0n, 0n];
  const add = (name: string, count: number, price: number, over: number) => {
    if (count <= 0 || price <= over) return; // never less than what a hold is computed by
    extras[name] = [count, price];
    more += BigInt(count) * BigInt(price - over);
  };
  const addCalls = (name: string, count: number, perThousand: number) => {
    if (count <= 0 || perThousand <= 0) return;
    extras[name] = [count, perThousand];
    calls += BigInt(count) * BigInt(perThousand) * 1_000n;
  };
  const { input } = priced.prices;
  const { writtenHour } = use.kinds ?? {};
  if (writtenHour === undefined) {
    add("written", cacheWrittenTokens, writtenAt(input, used.writeFactor), input);
  } else {
    const hour = Math.min(writtenHour, cacheWrittenTokens);
    add("writtenHour", hour, writtenAt(input, used.writes.hour), input);
    add("written", cacheWrittenTokens - hour, writtenAt(input, used.writes.usual), input);
  }
  addKinds(priced, used, use, add);
  for (const [name, count] of callsOf(use, used)) {
    addCalls(name, count, Math.round(used.tools[name]! * 1_000));
  }
  addCalls("requests", requests, priced.units?.requests ?? 0);
  const plain = tokenMillionths(priced, use);
  const base = Number((minimumOr(priced, plain) + MILLION - 1n) / MILLION);
  const all = minimumOr(priced, plain + more) + calls;
  const priceCredits = Number((all + MILLION - 1n) / MILLION);
  return { priced, priceCredits, extraCredits: priceCredits - base, extras };
}

/** What an input price is for tokens that are written to a cache. */
function writtenAt(input: number, factor: number): number {
  return Math.ceil(input * factor - 1e-9);
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

/** Kinds that a reply may be charged for, with their prices: none of input where all of it is text, whatever the upstream says. */
function kindsOf({ units }: Route, { isText = false }: UsedExtras) {
  if (units === undefined) return [];
  return Object.entries(KINDS).flatMap(([name, part]) => {
    const kind = name as keyof typeof KINDS;
    const price = units[kind];
    return price === undefined || isText && part !== "output" ? [] : [[kind, part, price] as const];
  });
}

function addKinds(
  route: Route,
  used: UsedExtras,
  { kinds = {}, reasoningTokens, outputTokens, inputTokens, cachedTokens }: ReplyUse,
  add: (name: string, count: number, price: number, over: number) => void,
): void {
  const left = { input: inputTokens - cachedTokens, cached: cachedTokens, output: outputTokens };
  const counts: { readonly [Kind in keyof typeof KINDS]?: number | undefined } = {
    ...kinds,
    // what was read from a cache is part of its kind
    audioInput: (kinds.audioInput ?? 0) - (kinds.audioCached ?? 0),
    imageInput: (kinds.imageInput ?? 0) - (kinds.imageCached ?? 0),
    reasoning: reasoningTokens,
  };
  for (const [kind, part, price] of kindsOf(route, used)) {
    const count = Math.min(counts[kind] ?? 0, left[part]);
    left[part] -= Math.max(0, count);
    add(kind, count, price, route.prices[part]);
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
