import { type Route, routeAt } from "../../settings/catalog/mod.ts";
import { parseDetached } from "../../wire/dialects/mod.ts";
import {
  type EmbeddingsRequest,
  meterEmbeddings,
  parseEmbeddings,
  servesEmbeddings,
} from "../../wire/embeddings/mod.ts";
import { applyExtras } from "../../wire/extras/mod.ts";
import { invalid } from "../../ground/refusal.ts";
import type { OwnKey, OwnKeyPlan, Upstreams } from "../upstreams/mod.ts";
import { Embedding } from "./embedding.ts";
import { Lifecycle } from "./lifecycle.ts";
import { admittedPlans, ownKeyCaller, shareOfOwnKeys } from "./own_keys.ts";
import { checkPermission } from "./permission.ts";
import { requestTags } from "./request_tags.ts";
import { replyHeaders } from "./reply_headers.ts";
import type { EmbedRequest, RelayParts, RelayReply } from "./request.ts";

/** What usage records, the log and metrics have for a dialect. */
const FORMAT = "embeddings";

/** One request for embeddings, from a parsed body to a reply that is settled. */
export async function embed(parts: RelayParts, incoming: EmbedRequest): Promise<RelayReply> {
  const { caller, requestId, trace, body } = incoming;
  const parsed = parseDetached(body, parseEmbeddings);
  const route = routeAt(parts.catalog().resolve(parsed.model, "embeddings"), parts.now());
  const { request, dropped, used } = applyExtras("chat", parsed, route);
  const tags = requestTags(incoming.header, request.body, parts.settings.tags);
  checkPermission(caller, route);
  checkDimensions(request, route);
  const inputTokens = await meterEmbeddings(request, route);
  const planned = planEmbeddings(parts.upstreams, route);
  const plans = parts.ownKeys.order(planned, ownKeyCaller(caller, incoming.header));

  trace.set({ "sluice.route": route.id, "sluice.inputs": request.inputs.length });
  const life = await Lifecycle.open(parts, incoming, {
    route,
    dialect: FORMAT,
    streamed: false,
    inputTokens: Math.ceil(inputTokens * parts.estimates.factor(caller.accountId, route)),
    permittedOutput: 0,
    choices: 1,
    used,
    tags,
    ownKeys: shareOfOwnKeys(plans),
  });
  try {
    const embedding = new Embedding(parts, life, {
      requestId,
      trace,
      route,
      request,
      inputTokens,
      plans: admittedPlans(plans, life),
    });
    const reached = await embedding.send(dropped);
    body.detached.release();
    return { headers: replyHeaders({ ...reached, dropped }), ...await embedding.respond(reached) };
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

/** How a request is sent to one of its route's targets. */
interface EmbeddingPlan extends OwnKeyPlan<EmbeddingPlan> {}

/** @throws {Refusal} `request_invalid` if no target can make embeddings. */
function planEmbeddings(
  upstreams: Pick<Upstreams, "of">,
  { id, targets }: Route,
): readonly EmbeddingPlan[] {
  const plans = targets.map((target): EmbeddingPlan => ({
    target,
    upstream: upstreams.of(target),
    withOwnKey(ownKey: OwnKey) {
      return { ...this, ownKey };
    },
  }))
    .filter(({ upstream }) => servesEmbeddings(upstream.dialect));
  if (plans.length > 0) return plans;
  throw invalid("model", `The upstreams of the model '${id}' have no embeddings.`);
}
