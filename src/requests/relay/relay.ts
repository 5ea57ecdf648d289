import {
  checkAsked,
  checkMedia,
  defaultOutput,
  MAX_OVERCOUNT,
  openInput,
  permittedOutput as permittedBy,
  type Route,
  routeAt,
  SIMULATOR,
} from "../../settings/catalog/mod.ts";
import {
  type DialectName,
  DIALECTS,
  identifyConversation,
  isOpenEnded,
  items,
  type JsonObject,
  keptItem,
  mayReason,
  meterInTurns,
  parseDetached,
} from "../../wire/dialects/mod.ts";
import type { JsonBody } from "../../wire/large_bodies/mod.ts";
import { applyExtras, hasHostedTools } from "../../wire/extras/mod.ts";
import { invalid } from "../../ground/refusal.ts";
import { emptyReply } from "./empty_reply.ts";
import { Generation, type GenerationRequest } from "./generation.ts";
import { Lifecycle } from "./lifecycle.ts";
import { admittedPlans, ownKeyCaller, shareOfOwnKeys } from "./own_keys.ts";
import { checkPermission } from "./permission.ts";
import { planTargets } from "./plan.ts";
import { outputWith } from "./reply_limits.ts";
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
  const route = routeAt(parts.catalog().resolve(parsed.model, "generation"), parts.now());
  const tags = requestTags(header, parsed.body, parts.settings.tags);
  checkPermission(caller, route);
  checkAsked(route, askedOf(dialect, parsed.body));
  checkMedia(route, parsed);
  parts.images.check(parsed.images, body.detached);
  const reasoned = front.applyReasoning(parsed, route);
  const applied = applyExtras(dialect, reasoned.request, route);
  const { dropped: leftOut, priced } = applied;
  const request = { ...applied.request, hostsTools: hasHostedTools(applied.used) };
  const dropped = [...reasoned.dropped, ...leftOut];
  const { adjusted } = reasoned;
  const sent = await meterInTurns(request.body, request.images, request.opened);
  const { offersTools } = request;
  const asked = request.maxOutput ??
    defaultOutput(route, { offersTools, plainTokens: parts.settings.defaultMaxOutput });
  // the simulator's count is the gateway's
  const isExact = route.targets.every(({ upstream }) => upstream === SIMULATOR);
  const overcount = isExact ? 1 : MAX_OVERCOUNT;
  const ratio = parts.estimates.ratio(caller.accountId, route);
  const permitted = (countedTokens: number) => {
    const inputTokens = Math.ceil(countedTokens * ratio);
    return Math.min(
      permittedBy(route, { inputTokens, asked, overcount }),
      outputWith(request.logprobs ?? 0),
    );
  };
  const planned = planTargets(parts.upstreams, route, {
    dialect,
    request,
    permittedOutput: permitted(sent.tokens),
    priced,
  });
  const plans = parts.ownKeys.order(planned, ownKeyCaller(caller, header));
  const addedTokens = Math.max(...plans.map((plan) => plan.addedTokens), 0);
  const inputTokens = sent.tokens + addedTokens;
  const permittedOutput = permitted(inputTokens);
  if (!incoming.generates) {
    return await emptyReply(parts, incoming, { request, route, sealer, inputTokens });
  }

  trace.set({ "sluice.route": route.id, "sluice.streamed": request.stream });
  const openTokens = isOpenEnded(request.body, request.images) ? Infinity : sent.openTokens;
  const openInputOf = openInputFor(route, { inputTokens, openTokens });
  const isText = sent.isText && openTokens !== Infinity && !request.hostsTools;
  const used = { ...applied.used, isText };
  const life = await Lifecycle.open(parts, incoming, {
    route,
    dialect,
    streamed: request.stream,
    inputTokens: Math.ceil(inputTokens * parts.estimates.factor(caller.accountId, route)),
    permittedOutput,
    choices: request.choices,
    openInput: openInputOf(used.maxCalls),
    used,
    tags,
    ownKeys: shareOfOwnKeys(plans),
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
      input: { ...sent, tokens: inputTokens },
      addedTokens,
      openInput: openInputOf,
      maxCalls: used.maxCalls,
      mayReason: mayReason(route, request),
      plans: admittedPlans(plans, life),
      keepItems: keeper(parts.keptItems, caller.holderId, requestId),
      conversation: () => identifyConversation([caller.accountId, route.id], header, parsed.body),
    });
    if (parsed.images.length > 0) await generation.inlineImages();
    const reached = await generation.send();
    body.detached.release();
    const headers = replyHeaders(reached);
    return { headers, ...await generation.respond(reached) };
  } catch (error) {
    throw await life.fail(error);
  }
}

/** Fields with output limits, of which all must be right. Those of the messages dialect are capped everywhere. */
const LIMITS: Readonly<Record<DialectName, readonly string[]>> = {
  chat: ["max_completion_tokens", "max_tokens"],
  messages: [],
  responses: ["max_output_tokens"],
};

/** What a body asks for in numbers that some routes bound. */
function askedOf(dialect: DialectName, body: JsonObject): Parameters<typeof checkAsked>[1] {
  const limits: { param: string; tokens: number }[] = [];
  for (const param of LIMITS[dialect]) {
    const tokens = body[param];
    if (typeof tokens === "number") limits.push({ param, tokens });
  }
  const stops = DIALECTS[dialect].front.fields.stop;
  return {
    limits,
    stops: { param: stops, count: items(body[stops]).length },
  };
}

/** By itself, for the same reason as {@linkcode keeper}. */
function openInputFor(
  route: Pick<Route, "context">,
  of: { readonly inputTokens: number; readonly openTokens: number },
): GenerationRequest["openInput"] {
  return (calls) => openInput(route, { ...of, calls });
}

/** By itself: an open stream keeps this function, and with it whatever else its surroundings hold. */
function keeper(
  keptItems: RelayParts["keptItems"],
  holderId: string,
  requestId: string,
): GenerationRequest["keepItems"] {
  return (items) => keptItems.keep(holderId, requestId, items.map(keptItem));
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
