import type { Reasoning } from "../dialects/mod.ts";

/** Credits per million tokens. */
export interface Prices {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** One upstream's model that can answer a route. */
export interface Target {
  readonly upstream: string;
  readonly model: string;
}

/** What a route accepts as images: none, only those in the request, or also remote addresses. */
export type ImageInput = "none" | "inline" | "remote";

/** What a caller names as `model`: limits, prices, capabilities, and who can answer. */
export interface Route {
  readonly id: string;
  readonly displayName: string;
  /** Tokens of input and output together. */
  readonly context: number;
  /** Tokens of input. */
  readonly maxInput: number;
  /** Tokens generated per answer. */
  readonly maxOutput: number;
  /** Credits that any charged request costs at least. */
  readonly minimum: number;
  readonly prices: Prices;
  readonly images: ImageInput;
  readonly reasoning: Reasoning;
  /** In failover order. */
  readonly targets: readonly Target[];
}
