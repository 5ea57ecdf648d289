import { checkMedia, defaultOutput, permittedOutput as permittedBy } from "../catalog/mod.ts";
import { DIALECTS, identifyConversation, meterInput, parseDetached } from "../dialects/mod.ts";
import type { JsonBody } from "../large_bodies/mod.ts";
import { invalid } from "../refusal.ts";
import { emptyReply } from "./empty_reply.ts";
import { Generation, type GenerationRequest } from "./generation.ts";
import { Lifecycle } from "./lifecycle.ts";
import { checkPermission } from "./permission.ts";
import { planTargets } from "./plan.ts";
import { replyHeaders } from "./reply_headers.ts";
import { requestTags } from "./request_tags.ts";
import type { RelayParts, RelayReply, RelayRequest } from "./request.ts";

/** Max references to earlier items in a request. */
const MAX_REFERENCES = 1_000;

/** One request, from a parsed body to a reply that settles itself. */
export async function relay(parts: RelayParts, incoming: RelayRequest): Promise<RelayReply> {
  const { dialect, path, header, caller, requestId, trace } = incoming;
  const { front } = DIALECTS[dialect];
  const ids = front.references?.find(incoming.body.json) ?? [];
  const body = ids.length === 0 ? incoming.body : await withKeptItems(parts, incoming, ids);
  const sealer = parts.sealing.of(caller.holderId);
  const endpoint = front.further?.find((one) => one.path === path) ?? front;
  const parsed = parseDetached(body, (json) => endpoint.parse(json, header, sealer));
  const route = parts.catalog().resolve(parsed.model, "generation");
  const tags = requestTags(header, parsed.body, parts.settings.tags);
  checkPermission(caller, route);
  checkMedia(route, parsed);
  parts.images.checkCount(parsed.images);
  const { request, dropped, adjusted } = front.applyReasoning(parsed, route);
  const sentTokens = meterInput(request.body, request.images, request.opened);
  const { offersTools } = request;
  const asked = request.maxOutput ??
    defaultOutput(route, { offersTools, plainTokens: parts.settings.defaultMaxOutput });
  const plans = planTargets(parts.upstreams, route, {
    dialect,
    request,
    permittedOutput: permittedBy(route, { inputTokens: sentTokens, asked }),
  });
  const addedTokens = Math.max(...plans.map((plan) => plan.addedTokens), 0);
  const inputTokens = sentTokens + addedTokens;
  const permittedOutput = permittedBy(route, { inputTokens, asked });
  if (!incoming.generates) {
    return await emptyReply(parts, incoming, { request, route, sealer, inputTokens });
  }

  trace.set({ "sluice.route": route.id, "sluice.streamed": request.stream });
  const life = await Lifecycle.open(parts, incoming, {
    route,
    dialect,
    streamed: request.stream,
    inputTokens: Math.ceil(inputTokens * parts.estimates.factor(route)),
    permittedOutput,
    choices: request.choices,
    tags,
  });
  try {
    const generation = new Generation(parts, life, {
      dialect,
      requestId,
      header,
      trace,
      detached: body.detached,
      route,
      request,
      sealer,
      dropped,
      adjusted,
      inputTokens,
      addedTokens,
      plans,
      keepItems: keeper(parts.keptItems, caller.holderId, requestId),
      conversation: () => identifyConversation([caller.accountId, route.id], header, parsed.body),
    });
    await generation.inlineImages();
    const reached = await generation.send();
    body.detached.release();
    const headers = replyHeaders({ ...reached, adjusted });
    return { headers, ...await generation.respond(reached) };
  } catch (error) {
    throw await life.fail(error);
  }
}

/** By itself: an open stream keeps this function, and with it whatever else its surroundings hold. */
function keeper(
  keptItems: RelayParts["keptItems"],
  holderId: string,
  requestId: string,
): GenerationRequest["keepItems"] {
  return (items) => keptItems.keep(holderId, requestId, items);
}

/** The body with the items that it refers to, as far as they are kept. */
async function withKeptItems(
  { keptItems }: RelayParts,
  { dialect, caller, body, makeRoom }: RelayRequest,
  ids: readonly string[],
): Promise<JsonBody> {
  if (ids.length > MAX_REFERENCES) {
    throw invalid(
      "input",
      `input has too many references to earlier items: ${ids.length}, the limit is ${
        MAX_REFERENCES.toLocaleString("en-US")
      }. Send the items themselves.`,
    );
  }
  const known = await keptItems.find(caller.holderId, ids, makeRoom);
  return { ...body, json: DIALECTS[dialect].front.references!.fill(body.json, known) };
}
