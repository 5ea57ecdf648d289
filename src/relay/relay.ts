import { checkMedia, defaultOutput, permittedOutput as permittedBy } from "../catalog/mod.ts";
import { DIALECTS, identifyConversation, meterInput, parseDetached } from "../dialects/mod.ts";
import { Generation } from "./generation.ts";
import { Lifecycle } from "./lifecycle.ts";
import { checkPermission } from "./permission.ts";
import { planTargets } from "./plan.ts";
import { replyHeaders } from "./reply_headers.ts";
import type { RelayParts, RelayReply, RelayRequest } from "./request.ts";

/** One request, from a parsed body to a reply that settles itself. */
export async function relay(parts: RelayParts, incoming: RelayRequest): Promise<RelayReply> {
  const { dialect, header, caller, requestId, trace, body } = incoming;
  const { front } = DIALECTS[dialect];
  const parsed = parseDetached(body, (json) => front.parse(json, header));
  const route = parts.catalog().resolve(parsed.model, "generation");
  checkPermission(caller, route);
  checkMedia(route, parsed);
  parts.images.checkCount(parsed.images);
  const { request, dropped, adjusted } = front.applyReasoning(parsed, route);
  const inputTokens = meterInput(request.body, request.images);
  const { offersTools } = request;
  const asked = request.maxOutput ??
    defaultOutput(route, { offersTools, plainTokens: parts.settings.defaultMaxOutput });
  const permittedOutput = permittedBy(route, { inputTokens, asked });
  const plans = planTargets(parts.upstreams, route, { dialect, request, permittedOutput });

  trace.set({ "sluice.route": route.id, "sluice.streamed": request.stream });
  const life = await Lifecycle.open(parts, incoming, {
    route,
    dialect,
    streamed: request.stream,
    inputTokens: Math.ceil(inputTokens * parts.estimates.factor(route)),
    permittedOutput,
    choices: request.choices,
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
      dropped,
      adjusted,
      inputTokens,
      plans,
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
