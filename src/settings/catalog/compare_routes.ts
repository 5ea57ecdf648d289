import type { Settings } from "../config/mod.ts";
import { type DisputedPrice, disputedPrices } from "../known_models/mod.ts";
import { BUILTIN_ROUTES } from "./builtin.ts";
import type { Catalog } from "./catalog.ts";
import type { Listings } from "./listings.ts";
import { ownValue } from "./own_value.ts";
import type { Route, Target } from "./route.ts";
import { targetFacts } from "./route_defaults.ts";
import { knownUrlOf } from "./upstream_names.ts";

/** Prices that requests are charged by. */
const ALL = ["input", "cached", "output"] as const;
const INPUT = ["input"] as const;

/** A route that is charged by published prices on which the sources do not agree. */
export interface DisputedRoute extends Pick<Target, "upstream" | "model"> {
  readonly id: string;
  readonly prices: readonly DisputedPrice[];
}

/** Finds routes whose published prices are disputed. Of those with prices of their own, somebody has decided. */
export function disputedRoutes(
  { routes }: Pick<Catalog, "routes">,
  settings: Settings,
): DisputedRoute[] {
  return routes.flatMap(({ id, kind, targets: [first] }) => {
    const { upstream, model } = first!;
    const url = knownUrlOf(upstream, settings);
    const isOwn = ownValue(BUILTIN_ROUTES, id) !== undefined ||
      ownValue(settings.routes, id)?.prices !== undefined;
    const charged: readonly string[] = kind === "embeddings" ? INPUT : ALL;
    const prices = isOwn || url === undefined
      ? []
      : disputedPrices(model, url).filter(({ what }) => charged.includes(what));
    return prices.length === 0 ? [] : [{ id, upstream, model, prices }];
  });
}

/**
 * Compares routes of the settings with what is known of their targets.
 *
 * @returns One sentence for each limit, capability or price that promises more than the target can do, asks for less than
 *   it costs, or leaves much of it unused.
 */
export function compareWithKnown(
  { routes }: Pick<Catalog, "routes">,
  settings: Settings,
  listings: Listings,
): string[] {
  return routes.filter(({ id }) => Object.hasOwn(settings.routes, id))
    .flatMap((route) => route.targets.flatMap((target) => differences(route, target)));

  function differences(route: Route, target: Target): string[] {
    const { kind, context, maxOutput, images, prices } = targetFacts(target, settings, listings);
    const of = `routes.${route.id}`;
    const model = `${target.model} (${target.upstream})`;
    if (kind !== undefined && kind !== route.kind) {
      const use = kind === "embeddings" ? "only makes embeddings" : "makes no embeddings";
      return [`${of}.kind: ${route.kind}, but ${model} ${use}`];
    }
    const found: string[] = [];
    const compare = (name: string, own: number, known: number | undefined) => {
      if (known === undefined) return;
      if (own > known) found.push(`${of}.${name}: ${own} is more than the ${known} of ${model}`);
      else if (own < known / 2) {
        found.push(`${of}.${name}: ${own} is less than half of the ${known} of ${model}`);
      }
    };
    compare("context", route.context, context);
    if (route.kind === "generation") compare("maxOutput", route.maxOutput, maxOutput);
    if (images === false && route.images !== "none") {
      found.push(`${of}.images: ${route.images}, but ${model} takes no images`);
    }
    if (images === true && route.images === "none") {
      found.push(`${of}.images: none, but ${model} takes images`);
    }
    const charged = route.kind === "embeddings" ? INPUT : ALL;
    for (const field of charged) {
      const own = route.prices[field];
      const known = prices?.[field];
      if (known !== undefined && own < known) {
        found.push(
          `${of}.prices.${field}: ${own} credits per million tokens is less than the ${known} that ${model} costs`,
        );
      }
    }
    return found;
  }
}
