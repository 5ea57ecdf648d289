import type { Route } from "../catalog/mod.ts";
import { parseDetached } from "../dialects/mod.ts";
import {
  type EmbeddingsRequest,
  meterEmbeddings,
  parseEmbeddings,
  servesEmbeddings,
} from "../embeddings/mod.ts";
import { invalid } from "../refusal.ts";
import type { TargetPlan, Upstreams } from "../upstreams/mod.ts";
import { Embedding } from "./embedding.ts";
import { Lifecycle } from "./lifecycle.ts";
import { checkPermission } from "./permission.ts";
import { requestTags } from "./request_tags.ts";
import { replyHeaders } from "./reply_headers.ts";
import type { EmbedRequest, RelayParts, RelayReply } from "./request.ts";

/** What usage records, the log and metrics have for a dialect. */
const FORMAT = "embeddings";

/** One request for embeddings, from a parsed body to a reply that is settled. */
export async function embed(parts: RelayParts, incoming: EmbedRequest): Promise<RelayReply> {
  const { caller, requestId, trace, body } = incoming;
  const request = parseDetached(body, parseEmbeddings);
  const route = parts.catalog().resolve(request.model, "embeddings");
  const tags = requestTags(incoming.header, request.body, parts.settings.tags);
  checkPermission(caller, route);
  checkDimensions(request, route);
  const inputTokens = meterEmbeddings(request, route);
  const plans = planEmbeddings(parts.upstreams, route);

  trace.set({ "sluice.route": route.id, "sluice.inputs": request.inputs.length });
  const life = await Lifecycle.open(parts, incoming, {
    route,
    dialect: FORMAT,
    streamed: false,
    inputTokens: Math.ceil(inputTokens * parts.estimates.factor(route)),
    permittedOutput: 0,
    choices: 1,
    tags,
  });
  try {
    const embedding = new Embedding(parts, life, {
      requestId,
      trace,
      route,
      request,
      inputTokens,
      plans,
    });
    const reached = await embedding.send();
    body.detached.release();
    return { headers: replyHeaders(reached), ...await embedding.respond(reached) };
  } catch (error) {
    throw await life.fail(error);
  }
}

/** @throws {Refusal} `request_invalid` if the settings say that the model has fewer. */
function checkDimensions(
  { dimensions: requested = 0 }: EmbeddingsRequest,
  { dimensions = Infinity, checksDimensions }: Route,
): void {
  if (!checksDimensions || requested <= dimensions) return;
  throw invalid(
    "dimensions",
    `dimensions must be at most ${dimensions}, the length of this model's embeddings: got ${requested}.`,
  );
}

/** @throws {Refusal} `request_invalid` if no target can make embeddings. */
function planEmbeddings(
  upstreams: Pick<Upstreams, "of">,
  { id, targets }: Route,
): readonly TargetPlan[] {
  const plans = targets.map((target) => ({ target, upstream: upstreams.of(target) }))
    .filter(({ upstream }) => servesEmbeddings(upstream.dialect));
  if (plans.length > 0) return plans;
  throw invalid("model", `The upstreams of the model '${id}' have no embeddings.`);
}
