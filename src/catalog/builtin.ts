import type { Route } from "./route.ts";

type BuiltinRoute = Omit<Route, "id" | "targets" | "origin">;

const K2 = { input: 100, cached: 25, output: 400 };
const K2_CODE = { input: 150, cached: 40, output: 650 };

/** The six built-in routes by ID. Prices are defaults of the settings, in credits per million tokens. */
export const BUILTIN_ROUTES: Readonly<Record<string, BuiltinRoute>> = {
  "svc-k2": {
    kind: "generation",
    displayName: "K2",
    context: 128_000,
    maxInput: 128_000,
    maxOutput: 8_192,
    minimum: 1,
    prices: K2,
    images: "none",
    reasoning: "none",
    efforts: [],
  },
  "svc-k2-0905": {
    kind: "generation",
    displayName: "K2 0905",
    context: 256_000,
    maxInput: 256_000,
    maxOutput: 128_000,
    minimum: 1,
    prices: K2,
    images: "none",
    reasoning: "none",
    efforts: [],
  },
  "svc-k2.5": {
    kind: "generation",
    displayName: "K2.5",
    context: 256_000,
    maxInput: 256_000,
    maxOutput: 128_000,
    minimum: 2,
    prices: { input: 100, cached: 25, output: 500 },
    images: "inline",
    reasoning: "thinking",
    efforts: [],
  },
  "svc-k2.6": {
    kind: "generation",
    displayName: "K2.6",
    context: 256_000,
    maxInput: 256_000,
    maxOutput: 128_000,
    minimum: 3,
    prices: K2_CODE,
    images: "remote",
    reasoning: "thinking",
    efforts: [],
  },
  "svc-k2.7-code": {
    kind: "generation",
    displayName: "K2.7 Code",
    context: 256_000,
    maxInput: 256_000,
    maxOutput: 128_000,
    minimum: 3,
    prices: K2_CODE,
    images: "remote",
    reasoning: "always",
    efforts: [],
  },
  "svc-k3": {
    kind: "generation",
    displayName: "K3",
    context: 1_000_000,
    maxInput: 1_000_000,
    maxOutput: 128_000,
    minimum: 3,
    prices: { input: 500, cached: 50, output: 2_500 },
    images: "remote",
    reasoning: "effort",
    efforts: ["low", "high", "max"],
    defaultEffort: "max",
    rejectsThinking: true,
  },
};
