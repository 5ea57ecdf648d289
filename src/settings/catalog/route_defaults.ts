import type { RouteSettings, Settings } from "../config/mod.ts";
import { EFFORTS } from "../../wire/dialects/mod.ts";
import { findKnownModel, type KnownModel } from "../known_models/mod.ts";
import { findKnownPrices, type KnownPrices } from "../known_prices/mod.ts";
import { inCredits } from "./price.ts";
import { rowsOf } from "./price_rows.ts";
import {
  kindOfModel,
  knownEmbeddings,
  NEW_EMBEDDINGS_ROUTE,
  UNKNOWN_EMBEDDINGS_MODEL,
} from "./embeddings_routes.ts";
import type { ListedModel, Listings } from "./listings.ts";
import type { Prices, Route, RouteKind, Target } from "./route.ts";
import { knownUrlOf } from "./upstream_names.ts";

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

export const NEW_ROUTES = { generation: NEW_ROUTE, embeddings: NEW_EMBEDDINGS_ROUTE } as const;
const UNKNOWN_MODELS = { generation: UNKNOWN_MODEL, embeddings: UNKNOWN_EMBEDDINGS_MODEL } as const;

/** What a route has where the settings say nothing. */
export type RouteDefaults =
  & Omit<Route, "id" | "displayName" | "maxInput" | "targets" | "allow">
  & {
    readonly displayName?: string;
    readonly maxInput?: number;
    /** The published factor of the input price for what is written to a prompt cache; 1 if left out. */
    readonly cacheWrites?: number | undefined;
    /** Such factors by lifetime. */
    readonly writes?: Readonly<Record<string, number>> | undefined;
  };

/** What is published of a model: its prices alone where nothing else is known. */
export function publishedOf(model: string, url: string) {
  const known = findKnownModel(model, url);
  return { known, priced: known === undefined ? findKnownPrices(model, { url }) : undefined };
}

/** Limits, prices and capabilities of a listed model. What the upstream says of itself counts most. */
export function defaultsOf(
  listed: ListedModel,
  { known, priced }: Partial<ReturnType<typeof publishedOf>>,
  creditsPerUsd: number,
  kind = kindOfModel(listed.id, known),
): RouteDefaults {
  // what is known of a model for another purpose says nothing
  const used = known !== undefined && kindOfModel(listed.id, known) === kind ? known : undefined;
  const base = used === undefined ? UNKNOWN_MODELS[kind] : knownDefaults(used, creditsPerUsd);
  const context = listed.context ?? base.context;
  return {
    ...base,
    ...(used === undefined && priced !== undefined && pricedBy(priced, creditsPerUsd)),
    context,
    maxOutput: kind === "embeddings" ? 0 : Math.min(listed.maxOutput ?? base.maxOutput, context),
    origin: used === undefined ? "guess" : "known",
  };
}

/**
 * Converts what is known of a model to a route's defaults.
 *
 * @param creditsPerUsd Credits for one US dollar; prices are rounded up to whole credits per million tokens.
 */
export function knownDefaults(
  known: KnownModel,
  creditsPerUsd: number,
): Omit<RouteDefaults, "origin"> {
  const credits = inCredits(creditsPerUsd);
  if (known.embeds) return knownEmbeddings(known, credits);
  const { context, maxOutput, prices, images, tools, reasoning, efforts, provider } = known;
  const shown: Prices = prices === undefined ? NEW_ROUTE.prices : {
    input: credits(prices.input),
    cached: credits(prices.cached),
    output: credits(prices.output),
  };
  return {
    kind: "generation",
    context,
    maxOutput,
    minimum: NEW_ROUTE.minimum,
    prices: shown,
    cacheWrites: prices?.cacheWrites,
    ...(known.priceRows !== undefined && pricedBy(known.priceRows, creditsPerUsd)),
    images: images ? "remote" : "none",
    tools,
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

function pricedBy(
  known: KnownPrices,
  creditsPerUsd: number,
): Pick<RouteDefaults, "rows" | "prices" | "writes"> {
  return rowsOf(known, inCredits(creditsPerUsd));
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
 * @param settings For the upstream's address and the value of a credit.
 * @returns What is known; nothing for the simulator.
 */
export function targetFacts(
  { upstream, model }: Target,
  settings: Settings,
  listings: Listings,
): TargetFacts {
  const url = knownUrlOf(upstream, settings);
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
export function targetDefaults(
  { upstream, model }: Target,
  kind: RouteKind | undefined,
  settings: Settings,
  listings: Listings,
): Omit<RouteDefaults, "origin"> | undefined {
  const url = knownUrlOf(upstream, settings);
  if (url === undefined) return undefined;
  const { known, priced } = publishedOf(model, url);
  const listed = listings.get(upstream)?.find(({ id }) => id === model);
  if (known === undefined && listed?.context === undefined) {
    return priced && pricedOnly(priced, settings.credits.perUsd, kind);
  }
  const { origin: _, ...defaults } = defaultsOf(
    listed ?? { id: model },
    { known, priced },
    settings.credits.perUsd,
    kind,
  );
  return defaults;
}

/** A route of which the settings say the limits, or which has those of a new one. */
function pricedOnly(
  priced: KnownPrices,
  creditsPerUsd: number,
  kind: RouteKind = "generation",
): Omit<RouteDefaults, "origin"> {
  return { ...NEW_ROUTES[kind], ...pricedBy(priced, creditsPerUsd) };
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
  const published = publishedOf(model.id, url);
  const defaults = defaultsOf(model, published, creditsPerUsd, "generation");
  const { context, maxOutput, prices, images, reasoning, efforts } = defaults;
  return {
    settings: {
      context,
      maxOutput,
      prices,
      images,
      reasoning,
      ...(reasoning === "effort" && efforts.length > 0 && { efforts: [...efforts] }),
    },
    isKnown: published.known !== undefined,
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
  const known = findKnownModel(model.id, url);
  const { kind, context, prices } = defaultsOf(model, { known }, creditsPerUsd);
  if (kind !== "embeddings") return undefined;
  return { kind, context, prices: { input: prices.input } };
}
