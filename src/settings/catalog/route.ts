import type { RouteReasoning } from "../../wire/dialects/mod.ts";
import type { PriceRow, Prices, UnitPrices } from "./prices.ts";
import type { AllowedExtras } from "../../wire/extras/mod.ts";

export type { Prices };

/** What may be sent somewhere; undefined for any amount. */
export interface SentBounds {
  /** Requests at once. */
  readonly atOnce?: number | undefined;
  readonly requestsPerMinute?: number | undefined;
  /** Tokens of input and of permitted output. */
  readonly tokensPerMinute?: number | undefined;
  /** How long a request waits for its turn before the next target is tried. */
  readonly waitMs: number;
}

/** A model of an upstream that can serve a route. */
export interface Target {
  readonly upstream: string;
  readonly model: string;
  /**
   * Its share of the route's conversations, in proportion to the others'. Undefined or 0: only while none with a share
   * can reply.
   */
  readonly weight?: number | undefined;
  readonly limits?: SentBounds | undefined;
}

/** Which images a route accepts: none, only inline ones, or also remote URLs. */
export type ImageInput = "none" | "inline" | "remote";

/**
 * Where a route's limits and prices come from: `built-in`, the `settings`, what is `known` of a listed model, or a `guess`
 * because nothing is.
 */
export type RouteOrigin = "built-in" | "settings" | "known" | "guess";

/** What a route's models are for: replies to conversations, or embeddings of texts. */
export type RouteKind = "generation" | "embeddings";

/** A model that callers can use: limits, prices, capabilities and targets. */
export interface Route extends RouteReasoning {
  readonly id: string;
  readonly kind: RouteKind;
  readonly displayName: string;
  /** Context window: max input and output tokens together. */
  readonly context: number;
  /** Max input tokens; of embeddings, those of each input. */
  readonly maxInput: number;
  /** Max output tokens per choice; 0 for embeddings. */
  readonly maxOutput: number;
  /** Minimum charge of a request, in credits. */
  readonly minimum: number;
  readonly prices: Prices;
  /** Published prices, of which one is effective at a time; undefined where the settings say the prices. */
  readonly rows?: readonly PriceRow[] | undefined;
  /** The one that is effective for a request. */
  readonly row?: PriceRow | undefined;
  /** Its prices for the request's amount of input. */
  readonly units?: UnitPrices | undefined;
  /** Part of the price, from 0 to 1, of replies that came with a key of the caller's own; undefined for 0. */
  readonly ownKeyShare?: number | undefined;
  /** What may be asked for besides text and the caller's own tools; undefined for nothing that costs more. */
  readonly allow?: AllowedExtras | undefined;
  readonly images: ImageInput;
  /** Whether its model is known to call tools; undefined if nothing is known. Tools are passed on either way. */
  readonly tools?: boolean | undefined;
  /** Length of the embeddings, as far as it is known. */
  readonly dimensions?: number | undefined;
  /** Whether replies with embeddings of another length are rejected: the settings name it. */
  readonly checksDimensions?: boolean | undefined;
  readonly origin: RouteOrigin;
  /** Upstreams and models, in failover order where no weights say otherwise. */
  readonly targets: readonly Target[];
}

/**
 * Describes the targets of a route in the order in which they are tried.
 *
 * @returns Such as `a:m → b:m`; those that share by weight stand together: `a:m (3), b:m (1) → c:m`.
 */
export function describeTargets(targets: readonly Target[]): string {
  const name = ({ upstream, model }: Target) => `${upstream}:${model}`;
  const shared = targets.filter(({ weight = 0 }) => weight > 0);
  const rest = targets.filter((target) => !shared.includes(target));
  const first = shared.map((target) => `${name(target)} (${target.weight})`).join(", ");
  return [...(first === "" ? [] : [first]), ...rest.map(name)].join(" → ");
}
