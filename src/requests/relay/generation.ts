import type { Route } from "../../settings/catalog/mod.ts";
import {
  type AppliedReasoning,
  BACKS,
  type ConversationIdentity,
  type DialectName,
  DIALECTS,
  type HeaderLookup,
  isSameUsage,
  type JsonObject,
  type MeteredInput,
  meterInTurns,
  type ParsedRequest,
  type Reply,
  type ReplyContext,
  type Sealer,
} from "../../wire/dialects/mod.ts";
import type { JsonBody } from "../../wire/large_bodies/mod.ts";
import { during, type Trace } from "../../ground/telemetry/mod.ts";
import type { Routing, Sent, UpstreamKey, UpstreamReply } from "../upstreams/mod.ts";
import { ChargedUsage } from "./charged_usage.ts";
import { fingerprintOf } from "./fingerprint.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { OpenedReply, OpenedStream, OpenedWhole } from "./opened_reply.ts";
import { openStream, openWhole } from "./open_reply.ts";
import { ownerOfReplies } from "./own_keys.ts";
import { plainNames } from "./plain_names.ts";
import type { Plan } from "./plan.ts";
import { StreamPump } from "./pump.ts";
import { limitsFor, type ReplyLimits } from "./reply_limits.ts";
import type { RelayParts, RelayReply } from "./request.ts";
import { allAttempts, type Opened, withAllChoices } from "./several_choices.ts";

/** A request that a model is to reply to. */
export interface GenerationRequest extends AppliedReasoning {
  readonly dialect: DialectName;
  readonly requestId: string;
  readonly header: HeaderLookup;
  readonly trace: Trace;
  readonly detached: JsonBody["detached"];
  readonly route: Route;
  /** Seals for the caller's account. */
  readonly sealer: Sealer;
  /** The input as counted by the gateway, with what the client did not send. */
  readonly input: MeteredInput;
  /** Of it, tokens of what the client did not send. */
  readonly addedTokens: number;
  /** Tokens that the input may have in addition, at most, after this number of tool calls at the upstream. */
  readonly openInput: (calls: number) => number;
  /** Such calls that credits were reserved for. */
  readonly maxCalls: number;
  /** Whether the model may reason although nothing of the reply shows it. */
  readonly mayReason: boolean;
  /** In the order in which the route lists its targets. */
  readonly plans: readonly Plan[];
  /** Keeps what the client may refer to in later requests. Never rejects. */
  readonly keepItems: (items: readonly JsonObject[]) => Promise<void>;
  /** Identifies the conversation; called only where it matters. */
  readonly conversation: () => ConversationIdentity;
}

/** A reply, and where it came from. */
export interface Reached extends Opened {
  readonly reply: UpstreamReply;
  readonly plan: Plan;
}

/** The exchange that has a model reply in a client's dialect: one request upstream, or one for each choice. */
export class Generation {
  readonly #parts: RelayParts;
  readonly #life: Lifecycle;
  readonly #options: GenerationRequest;
  #request: ParsedRequest;
  #input: MeteredInput;
  #routing: Routing<Plan> | undefined;

  constructor(parts: RelayParts, life: Lifecycle, options: GenerationRequest) {
    this.#parts = parts;
    this.#life = life;
    this.#options = options;
    this.#request = options.request;
    this.#input = options.input;
  }

  /** Checks the images, fetches remote ones, and counts all by their real sizes. */
  async inlineImages(): Promise<void> {
    if (this.#request.images.length === 0) return;
    const { dialect, requestId, trace, detached } = this.#options;
    const { signal } = this.#life;
    const { front } = DIALECTS[dialect];
    this.#request = await during(
      trace.begin("images", { "sluice.images": this.#request.images.length }),
      () => this.#parts.images.inline(this.#request, front, { requestId, signal, detached }),
    );
    const { body, images, opened } = this.#request;
    const input = await meterInTurns(body, images, opened);
    this.#input = { ...input, tokens: input.tokens + this.#options.addedTokens };
  }

  /** Sends the request until a target replies; once for each choice where the target returns one at a time. */
  async send(): Promise<Reached> {
    const first = await this.#send(0);
    const { choices, stream } = this.#request;
    const { multiple } = DIALECTS[this.#options.dialect].front;
    if (multiple === undefined) return this.#reached([first], first.opened.opened);
    return await withAllChoices(first, {
      choices,
      stream,
      multiple,
      context: () => this.#context(first.plan),
      send: (choice) => this.#send(choice),
      reached: (all, opened) => this.#reached(all, opened),
    });
  }

  /** The response: settled, or a stream that settles itself. */
  async respond(
    { opened, plan, reply: { used } }: Reached,
  ): Promise<Pick<RelayReply, "body" | "settled">> {
    const { route, mayReason, openInput, maxCalls } = this.#options;
    const { estimates } = this.#parts; // an open stream keeps this, and must not keep the request's body
    const { tokens: inputTokens, isText } = this.#input;
    const { hold, accountId } = this.#life;
    const of = { accountId, route: route.id, upstream: plan.target.upstream };
    const { upstream: { health }, target: { model } } = plan;
    const usage = new ChargedUsage({
      inputTokens,
      openInput,
      maxCalls,
      // counted by other tokenizers, and with room for what an upstream adds of its own
      maxTokens: 2 * route.context * this.#request.choices,
      maxOutput: () => hold.maxCharged,
      choices: this.#request.choices,
      mayReason: mayReason || health.hidingModels.has(model),
      onSettled: (
        { usageSource, usage, departs },
        { inputTokens: countedTokens, outputTokens: shownTokens },
      ) => {
        if (departs) health.usageDeparted();
        // half of it: the count of what is shown may be off
        const hidden = usage.outputTokens - shownTokens;
        const { reasoningTokens } = usage;
        if (!mayReason && reasoningTokens > 0 && hidden >= reasoningTokens / 2) {
          health.hidingModels.add(model);
        }
        if (usageSource !== "upstream") return;
        used?.(usage.inputTokens + usage.outputTokens);
        if (!isText) return;
        estimates.learn(of, { countedTokens, reportedTokens: usage.inputTokens });
      },
    });
    return opened.kind === "stream"
      ? {
        body: this.#stream(opened, usage, plan),
        settled: undefined,
      }
      : await this.#whole(opened, usage);
  }

  #stream(
    opened: OpenedStream,
    usage: ChargedUsage,
    plan: Plan,
  ): ReadableStream<Uint8Array> {
    const { dialect, requestId, trace } = this.#options;
    const { front } = DIALECTS[dialect];
    const { log, followed, settings: { onClientDisconnect, limits } } = this.#parts;
    const { followMs, followedReplies } = limits;
    const { accountId } = this.#life;
    const stage = trace.begin("answer");
    this.#life.responseBegan();
    const pump = new StreamPump({
      opened,
      life: this.#life,
      usage,
      // several choices may come from several targets, and a target that ignores 'n' may end before all of them
      plan: this.#request.choices === 1 && plan.ownKey === undefined ? plan : undefined,
      onClientDisconnect,
      followMs,
      follow: () => followed.begin(accountId, followedReplies),
      errorEvent: (refusal) => front.errorEvent(refusal, requestId),
      keepItems: this.#options.keepItems,
      onFault: (error) => log.error("stream failed", { id: requestId, error: String(error) }),
      onEnd: () => stage.end(),
    });
    return pump.stream();
  }

  async #whole(
    { reply: delivered, requests }: OpenedWhole,
    charged: ChargedUsage,
  ): Promise<Pick<RelayReply, "body" | "settled">> {
    this.#life.outputBegan();
    const reply = this.#withinLimit(delivered);
    const settledUsage = charged.settled({
      usage: reply.usage,
      partialUsage: reply.partialUsage,
      parts: reply.parts?.map((part) => ({ ...part, countedOutput: part.countOutput() })),
      hostedCalls: reply.hostedCalls,
      countedOutput: reply.countOutput(),
      requests,
    });
    const settled = await this.#life.settle({ ending: "complete", status: 200, ...settledUsage });
    if (reply.outputItems !== undefined) await this.#options.keepItems(reply.outputItems);
    this.#life.end();
    const { usage } = settledUsage;
    const body = isSameUsage(usage, reply.usage) ? reply.body : reply.withUsage(usage);
    return { body: JSON.stringify(body), settled };
  }

  /** A reply that goes beyond its limit by more than a miscount explains is cut. */
  #withinLimit(reply: Reply): Reply {
    const { maxCharged, maxDelivered } = this.#life.hold;
    const { outputTokens } = reply.partialUsage ?? reply.usage ?? {};
    if (outputTokens !== undefined && outputTokens <= maxCharged) return reply;
    return reply.countOutput() <= maxDelivered ? reply : reply.truncated(maxDelivered);
  }

  #reached(all: readonly Sent<Plan, Opened>[], opened: OpenedReply): Reached {
    const [{ plan, reply }] = all as [Sent<Plan, Opened>];
    const { attempts, outcomes } = allAttempts(all);
    const dropped = plainNames([
      ...this.#options.dropped,
      ...all.flatMap((one) => one.opened.dropped),
    ]);
    const adjusted = [
      ...new Set([...this.#options.adjusted, ...all.flatMap((one) => one.opened.adjusted)]),
    ];
    const changed = [...adjusted, ...dropped];
    const ownKey = ownerOfReplies(all.map((one) => one.plan));
    this.#life.sent({
      target: plan.target,
      attempts,
      outcomes,
      changed,
      ownKey,
      upstreamRequestId: requestIdIn(reply),
    });
    for (const one of this.#options.plans) one.forget();
    return { opened, reply, plan, dropped, adjusted };
  }

  /** @param choice The first of the client's choices that is requested. */
  #send(choice: number): Promise<Sent<Plan, Opened>> {
    const { dialect, plans, requestId, trace, header, detached } = this.#options;
    this.#routing ??= this.#parts.upstreams.route(plans, this.#options);
    const { signal, permittedOutput } = this.#life;
    const { stream } = this.#request;
    const variantFor = (plan: Plan) =>
      choice > 0 ? plan.single(this.#request) : plan.variant(this.#request);
    return this.#parts.upstreams.send<Plan, Opened>({
      routing: this.#routing,
      signal,
      requestId,
      account: this.#life.accountId,
      trace,
      unstreamedTokens: stream ? 0 : permittedOutput,
      tokens: this.#input.tokens + permittedOutput * this.#request.choices,
      write: (plan, key) => {
        const back = BACKS[plan.upstream.dialect];
        const { body, betas } = plan.write(variantFor(plan), permittedOutput, key);
        return {
          path: plan.upstream.pathFor({ model: plan.target.model, stream }) ?? back.path,
          headers: {
            accept: stream ? "text/event-stream" : "application/json",
            ...back.versionHeaders(header, plan.upstream.betas, betas),
          },
          body: detached.reattach(JSON.stringify(body)),
        };
      },
      open: async (reply, plan, { canFailOver, key }) => {
        const request = variantFor(plan);
        const written = plan.write(request, permittedOutput, key);
        const isOfSeveral = this.#request.choices > request.choices;
        const context = this.#context(plan, {
          request,
          written,
          choice: isOfSeveral ? choice : undefined,
        }, key);
        const { timers, settings: { limits: { pingMs } } } = this.#parts;
        const options = { dialect, plan, context, limits: this.#replyLimits, timers };
        const { hold: { outputTokens } } = this.#life;
        const { choices } = this.#request;
        const opened = stream
          ? await openStream(reply, { ...options, pingMs, canFailOver, outputTokens, choices })
          : await openWhole(reply, options);
        return { opened, dropped: written.dropped, adjusted: written.adjusted ?? [] };
      },
    });
  }

  /** @param sent What was sent, where that is not the client's request as a whole. */
  #context(
    plan: Plan,
    sent: Pick<ReplyContext, "request" | "written" | "choice"> = {
      request: this.#request,
      written: {},
    },
    key?: UpstreamKey,
  ): ReplyContext {
    const { target } = plan;
    const { dialect, requestId, route, sealer } = this.#options;
    return {
      request: sent.request,
      written: sent.written,
      choice: sent.choice,
      id: DIALECTS[dialect].front.replyId(requestId),
      model: this.#request.model,
      source: { route: route.id, upstream: plan.sourceWith(key), model: target.model },
      sealer,
      inputTokens: this.#input.tokens,
      createdAtS: Math.floor(this.#parts.now() / 1_000),
      fingerprint: fingerprintOf(route, target),
    };
  }

  get #replyLimits(): ReplyLimits {
    const { logprobs = 0, choices } = this.#request;
    const outputTokens = this.#life.permittedOutput * choices;
    return limitsFor(this.#parts.settings.replies, { logprobs, outputTokens });
  }
}

/** Headers that providers name their requests by: OpenAI and many, Anthropic, Bedrock, Azure. */
const REQUEST_IDS = ["x-request-id", "request-id", "x-amzn-requestid", "apim-request-id"];

function requestIdIn({ headers }: UpstreamReply): string | undefined {
  const name = REQUEST_IDS.find((one) => headers[one] !== undefined);
  return name === undefined ? undefined : String(headers[name]);
}
