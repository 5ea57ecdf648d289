import {
  countedUsage,
  type Front,
  isObject,
  type JsonObject,
  objects,
  type ParsedRequest,
  type ReplyContext,
  type ReplyEvent,
  type Usage,
} from "../../wire/dialects/mod.ts";
import type { Directives } from "./directives.ts";
import type { SimulatedAsk, SimulatedReply } from "./plan.ts";

const CREATED_AT_S = 1_750_000_000;
/** What stands for the reasoning that an upstream keeps to itself. */
const SEAL = "simulated-encrypted-reasoning";
const SEALER: ReplyContext["sealer"] = { seal: () => SEAL, open: () => undefined };

/** One reply, and all that its form depends on. */
export interface ReplyParts {
  readonly front: Front;
  readonly ask: SimulatedAsk;
  readonly plan: SimulatedReply;
  readonly directives: Directives;
  /** Of the ids. */
  readonly seed: string;
  /** The request's. */
  readonly body: JsonObject;
}

/** A whole reply, as clients of the dialect get it. */
export function simulatedReply(parts: ReplyParts): JsonObject {
  const events = [...eventsOf(parts.plan, (pieces) => [pieces.join("")])];
  const reply = parts.front.writer(contextOf(parts)).whole(events)(usageOf(parts));
  const choices = objects(reply.choices).flatMap((choice) =>
    Array.from({ length: parts.ask.choices }, (_, index) => ({ ...choice, index }))
  );
  return adjusted(choices.length === 0 ? reply : { ...reply, choices }, parts);
}

/** A reply as the frames of a stream, in order. */
export function* simulatedFrames(parts: ReplyParts): Generator<string> {
  const { front, ask, plan } = parts;
  const usage = usageOf(parts);
  const isOne = ask.choices === 1;
  for (let choice = 0; choice < ask.choices; choice++) {
    const writer = front.writer(contextOf(parts, isOne ? undefined : choice));
    for (const event of eventsOf(plan, (pieces) => pieces)) {
      yield* frames(writer.write(event), parts);
    }
    yield* frames(writer.close(usage), parts);
  }
  if (!isOne) yield* frames(front.multiple!.joinStreams([], contextOf(parts)).close(usage), parts);
}

/** @param join Puts the pieces of one text together, or leaves them. */
function* eventsOf(
  { reasoning, text, calls, finish, stopped }: SimulatedReply,
  join: (pieces: readonly string[]) => readonly string[],
): Generator<ReplyEvent> {
  if (reasoning.length > 0) {
    for (const text of join(reasoning)) yield { type: "reasoning", text };
    yield { type: "seal", seal: SEAL };
  }
  if (text.length > 0) { for (const piece of join(text)) yield { type: "text", text: piece }; }
  for (const [at, { name, args }] of calls.entries()) {
    for (const piece of join(args.match(/[\s\S]{1,12}/gu) ?? [""])) {
      yield { type: "call", key: `${at}`, id: undefined, name, args: piece };
    }
  }
  yield { type: "finish", finish, stopped };
}

function contextOf(
  { front, ask, plan, directives, seed, body }: ReplyParts,
  choice?: number,
): ReplyContext {
  const { model, stream, maxOutput, choices } = ask;
  const request: ParsedRequest = {
    body: directives.usage === "none" ? { ...body, stream_options: null } : body,
    model,
    stream,
    maxOutput,
    offersTools: ask.tools.length > 0,
    choices,
    images: [],
    videos: [],
  };
  return {
    request,
    written: {},
    id: front.replyId(`req_sim${seed}`),
    model,
    source: { route: model, upstream: "simulator", model },
    sealer: SEALER,
    inputTokens: directives.usage === "zero" ? 0 : plan.inputTokens,
    createdAtS: CREATED_AT_S,
    fingerprint: "", // it names none, as most upstreams
    choice,
  };
}

function usageOf({ ask: { choices }, plan, directives }: ReplyParts): Usage {
  if (directives.usage === "zero") return countedUsage(0, 0);
  return {
    ...countedUsage(plan.inputTokens, plan.outputTokens * choices),
    reasoningTokens: plan.reasoning.length * choices,
  };
}

/** A writer's text in single frames. */
function frames(written: string, parts: ReplyParts): string[] {
  const all = written.split(/(?<=\n\n)/).filter((frame) => frame !== "");
  return all.map((frame) =>
    frame.replace(/(?<=^data: )\{.*/m, (data) => JSON.stringify(adjusted(JSON.parse(data), parts)))
  );
}

/** A reply or an event with what some upstreams do, and the gateway does not. */
function adjusted(data: JsonObject, { plan, directives }: ReplyParts): JsonObject {
  const usageless = directives.usage === "none" ? withoutUsage(data) : data;
  if (plan.stopped === undefined || data.choices === undefined) return usageless;
  const choices = objects(data.choices).map((choice) =>
    (choice.finish_reason ?? null) === null ? choice : { ...choice, stop_reason: plan.stopped! }
  );
  return { ...usageless, choices };
}

function withoutUsage({ usage, message, response, ...data }: JsonObject): JsonObject {
  return {
    ...data,
    ...(usage !== undefined && data.object === "response" ? { usage: null } : {}),
    ...(isObject(message) ? { message: withoutUsage(message) } : {}),
    ...(isObject(response) ? { response: withoutUsage(response) } : {}),
  };
}
