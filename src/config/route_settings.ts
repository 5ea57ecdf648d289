import * as z from "zod";
import { EFFORTS } from "../dialects/mod.ts";
import { MAX_DIMENSIONS } from "../embeddings/mod.ts";
import { count, identifier, weight } from "./values.ts";

const target = z.strictObject({
  upstream: identifier.describe("Name of an upstream under `upstreams`, or `simulator`."),
  model: z.string().min(1).describe("Name of the model at that upstream."),
  weight: weight.optional().describe(
    "Share of the route's conversations, in proportion to the other targets'. Without it, or with 0: " +
      "only failover, if another target has a weight.",
  ),
});

const prices = z.strictObject({
  input: count.describe("Credits per million uncached input tokens."),
  cached: count.optional().describe(
    "Credits per million cached input tokens. Required unless `kind` is `embeddings`.",
  ),
  output: count.optional().describe(
    "Credits per million output tokens. Required unless `kind` is `embeddings`.",
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
