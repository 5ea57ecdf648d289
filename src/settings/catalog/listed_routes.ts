import { ROUTE_ID, type Settings } from "../config/mod.ts";
import { BUILTIN_ROUTES } from "./builtin.ts";
import { canEmbed, statedKind } from "./embeddings_routes.ts";
import type { Listings } from "./listings.ts";
import { whyNotServed } from "./model_names.ts";
import { ownValue } from "./own_value.ts";
import type { Target } from "./route.ts";
import { defaultsOf, publishedOf, type RouteDefaults } from "./route_defaults.ts";
import { DEFAULT_UPSTREAM, knownUrlOf, SIMULATOR } from "./upstream_names.ts";

/** Routes of listed models, by ID: the model's name, or `upstream/name` where several upstreams have it. */
export function listedTargets(
  settings: Settings,
  listings: Listings,
): ReadonlyMap<string, RouteDefaults & { readonly targets: readonly Target[] }> {
  const models = [...listings].flatMap(([upstream, all]) =>
    all.filter(({ id }) => whyNotServed(id) === undefined)
      .map((model) => ({ upstream, model }))
  );
  const byName = Map.groupBy(models, ({ model }) => model.id);
  const routes = new Map<string, RouteDefaults & { readonly targets: readonly Target[] }>();
  for (const { upstream, model } of models) {
    const isShared = new Set(byName.get(model.id)?.map((one) => one.upstream)).size > 1;
    const id = isShared || isReserved(model.id, upstream, settings)
      ? `${upstream}/${model.id}`
      : model.id;
    if (!ROUTE_ID.test(id) || isReserved(id, upstream, settings)) continue;
    const url = knownUrlOf(upstream, settings);
    if (url === undefined) continue; // a listing of earlier settings
    const kind = statedKind(ownValue(settings.routes, id));
    const published = publishedOf(model.id, url);
    const defaults = defaultsOf(model, published, settings.credits.perUsd, kind);
    if (defaults.kind === "embeddings" && !canEmbed({ upstream }, settings)) continue;
    routes.set(id, { ...defaults, targets: [{ upstream, model: model.id }] });
  }
  return routes;
}

/**
 * Whether a name is the operator's to give: an alias, a second name of a configured route, or below the name of another
 * upstream. An upstream must not get another one's requests by what it lists.
 */
function isReserved(name: string, upstream: string, settings: Settings): boolean {
  const { aliases, routes, upstreams } = settings;
  const isAlias = Object.keys(aliases).some((alias) =>
    alias.endsWith("*") ? name.startsWith(alias.slice(0, -1)) : name === alias
  );
  const second = name.startsWith("claude-") ? name.slice("claude-".length) : "";
  const isSecondName = Object.hasOwn(BUILTIN_ROUTES, second) || Object.hasOwn(routes, second);
  const isBelowAnother = [DEFAULT_UPSTREAM, SIMULATOR, ...Object.keys(upstreams)].some((other) =>
    other !== upstream && name.startsWith(`${other}/`)
  );
  return isAlias || isSecondName || isBelowAnother;
}
