import type { Reasoning } from "../dialects/mod.ts";

/** Credits per million tokens. */
export interface Prices {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** A model of an upstream that can serve a route. */
export interface Target {
  readonly upstream: string;
  readonly model: string;
}

/** Which images a route accepts: none, only inline ones, or also remote URLs. */
export type ImageInput = "none" | "inline" | "remote";

/**
 * Where a route's limits and prices come from: `built-in`, the `settings`, what is `known` of a listed model, or a `guess`
 * because nothing is.
 */
export type RouteOrigin = "built-in" | "settings" | "known" | "guess";

/** A model that callers can use: limits, prices, capabilities and targets. */
export interface Route {
  readonly id: string;
  readonly displayName: string;
  /** Context window: max input and output tokens together. */
  readonly context: number;
  /** Max input tokens. */
  readonly maxInput: number;
  /** Max output tokens per choice. */
  readonly maxOutput: number;
  /** Minimum charge of a request, in credits. */
  readonly minimum: number;
  readonly prices: Prices;
  readonly images: ImageInput;
  readonly reasoning: Reasoning;
  readonly origin: RouteOrigin;
  /** Upstreams and models, in failover order. */
  readonly targets: readonly Target[];
}
