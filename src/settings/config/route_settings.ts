import * as z from "zod";
import { EFFORTS } from "../../wire/dialects/mod.ts";
import { MAX_DIMENSIONS } from "../../wire/embeddings/mod.ts";
import { boundSettings } from "./bound_settings.ts";
import { count, identifier, weight } from "./values.ts";

const target = z.strictObject({
  upstream: identifier.describe("Name of an upstream under `upstreams`, or `simulator`."),
  model: z.string().min(1).describe("Name of the model at that upstream."),
  weight: weight.optional().describe(
    "Share of the route's conversations, in proportion to the other targets'. Without it, or with 0: " +
      "only failover, if another target has a weight.",
  ),
  limits: boundSettings.optional(),
});

const from = z.union([z.iso.date(), z.iso.datetime({ offset: true })]).describe(
  "Day (UTC) or time from which on they hold, such as `2027-01-01`.",
);
const input = count.describe("Credits per million uncached input tokens.");
const output = count.optional().describe(
  "Credits per million output tokens. Required unless `kind` is `embeddings`.",
);
const laterCached = count.optional().describe(
  "Credits per million cached input tokens. Default: as `input`.",
);
const ownKey = z.number().min(0).max(1).optional().describe(
  "Part of the price, between 0 and 1, that replies cost which came with a key of the caller's own. Default: 0.",
);

/** Prices, with those that follow. */
const pricesWithChanges = z.strictObject({
  input,
  cached: count.optional().describe(
    "Credits per million cached input tokens. Required unless `kind` is `embeddings`.",
  ),
  output,
  changes: z.array(z.strictObject({ from, input, cached: laterCached, output })).optional()
    .describe(
      "Later prices, each from a time on. A request has those of the time at which it begins.",
    ),
  ownKey,
});

/** One of several prices. */
const priceRow = z.strictObject({
  from: from.optional(),
  input,
  cached: laterCached,
  output,
  ownKey,
});
type PriceRow = z.output<typeof priceRow>;

const startOf = ({ from }: PriceRow) => from === undefined ? -Infinity : Date.parse(from);

const priceRows = z.array(priceRow).min(1).refine(
  (rows) => new Set(rows.map(startOf)).size === rows.length,
  "must not have two rows from the same time, and no more than one without `from`",
);

/** The same prices as the first ones with those that follow. What holds first holds before its `from` as well. */
function changesOf(rows: readonly PriceRow[]): z.output<typeof pricesWithChanges> {
  const [first, ...later] = rows.toSorted((a, b) => startOf(a) < startOf(b) ? -1 : 1);
  const { input, cached = input, output } = first!;
  return {
    input,
    cached,
    output,
    changes: later.map(({ from, input, cached, output }) => ({
      from: from!,
      input,
      cached,
      output,
    })),
    ownKey: rows.find(({ ownKey }) => ownKey !== undefined)?.ownKey,
  };
}

const prices = z.union([pricesWithChanges, priceRows]).describe(
  "Prices, or a list of prices with the day or time `from` which on each holds. A request has those of the time at which it begins.",
).transform((one) => Array.isArray(one) ? changesOf(one) : one);

/** Factors by name. */
const factors = z.record(z.string().min(1).max(100), z.number().nonnegative().max(1_000));

/** Schema of what may be asked for beyond text and the caller's own tools. */
const allow = z.strictObject({
  tiers: factors.default({}).describe(
    "Service tiers and speeds (`service_tier`, `speed`) that may be asked for, each with the factor of the prices.",
  ),
  regions: factors.default({}).describe(
    "Regions (`inference_geo`) that may be asked for, each with the factor of the prices.",
  ),
  tools: z.record(z.string().min(1).max(100), count).default({}).describe(
    "Tools that run at the upstream, such as `web_search`, each with its price of a call in credits.",
  ),
  cache: factors.default({}).describe(
    "Lifetimes of prompt caches, such as `1h`, each with the factor of the input price for what is written. Those of 5m and 30m " +
      "may always be asked for; their factor is the published one, or 1.",
  ),
  resources: z.array(z.string().min(1)).default([]).describe(
    "IDs of files, vector stores and containers with the provider that requests may refer to.",
  ),
  fields: z.array(z.string().min(1)).default([]).describe(
    "Further fields that may cost more, such as `plugins`, which are passed on at the plain price.",
  ),
});

/** Schema of one route. */
export const routeSettings = z.strictObject({
  enabled: z.boolean().optional().describe(
    "Whether the model is served; `false` also for a built-in route or one that an upstream lists. " +
      "Requests for it are then those for an unknown model.",
  ),
  kind: z.enum(["generation", "embeddings"]).optional().describe(
    "What the targets' models are for. Default: `embeddings` if the first target's model is known for " +
      "them or its name says so, otherwise `generation`.",
  ),
  targets: z.array(target).min(1).optional().describe(
    "Upstreams and models to send requests to: in failover order, or shared out by `weight`.",
  ),
  displayName: z.string().min(1).optional().describe("Name shown in model lists."),
  context: z.int().positive().optional().describe(
    "Context window: maximum input and output tokens together. For embeddings: of each input.",
  ),
  dimensions: z.int().positive().max(MAX_DIMENSIONS).optional().describe(
    "Length of the vectors that the targets return, for `kind: embeddings`. Replies with vectors of " +
      "another length are rejected, unless the request asked for it.",
  ),
  maxInput: z.int().positive().optional().describe("Maximum input tokens, if less than `context`."),
  maxOutput: z.int().positive().optional().describe("Maximum output tokens per response."),
  minimum: count.optional().describe("Minimum charge of a request, in credits."),
  prices: prices.optional(),
  allow: allow.optional().describe(
    "What requests may ask for beyond text and their own tools, and what it costs. Default: nothing that costs more.",
  ),
  images: z.enum(["none", "inline", "remote"]).optional().describe(
    "Image input: none, only inline base64, or also remote URLs.",
  ),
  reasoning: z.enum(["none", "thinking", "always", "effort"]).optional().describe(
    "Reasoning: none, switched on by `thinking`, always on, or always on with effort levels.",
  ),
  efforts: z.array(z.enum(EFFORTS)).min(1).optional().describe(
    "Effort levels that the targets know, with `reasoning: effort`; others are mapped to the nearest one. " +
      "Default: low, medium and high; for svc-k3 low, high and max.",
  ),
});
/** Settings of one route; missing ones come from the built-in route, if there is one. */
export type RouteSettings = z.output<typeof routeSettings>;
