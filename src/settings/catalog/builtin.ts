import type { Route } from "./route.ts";

type BuiltinRoute = Omit<Route, "id" | "targets" | "origin">;

const K2 = { input: 100, cached: 25, output: 400 };
const K2_CODE = { input: 150, cached: 40, output: 650 };

/** What most of them have. */
const USUAL = {
  kind: "generation",
  context: 256_000,
  maxInput: 256_000,
  maxOutput: 128_000,
  images: "remote",
  tools: true,
  reasoning: "none",
  efforts: [],
} as const;

/** The six built-in routes by ID. Prices are defaults of the settings, in credits per million tokens. */
export const BUILTIN_ROUTES: Readonly<Record<string, BuiltinRoute>> = {
  "svc-k2": {
    ...USUAL,
    displayName: "K2",
    context: 128_000,
    maxInput: 128_000,
    maxOutput: 8_192,
    minimum: 1,
    prices: K2,
    images: "none",
  },
  "svc-k2-0905": {
    ...USUAL,
    displayName: "K2 0905",
    minimum: 1,
    prices: K2,
    images: "none",
  },
  "svc-k2.5": {
    ...USUAL,
    displayName: "K2.5",
    minimum: 2,
    prices: { input: 100, cached: 25, output: 500 },
    images: "inline",
    reasoning: "thinking",
  },
  "svc-k2.6": {
    ...USUAL,
    displayName: "K2.6",
    minimum: 3,
    prices: K2_CODE,
    reasoning: "thinking",
  },
  "svc-k2.7-code": {
    ...USUAL,
    displayName: "K2.7 Code",
    minimum: 3,
    prices: K2_CODE,
    reasoning: "always",
  },
  "svc-k3": {
    ...USUAL,
    displayName: "K3",
    context: 1_000_000,
    maxInput: 1_000_000,
    minimum: 3,
    prices: { input: 500, cached: 50, output: 2_500 },
    reasoning: "effort",
    efforts: ["low", "high", "max"],
    defaultEffort: "max",
    rejectsThinking: true,
  },
};
