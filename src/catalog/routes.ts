import type { RouteSettings, Settings } from "../config/mod.ts";
import { type Effort, EFFORTS, nearestEffort, type RouteReasoning } from "../dialects/mod.ts";
import { findKnownModel, type KnownModel } from "../known_models/mod.ts";
import { closestString } from "../std/mod.ts";
import { BUILTIN_ROUTES } from "./builtin.ts";
import {
  canEmbed,
  checkKind,
  inputPrices,
  kindOfModel,
  knownEmbeddings,
  NEW_EMBEDDINGS_ROUTE,
  statedKind,
  UNKNOWN_EMBEDDINGS_MODEL,
} from "./embeddings_routes.ts";
import type { ListedModel, Listings } from "./listings.ts";
import { kindByName, USABLE_NAME, whyNotServed } from "./model_names.ts";
import type { Prices, Route, RouteKind, Target } from "./route.ts";

/** Name of the upstream that `upstream.url` (`SLUICE_UPSTREAM_URL`) configures. */
export const DEFAULT_UPSTREAM = "default";
/** Name of the built-in upstream. */
export const SIMULATOR = "simulator";

/** A route of the settings that says nothing of its own. */
const NEW_ROUTE = {
  kind: "generation",
  context: 128_000,
  maxOutput: 128_000,
  minimum: 1,
  prices: { input: 100, cached: 25, output: 400 },
  images: "none",
  reasoning: "none",
  efforts: [],
} as const;

/** A listed model of which nothing is known: so little that most models can do it. */
const UNKNOWN_MODEL = { ...NEW_ROUTE, context: 32_768, maxOutput: 8_192 } as const;

const NEW_ROUTES = { generation: NEW_ROUTE, embeddings: NEW_EMBEDDINGS_ROUTE } as const;
const UNKNOWN_MODELS = { generation: UNKNOWN_MODEL, embeddings: UNKNOWN_EMBEDDINGS_MODEL } as const;

/** What a route has where the settings say nothing. */
type RouteDefaults = Omit<Route, "id" | "displayName" | "maxInput" | "targets"> & {
  readonly displayName?: string;
  readonly maxInput?: number;
};

/**
 * Collects the routes of the settings, the built-in ones and those of listed models.
 *
 * @param settings The settings.
 * @param listings What upstreams list.
 * @param faults Receives errors in the settings.
 * @returns The routes that have a target, built-in ones first.
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

/** What is known of a target's model: limits that the upstream lists, else those that are published. */
export interface TargetFacts {
  /** What its maker publishes it for. */
  readonly kind?: RouteKind | undefined;
  readonly context?: number | undefined;
  readonly maxOutput?: number | undefined;
  readonly images?: boolean | undefined;
  /** Prices that are published, in credits per million tokens. */
  readonly prices?: Prices | undefined;
}

/**
 * Looks up what is known of a target's model.
 *
 * @param target The upstream and the model.
 * @param settings For the upstream's address and the value of a credit.
 * @param listings What upstreams list.
 * @returns What is known; nothing for the simulator.
 */
export function targetFacts(
  { upstream, model }: Target,
  settings: Settings,
  listings: Listings,
): TargetFacts {
  const url = urlOf(upstream, settings);
  if (url === undefined) return {};
  const listed = listings.get(upstream)?.find(({ id }) => id === model);
  const known = findKnownModel(model, url);
  return {
    kind: known && kindOfModel(model, known),
    context: listed?.context ?? known?.context,
    maxOutput: listed?.maxOutput ?? known?.maxOutput,
    images: known?.images,
    prices: known?.prices && knownDefaults(known, settings.credits.perUsd).prices,
  };
}

/** Limits, prices and capabilities of a route of the settings, by its first target; nothing if that is not known. */
function targetDefaults(
  { upstream, model }: Target,
  kind: RouteKind | undefined,
  settings: Settings,
  listings: Listings,
): Omit<RouteDefaults, "origin"> | undefined {
  const url = urlOf(upstream, settings);
  if (url === undefined) return undefined;
  const known = findKnownModel(model, url);
  const listed = listings.get(upstream)?.find(({ id }) => id === model);
  if (known === undefined && listed?.context === undefined) return undefined;
  const { origin: _, ...defaults } = defaultsOf(
    listed ?? { id: model },
    known,
    settings.credits.perUsd,
    kind,
  );
  return defaults;
}

function urlOf(upstream: string, { upstream: byDefault, upstreams }: Settings): string | undefined {
  return upstream === DEFAULT_UPSTREAM ? byDefault.url : ownValue(upstreams, upstream)?.url;
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

/** Names of upstreams that targets may have. */
function upstreamNames({ upstream, upstreams }: Settings): string[] {
  return [
    SIMULATOR,
    ...Object.keys(upstreams),
    ...(upstream.url === undefined ? [] : [DEFAULT_UPSTREAM]),
  ];
}

function checkUpstreams(settings: Settings, faults: string[]): void {
  const { upstream, upstreams, routes } = settings;
  if (Object.hasOwn(upstreams, SIMULATOR)) {
    faults.push(
      `upstreams.${SIMULATOR}: this name is reserved for the built-in upstream; choose another name`,
    );
  }
  if (upstream.url !== undefined && Object.hasOwn(upstreams, DEFAULT_UPSTREAM)) {
    faults.push(
      `upstreams.${DEFAULT_UPSTREAM}: this name is used by upstream.url (SLUICE_UPSTREAM_URL); choose another name`,
    );
  }
  const known = upstreamNames(settings);
  for (const [id, { targets = [] }] of Object.entries(routes)) {
    targets.forEach((target, index) => {
      if (known.includes(target.upstream)) return;
      faults.push(
        `routes.${id}.targets[${index}].upstream: unknown upstream '${target.upstream}'; ` +
          `did you mean '${closestString(target.upstream, known)}'?`,
      );
    });
  }
}

/**
 * Returns the upstream for routes without targets: the simulator if no upstream is configured, else the only one unless
 * it lists its models, under whose names they are served. With several upstreams, such routes are not available:
 * guessing would send prompts to a provider that the operator did not choose.
 */
function fallbackUpstream(settings: Settings, listings: Listings): string | undefined {
  const [only = SIMULATOR, ...others] = upstreamNames(settings).slice(1);
  if (others.length > 0 || listings.has(only)) return undefined;
  return only;
}

/** Settings for a route to a model that an upstream lists. */
export interface ListedSettings extends Omit<RouteSettings, "targets"> {
  readonly prices: Prices;
  readonly context: number;
  readonly maxOutput: number;
}

/**
 * Returns the settings of a route to a model, so that they can be written down and changed.
 *
 * @param model The model, with limits if its upstream lists some.
 * @param of Base URL of the upstream, and credits for one US dollar.
 * @returns The settings, and whether anything is known of the model; otherwise they are cautious.
 */
export function settingsOfModel(
  model: ListedModel,
  { url, creditsPerUsd }: { readonly url: string; readonly creditsPerUsd: number },
): { readonly settings: ListedSettings; readonly isKnown: boolean } {
  const known = findKnownModel(model.id, url);
  const { context, maxOutput, prices, images, reasoning, efforts } = defaultsOf(
    model,
    known,
    creditsPerUsd,
    "generation",
  );
  return {
    settings: {
      context,
      maxOutput,
      prices,
      images,
      reasoning,
      ...(reasoning === "effort" && efforts.length > 0 && { efforts: [...efforts] }),
    },
    isKnown: known !== undefined,
  };
}

/**
 * Returns the settings of a route of kind `embeddings` to a model, so that they can be written down and changed.
 *
 * @param model The model, with its context if its upstream lists it.
 * @param of Base URL of the upstream, and credits for one US dollar.
 * @returns The settings; `undefined` if the model is for replies.
 */
export function embeddingsSettings(
  model: ListedModel,
  { url, creditsPerUsd }: { readonly url: string; readonly creditsPerUsd: number },
): RouteSettings | undefined {
  const { kind, context, prices } = defaultsOf(model, findKnownModel(model.id, url), creditsPerUsd);
  if (kind !== "embeddings") return undefined;
  return { kind, context, prices: { input: prices.input } };
}

/** The upstream's models behind built-in routes, by `upstream.model` (`SLUICE_UPSTREAM_MODEL`). */
function mappedModels(
  { upstream: { url, model } }: Settings,
  faults: string[],
): (id: string) => string | undefined {
  if (model === undefined) return () => undefined;
  if (url === undefined) {
    faults.push("upstream.model: needs upstream.url (SLUICE_UPSTREAM_URL)");
    return () => undefined;
  }
  const builtin = Object.keys(BUILTIN_ROUTES);
  if (!model.includes("=")) return (id) => builtin.includes(id) ? model : undefined;
  const pairs = new Map<string, string>();
  for (const pair of model.split(",").map((one) => one.trim()).filter((one) => one !== "")) {
    const [id = "", name = ""] = splitOnce(pair, "=");
    if (!builtin.includes(id)) {
      faults.push(
        `upstream.model: '${id}' is not a built-in route; did you mean '${
          closestString(id, builtin)
        }'?`,
      );
    } else if (name === "") {
      faults.push(`upstream.model: '${pair}' must be a pair such as ${id}=model-name`);
    } else pairs.set(id, name);
  }
  return (id) => pairs.get(id);
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at).trim(), text.slice(at + separator.length).trim()];
}

/** Routes of listed models, by ID: the model's name, or `upstream/name` where several upstreams have it. */
function listedTargets(
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
    if (!USABLE_NAME.test(id) || isReserved(id, upstream, settings)) continue;
    const url = urlOf(upstream, settings);
    if (url === undefined) continue; // a listing of earlier settings
    const known = findKnownModel(model.id, url);
    const own = ownValue(settings.routes, id);
    const defaults = defaultsOf(model, known, settings.credits.perUsd, statedKind(own));
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

/** The value of a key that an object itself has; `constructor` is a name like any other. */
function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Limits, prices and capabilities of a listed model. What the upstream says of itself counts most. */
function defaultsOf(
  listed: ListedModel,
  known: KnownModel | undefined,
  creditsPerUsd: number,
  kind = kindOfModel(listed.id, known),
): RouteDefaults {
  // what is known of a model for another purpose says nothing
  const used = known !== undefined && kindOfModel(listed.id, known) === kind ? known : undefined;
  const base = used === undefined ? UNKNOWN_MODELS[kind] : knownDefaults(used, creditsPerUsd);
  const context = listed.context ?? base.context;
  return {
    ...base,
    context,
    maxOutput: kind === "embeddings" ? 0 : Math.min(listed.maxOutput ?? base.maxOutput, context),
    origin: used === undefined ? "guess" : "known",
  };
}

/**
 * Converts what is known of a model to a route's defaults.
 *
 * @param known The model.
 * @param creditsPerUsd Credits for one US dollar; prices are rounded up to whole credits per million tokens.
 * @returns Limits, prices and capabilities.
 */
export function knownDefaults(
  known: KnownModel,
  creditsPerUsd: number,
): Omit<RouteDefaults, "origin"> {
  const credits = (usd: number) => Math.ceil(usd * creditsPerUsd - 1e-9);
  if (known.embeds) return knownEmbeddings(known, credits);
  const { context, maxOutput, prices, images, reasoning, efforts, provider } = known;
  const inCredits: Prices = prices === undefined ? NEW_ROUTE.prices : {
    input: credits(prices.input),
    cached: credits(prices.cached),
    output: credits(prices.output),
  };
  return {
    kind: "generation",
    context,
    maxOutput,
    minimum: NEW_ROUTE.minimum,
    prices: inCredits,
    images: images ? "remote" : "none",
    efforts: EFFORTS.filter((effort) => efforts.includes(effort)),
    reasoning: !reasoning
      ? "none"
      : provider === "anthropic"
      ? "thinking"
      : efforts.length > 0
      ? "effort"
      : "thinking",
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
    images: own?.images ?? defaults.images,
    ...reasoningOf(id, own, defaults, faults),
    ...(defaults.kind === "embeddings" && {
      dimensions: own?.dimensions ?? defaults.dimensions,
      checksDimensions: own?.dimensions !== undefined,
    }),
    origin: defaults.origin,
    targets: defaults.targets,
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
