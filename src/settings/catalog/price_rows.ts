import { type KnownPrices, pricesAt, staticPrices, type UsdPrice } from "../known_prices/mod.ts";
import type { PriceRow, Prices, RowPrice, UnitPrices } from "./prices.ts";
import type { Route } from "./route.ts";

/**
 * Converts published prices to a route's.
 *
 * @param credits Converts US dollars to whole credits.
 * @returns The rows, and the prices to show where no request is meant.
 */
export function rowsOf(
  { provider, id, rows }: KnownPrices,
  credits: (usd: number) => number,
): {
  readonly rows: readonly PriceRow[];
  readonly prices: Prices;
  readonly writes: Readonly<Record<string, number>>;
} {
  const inCredits = (price: UsdPrice): RowPrice =>
    typeof price === "number"
      ? credits(price)
      : price.map((one, at) => at % 2 === 1 ? one : credits(one)) as [number, ...number[]];
  const all = rows.map(({ when, usd }): PriceRow => ({
    name: [provider, id, ...when === 0 ? [] : [when].flat()].join(" "),
    when,
    units: Object.fromEntries(
      Object.entries(usd).map(([unit, price]) => [unit, inCredits(price)]),
    ),
  }));
  const shown = all[rows.indexOf(staticPrices(rows))]!;
  return { rows: all, prices: pricesOf(unitsFor(shown, 0)), writes: writesOf(shown) };
}

/** Factors of the input price for what is written to a prompt cache, by its lifetime. */
function writesOf(row: PriceRow): Readonly<Record<string, number>> {
  const { input = 0, written, writtenHour } = unitsFor(row, 0);
  if (input === 0) return {};
  return {
    ...(written !== undefined && { "5m": written / input }),
    ...(writtenHour !== undefined && { "1h": writtenHour / input }),
  };
}

/** Tools that run at the upstream, by the units of their prices. */
const TOOLS = { webSearches: "web_search", fileSearches: "file_search" } as const;

/** Tools that published prices have a price of, in credits a call. */
export function toolPrices(rows: readonly PriceRow[] = []): Readonly<Record<string, number>> {
  const { units = {} } = rows.at(-1) ?? {};
  return Object.fromEntries(
    Object.entries(TOOLS).flatMap(([unit, tool]) => {
      const price = units[unit as keyof typeof TOOLS];
      return typeof price === "number" ? [[tool, price / 1_000]] : [];
    }),
  );
}

/** A route with the prices that are effective at a time, in milliseconds since the epoch. */
export function routeAt(route: Route, atMs: number): Route {
  const { rows } = route;
  if (rows === undefined) return route;
  const row = rows.length === 1 ? rows[0]! : pricesAt(rows, atMs);
  if (rows.length === 1 && route.row === row) return route;
  const units = unitsFor(row, 0);
  return { ...route, rows: [row], row, units, prices: pricesOf(units) };
}

/** A route with the prices of a request with this much input. */
export function routeFor(route: Route, inputTokens: number): Route {
  const { row } = route;
  if (row === undefined || !Object.values(row.units).some(Array.isArray)) return route;
  const units = unitsFor(row, inputTokens);
  return { ...route, units, prices: pricesOf(units) };
}

/** As in `@pydantic/genai-prices`, all of a request costs what its input is above. */
function unitsFor({ units }: PriceRow, inputTokens: number): UnitPrices {
  return Object.fromEntries(
    Object.entries(units).map(([unit, price]) => {
      if (typeof price === "number") return [unit, price];
      let [now, ...above] = price;
      for (let at = 0; at + 1 < above.length; at += 2) {
        if (inputTokens > above[at]!) now = above[at + 1]!;
      }
      return [unit, now];
    }),
  );
}

/** What has no price for cached input reads it at the price of input. */
function pricesOf({ input = 0, cached = input, output = 0 }: UnitPrices): Prices {
  return { input, cached, output };
}
