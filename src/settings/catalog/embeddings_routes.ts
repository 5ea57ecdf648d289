import type { RouteSettings, Settings } from "../config/mod.ts";
import { servesEmbeddings } from "../../wire/embeddings/mod.ts";
import type { KnownModel } from "../known_models/mod.ts";
import { kindByName } from "./model_names.ts";
import type { Prices, Route, RouteKind, Target } from "./route.ts";

/** What every route of kind `embeddings` has instead of output, images and reasoning. */
const EMBEDDINGS = {
  kind: "embeddings",
  maxOutput: 0,
  minimum: 1,
  images: "none",
  reasoning: "none",
  efforts: [],
} as const;

/** Credits per million input tokens where nothing is known. */
const INPUT_PRICE = 100;

/** An embeddings route of the settings that has no limits or prices of its own. */
export const NEW_EMBEDDINGS_ROUTE = {
  ...EMBEDDINGS,
  context: 8_192,
  prices: inputPrices(INPUT_PRICE),
} as const;

/** A listed embeddings model of which nothing is known: an input that most of them accept. */
export const UNKNOWN_EMBEDDINGS_MODEL = { ...NEW_EMBEDDINGS_ROUTE, context: 2_048 } as const;

/**
 * Converts what is known of an embeddings model to a route's defaults.
 *
 * @param credits Converts US dollars per million tokens to credits.
 */
export function knownEmbeddings(
  { context, prices, dimensions }: KnownModel,
  credits: (usd: number) => number,
) {
  const price = prices === undefined ? INPUT_PRICE : credits(prices.input);
  return { ...EMBEDDINGS, context, prices: inputPrices(price), dimensions };
}

/** Returns the prices of a model that only reads. */
export function inputPrices(input: number): Prices {
  return { input, cached: input, output: 0 };
}

/** Returns what a model is for: as its maker publishes it, otherwise by its name. */
export function kindOfModel(id: string, known: KnownModel | undefined): RouteKind {
  if (known === undefined) return kindByName(id);
  return known.embeds ? "embeddings" : "generation";
}

/** Settings that a route of kind `embeddings` has no use for. */
const WITHOUT_USE = ["maxOutput", "images", "reasoning", "efforts"] as const;

/**
 * Returns the kind that a route's settings have: the one that they name, or `generation` if they have what only that needs.
 *
 * @param own The settings.
 * @returns The kind; `undefined` if they leave it open.
 */
export function statedKind(own: RouteSettings | undefined): RouteKind | undefined {
  if (own === undefined) return undefined;
  const isUsed = WITHOUT_USE.some((field) => own[field] !== undefined && own[field] !== "none");
  return own.kind ?? (isUsed ? "generation" : undefined);
}

/**
 * Collects errors of a route's settings that follow from its kind.
 *
 * @param route The route, and its settings if it has some.
 * @param faults Receives the errors.
 */
export function checkKind(
  { id, kind, isBuiltin, own }: {
    readonly id: string;
    readonly kind: RouteKind;
    readonly isBuiltin: boolean;
    readonly own: RouteSettings | undefined;
  },
  faults: string[],
): void {
  if (own === undefined) return;
  if (kind === "embeddings") {
    if (isBuiltin) {
      faults.push(`routes.${id}.kind: must be "generation" for a built-in route: got "embeddings"`);
    }
    for (const field of WITHOUT_USE) {
      const value = own[field];
      if (value === undefined || value === "none") continue;
      faults.push(`routes.${id}.${field}: does not apply to a route of kind "embeddings"`);
    }
    return;
  }
  if (own.dimensions !== undefined) {
    faults.push(`routes.${id}.dimensions: requires \`kind: "embeddings"\`: got "generation"`);
  }
  if (own.prices === undefined) return;
  for (const field of ["cached", "output"] as const) {
    if (own.prices[field] === undefined) {
      faults.push(
        `routes.${id}.prices.${field}: is missing: a route of kind "generation" needs it`,
      );
    }
  }
  for (const { from, output } of own.prices.changes ?? []) {
    if (output !== undefined) continue;
    faults.push(
      `routes.${id}.prices.output: is missing from ${from} on: a route of kind "generation" needs it`,
    );
  }
}

/**
 * Collects what is wrong with the targets of embeddings routes: upstreams of the messages dialect have no embeddings.
 *
 * @param settings For the dialects of upstreams.
 * @param found Receives faults, for routes that no target can serve, and warnings.
 */
export function checkEmbeddingsTargets(
  routes: readonly Route[],
  settings: Settings,
  { faults, warnings }: { readonly faults: string[]; readonly warnings: string[] },
): void {
  for (const { id, targets } of routes.filter(({ kind }) => kind === "embeddings")) {
    const unable = targets.filter((target) => !canEmbed(target, settings));
    const receiver = unable.length === targets.length ? faults : warnings;
    for (const { upstream } of unable) {
      receiver.push(
        `routes.${id}.targets[${
          targets.findIndex((one) => one.upstream === upstream)
        }].upstream: ` +
          `'${upstream}' speaks the messages dialect, which has no embeddings`,
      );
    }
  }
}

/** Whether the target's upstream has an endpoint for embeddings. */
export function canEmbed(
  { upstream }: Pick<Target, "upstream">,
  { upstream: byDefault, upstreams }: Settings,
): boolean {
  const own = Object.hasOwn(upstreams, upstream) ? upstreams[upstream] : undefined;
  // the upstream without a name is the only other one that settings give a dialect
  return servesEmbeddings(own?.dialect ?? (upstream === "default" ? byDefault.dialect : "chat"));
}
