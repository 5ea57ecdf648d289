import { inCredits, type Prices, settingsOfModel } from "../../settings/catalog/mod.ts";
import type { PriceOrigin, RouteLimits } from "./plan.ts";

/** US dollars per million tokens, as far as the source has them. */
export interface UsdPrices {
  readonly input: number | undefined;
  readonly cached: number | undefined;
  readonly output: number | undefined;
}

/** What a source says of one of a route's models. */
export interface SourceModel {
  /** Name by which it may be known. */
  readonly id: string;
  /** Base URL of its upstream. */
  readonly url: string;
  readonly context?: number | undefined;
  readonly maxOutput?: number | undefined;
  readonly images?: boolean | undefined;
  readonly prices?: UsdPrices | undefined;
}

/** Limits and prices of a route, and what the operator should check. */
export interface DerivedLimits {
  readonly settings: RouteLimits;
  readonly pricesFrom: PriceOrigin;
  readonly checks: readonly string[];
}

/**
 * Derives the limits and prices of a route from its models: of several, the smallest limits and the highest prices, so
 * that each model can do what the route promises and none costs more than it charges.
 *
 * @param models At least one model. What the source does not say is looked up in the catalogue of known models.
 * @param creditsPerUsd Credits for one US dollar.
 */
export function limitsOf(models: readonly SourceModel[], creditsPerUsd: number): DerivedLimits {
  const all = models.map((model) => limitsOfOne(model, creditsPerUsd));
  // a guess says nothing beside what is known of another model
  const limited = preferred(all, ({ limitsKnown }) => limitsKnown);
  const priced = preferred(all, ({ pricesFrom }) => pricesFrom !== "guess");
  const min = (of: (one: RouteLimits) => number) =>
    Math.min(...limited.map(({ settings }) => of(settings)));
  const max = (of: (one: RouteLimits) => number) =>
    Math.max(...priced.map(({ settings }) => of(settings)));
  const differ = new Set(priced.map(({ settings }) => JSON.stringify(settings.prices))).size > 1;
  return {
    settings: {
      ...limited[0]!.settings,
      context: min(({ context }) => context),
      maxOutput: min(({ maxOutput }) => maxOutput),
      ...(limited.some(({ settings: { images } }) => images === "none") && { images: "none" }),
      prices: {
        input: max(({ prices: { input } }) => input),
        cached: max(({ prices: { cached } }) => cached),
        output: max(({ prices: { output } }) => output),
      },
    },
    pricesFrom: priced.some(({ pricesFrom }) => pricesFrom === "known")
      ? "known"
      : priced[0]!.pricesFrom,
    checks: [
      ...new Set([
        ...[...limited, ...priced].flatMap(({ checks }) => checks),
        ...(differ ? ["its targets have different prices: the highest ones are charged"] : []),
      ]),
    ],
  };
}

/** Those that are preferred, if there are any. */
function preferred<T>(all: readonly T[], is: (one: T) => boolean): readonly T[] {
  return all.some(is) ? all.filter(is) : all;
}

interface LimitsOfOne extends DerivedLimits {
  /** Whether its limits come from the source or the catalogue. */
  readonly limitsKnown: boolean;
}

function limitsOfOne(model: SourceModel, creditsPerUsd: number): LimitsOfOne {
  const { id, url, prices, images } = model;
  const maxOutput = model.maxOutput;
  const context = model.context === undefined ? undefined : Math.max(model.context, maxOutput ?? 1);
  const { settings, isKnown } = settingsOfModel({ id, context, maxOutput }, { url, creditsPerUsd });
  const checks: string[] = [];
  const given = prices?.input ?? prices?.output;
  const own = given === undefined || prices === undefined
    ? settings.prices
    : charged(prices, isKnown ? settings.prices : undefined, { creditsPerUsd, checks });
  if (given === undefined && !isKnown) {
    checks.push(
      "the source has no prices, and the model is not a known one: its prices are a guess",
    );
  }
  if (!isKnown && (context === undefined || maxOutput === undefined)) {
    checks.push("the model is not a known one: limits that the source does not have are cautious");
  }
  return {
    settings: {
      ...settings,
      prices: own,
      ...(images !== undefined && { images: images ? "remote" : "none" }),
    },
    pricesFrom: given !== undefined ? "source" : isKnown ? "known" : "guess",
    limitsKnown: isKnown || context !== undefined,
    checks,
  };
}

/** What the source does not say of a known model is taken from the catalogue. */
function charged(
  source: UsdPrices,
  known: Prices | undefined,
  { creditsPerUsd, checks }: { readonly creditsPerUsd: number; readonly checks: string[] },
): Prices {
  const credits = inCredits(creditsPerUsd);
  const input = credits(source.input ?? 0);
  if (source.output === undefined) {
    checks.push(
      `the source has no output price: output is charged ${
        known === undefined ? "like input" : "as published"
      }`,
    );
  }
  return {
    input,
    cached: source.cached === undefined
      ? Math.min(known?.cached ?? input, input)
      : credits(source.cached),
    output: source.output === undefined ? known?.output ?? input : credits(source.output),
  };
}
