import type { RouteSettings, Settings } from "../config/mod.ts";
import { type Effort, nearestEffort, type RouteReasoning } from "../../wire/dialects/mod.ts";
import { BUILTIN_ROUTES } from "./builtin.ts";
import { checkKind, inputPrices, statedKind } from "./embeddings_routes.ts";
import { listedTargets } from "./listed_routes.ts";
import type { Listings } from "./listings.ts";
import { kindByName } from "./model_names.ts";
import { ownValue } from "./own_value.ts";
import { toolPrices } from "./price_rows.ts";
import { NO_EXTRAS } from "../../wire/extras/mod.ts";
import type { Prices, Route, Target } from "./route.ts";
import {
  NEW_ROUTES,
  type RouteDefaults,
  targetDefaults,
  type TargetFacts,
  targetFacts,
} from "./route_defaults.ts";
import {
  checkUpstreams,
  DEFAULT_UPSTREAM,
  fallbackUpstream,
  mappedModels,
} from "./upstream_names.ts";

/**
 * Collects the routes of the settings, the built-in ones and those of listed models.
 *
 * @param faults Receives errors in the settings.
 * @returns The routes that have a target, built-in ones first, also those that are switched off.
 */
export function routesOf(settings: Settings, listings: Listings, faults: string[]): Route[] {
  checkUpstreams(settings, faults);
  const fallback = fallbackUpstream(settings, listings);
  const mapped = mappedModels(settings, faults);
  const listed = listedTargets(settings, listings);
  const ids = [
    ...Object.keys(BUILTIN_ROUTES),
    ...Object.keys(settings.routes),
    ...listed.keys(),
  ];
  return [...new Set(ids)].flatMap((id) => {
    const own = ownValue(settings.routes, id);
    const model = mapped(id);
    const targets: readonly Target[] | undefined = own?.targets ??
      (model === undefined ? undefined : [{ upstream: DEFAULT_UPSTREAM, model }]) ??
      listed.get(id)?.targets ??
      (fallback === undefined ? undefined : [{ upstream: fallback, model: id }]);
    if (targets === undefined) return [];
    const builtin = ownValue(BUILTIN_ROUTES, id);
    const defaults = builtin === undefined
      ? own?.targets === undefined
        ? listed.get(id)
        : targetDefaults(targets[0]!, statedKind(own), settings, listings)
      : withinLimits(builtin, targetFacts(targets[0]!, settings, listings));
    const kind = statedKind(own) ?? defaults?.kind ?? kindByName(targets[0]!.model);
    checkKind({ id, kind, isBuiltin: builtin !== undefined, own }, faults);
    const base = { ...NEW_ROUTES[kind], origin: originOf(id, own), ...defaults, kind, targets };
    return [routeOf(id, own, base, faults)];
  });
}

function originOf(id: string, own: RouteSettings | undefined): Route["origin"] {
  return own === undefined && ownValue(BUILTIN_ROUTES, id) !== undefined ? "built-in" : "settings";
}

/** A built-in route must not promise more than its first target can do. */
function withinLimits<R extends Pick<Route, "context" | "maxInput" | "maxOutput" | "images">>(
  route: R,
  { context = Infinity, maxOutput = Infinity, images = true }: TargetFacts,
): R {
  return {
    ...route,
    context: Math.min(route.context, context),
    maxInput: Math.min(route.maxInput, context),
    maxOutput: Math.min(route.maxOutput, maxOutput, context),
    images: images ? route.images : "none",
  };
}

function routeOf(
  id: string,
  own: RouteSettings | undefined,
  defaults: RouteDefaults & { readonly targets: readonly Target[] },
  faults: string[],
): Route {
  const context = own?.context ?? defaults.context;
  const maxOutput = own?.maxOutput ?? Math.min(defaults.maxOutput, context);
  const maxInput = own?.maxInput ?? Math.min(defaults.maxInput ?? context, context);
  if (maxOutput > context) {
    faults.push(
      `routes.${id}.maxOutput: must not exceed the context of ${context} tokens: got ${maxOutput}`,
    );
  }
  if (maxInput > context) {
    faults.push(
      `routes.${id}.maxInput: must not exceed the context of ${context} tokens: got ${maxInput}`,
    );
  }
  return {
    id,
    kind: defaults.kind,
    displayName: own?.displayName ?? defaults.displayName ?? id,
    context,
    maxInput,
    maxOutput,
    minimum: own?.minimum ?? defaults.minimum,
    prices: pricesOf(own, defaults),
    ...rowsFor(id, own, defaults),
    ...(own?.prices?.ownKey !== undefined && { ownKeyShare: own.prices.ownKey }),
    allow: allowedBy(own, defaults),
    images: own?.images ?? defaults.images,
    ...(defaults.tools !== undefined && { tools: defaults.tools }),
    ...reasoningOf(id, own, defaults, faults),
    ...(defaults.kind === "embeddings" && {
      dimensions: own?.dimensions ?? defaults.dimensions,
      checksDimensions: own?.dimensions !== undefined,
    }),
    origin: defaults.origin,
    targets: defaults.targets,
  };
}

/** Prices that change with time; those of the settings are all that a route costs. */
function rowsFor(
  id: string,
  own: RouteSettings | undefined,
  defaults: RouteDefaults,
): Pick<Route, "rows"> {
  if (own?.prices === undefined) return defaults.rows === undefined ? {} : { rows: defaults.rows };
  const { changes = [] } = own.prices;
  if (changes.length === 0) return {};
  const later = changes.toSorted((a, b) => Date.parse(a.from) - Date.parse(b.from));
  return {
    rows: [
      { name: `routes.${id}`, when: 0, units: { ...pricesOf(own, defaults) } },
      ...later.map(({ from, input, cached = input, output = 0 }) => ({
        name: `routes.${id} ${from}`,
        when: from,
        units: { input, cached, output },
      })),
    ],
  };
}

/** What the settings allow, and what the published prices have a price of. */
function allowedBy(own: RouteSettings | undefined, defaults: RouteDefaults): Route["allow"] {
  const { rows, writes = {}, cacheWrites = 1 } = defaults;
  return {
    ...NO_EXTRAS,
    cacheWrites,
    ...own?.allow,
    cache: { ...writes, ...own?.allow?.cache },
    tools: { ...(own?.prices === undefined ? toolPrices(rows) : {}), ...own?.allow?.tools },
  };
}

function pricesOf(own: RouteSettings | undefined, defaults: RouteDefaults): Prices {
  if (own?.prices === undefined) return defaults.prices;
  const { input, cached = input, output = 0 } = own.prices; // missing ones are a fault unless it makes embeddings
  return defaults.kind === "embeddings" ? inputPrices(input) : { input, cached, output };
}

/** Efforts of routes that do not say theirs: every provider with efforts knows these. */
const COMMON_EFFORTS: readonly Effort[] = ["low", "medium", "high"];

/** How a route reasons. */
function reasoningOf(
  id: string,
  own: RouteSettings | undefined,
  defaults: RouteReasoning,
  faults: string[],
): RouteReasoning {
  const reasoning = own?.reasoning ?? defaults.reasoning;
  if (reasoning !== "effort") {
    if (own?.efforts !== undefined) {
      faults.push(`routes.${id}.efforts: requires \`reasoning: "effort"\`: got "${reasoning}"`);
    }
    return { reasoning, efforts: [] };
  }
  const { efforts: known, defaultEffort, rejectsThinking } = defaults;
  const efforts = own?.efforts ?? (known.length > 0 ? known : COMMON_EFFORTS);
  return {
    reasoning,
    efforts,
    defaultEffort: defaultEffort && nearestEffort(defaultEffort, efforts),
    rejectsThinking,
  };
}
