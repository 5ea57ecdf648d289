import type { Refusal } from "../../ground/refusal.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Concept, Conversation, ReplyEvent } from "./neutral/conversation.ts";
import type { ReasoningRequest, RouteReasoning } from "./reasoning.ts";
import type { Sealer } from "./sealer.ts";
import type { SseEvent } from "./sse/mod.ts";
import type { Usage } from "./usage.ts";
import type { PartialUsage, UsageReports } from "./usage_reports.ts";

/** An image in a request. */
export interface ImageView {
  /** The field that holds it, as a path. */
  readonly param: string;
  readonly source: "inline" | "remote";
  readonly url: string;
}

/** A valid request body, and what the gateway needs to know of it. */
export interface ParsedRequest {
  /** The body unchanged, unknown fields included. Never changed in place. */
  readonly body: JsonObject;
  readonly model: string;
  readonly stream: boolean;
  /** Maximum output tokens of one choice, as requested; undefined if the client sets none. */
  readonly maxOutput: number | undefined;
  /** Whether the model may call tools: a call that is cut off is lost. */
  readonly offersTools: boolean;
  /** Number of replies that the client wants to choose from. */
  readonly choices: number;
  /** Whether tools run at the upstream: what they find is its input, not output of the model. */
  readonly hostsTools?: boolean | undefined;
  /** Log probabilities that are wanted of each output token, alternatives included; undefined for none. */
  readonly logprobs?: number | undefined;
  readonly images: readonly ImageView[];
  /** Fields that hold a video, as paths. */
  readonly videos: readonly string[];
  /** How the model is to reason, where the body's own fields do not say it. */
  readonly reasoning?: ReasoningRequest;
  /** The conversation that it belongs to, where the client's tool tells it. Private: it is not sent as it is. */
  readonly session?: string | undefined;
  /** Which of the dialect's further endpoints it came to, by its path; undefined for the main one. */
  readonly endpoint?: string | undefined;
  /** What the gateway sealed for the client earlier and found in the body, by the sealed text. */
  readonly opened?: ReadonlyMap<string, JsonObject> | undefined;
  /** The body's `reasoning` as the client sent it, null for none, where the body has another one: some replies repeat it. */
  readonly sentReasoning?: JsonValue | undefined;
}

/** Alternatives that no upstream gives more of. */
const MAX_ALTERNATIVES = 128;

/**
 * Log probabilities that a request wants of each token.
 *
 * @param isWanted Whether it wants them at all, where that is said elsewhere than in `top_logprobs`.
 */
export function logprobsOf(
  { top_logprobs: top }: JsonObject,
  isWanted: boolean,
): number | undefined {
  const alternatives = typeof top === "number" ? Math.min(MAX_ALTERNATIVES, Math.max(0, top)) : 0;
  return isWanted || alternatives > 0 ? 1 + alternatives : undefined;
}

/** The route that serves a request, as far as fronts need it. */
export interface ServingRoute extends RouteReasoning {
  /** Its id: what was sealed for a client is for the route that wrote it. */
  readonly id?: string | undefined;
}

/** A client's request headers, by lower-case name. */
export type HeaderLookup = (name: string) => string | null;

/** Where an upstream departs from its dialect, as far as the shape of a request goes. */
export interface Shaping {
  /** Sampling cannot be changed there: temperature, top_p and penalties are not sent. */
  readonly fixedSampling?: boolean;
  /** Sampling that the client leaves out stays out: some models reject any but their own values. */
  readonly ownSampling?: boolean;
  /** The field that limits the output; by default the one that the client used. */
  readonly outputLimit?: "max_tokens" | "max_completion_tokens";
  /** The upstream verifies signatures of reasoning: what it did not sign is not sent. */
  readonly signedReasoning?: boolean;
  /** The upstream rejects files. */
  readonly withoutFiles?: boolean;
  /** The upstream takes a `prompt_cache_key`. */
  readonly promptCacheKey?: boolean;
  /** The upstream caches what is marked with `cache_control`, although its dialect has none, or only that. */
  readonly cacheMarks?: boolean;
  /** The upstream takes `top_k`, although its dialect has none. */
  readonly topK?: boolean;
  /** The upstream returns one choice at a time, although its dialect has `n`. */
  readonly singleChoice?: boolean;
  /** The upstream leaves reasoning between tags at the beginning of the text. */
  readonly thinkTags?: boolean;
}

/** How one request is written for one target. */
export interface WriteOptions {
  /** The model's name there. */
  readonly model: string;
  /** The upstream's name: what it sealed is returned to it alone. */
  readonly upstream: string;
  /** Maximum output tokens of one choice. */
  readonly permittedOutput: number;
  readonly shaping: Shaping;
}

/** A request in an upstream's dialect. */
export interface WrittenRequest {
  readonly body: JsonObject;
  /** Names of the client's fields that it does not carry. */
  readonly dropped: readonly string[];
  /** What of the client's request was changed, as the target would refuse it: `thinking=disabled`. */
  readonly adjusted?: readonly string[] | undefined;
  /** Whether marks for prompt caches were written. */
  readonly takesMarks?: boolean | undefined;
  /** Tools that are offered under other names there, the client's names by those. */
  readonly toolNames?: ReadonlyMap<string, string> | undefined;
  /** Tokens of what it says besides what the client sent. */
  readonly addedTokens?: number | undefined;
  /** Sampling as it was sent: some replies repeat it. */
  readonly sampling?: SentSampling | undefined;
  /** Whether the upstream leaves reasoning between tags in the text of its reply. */
  readonly thinkTags?: boolean | undefined;
}

/** Sampling and tier as they were sent; what is missing was left to the upstream. */
export interface SentSampling {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly service_tier?: string;
}

/** What of a written request decides how its reply is read. */
export type ReadOptions = Pick<WrittenRequest, "toolNames" | "thinkTags" | "sampling">;

/** The request that a reply belongs to. */
export interface ReplyContext {
  readonly request: ParsedRequest;
  /** The request as the upstream got it. */
  readonly written: ReadOptions;
  /** The reply's id, as the client sees it. */
  readonly id: string;
  /** The model as the client named it. */
  readonly model: string;
  /** The route and the target that reply: what the target sealed is returned to it alone. */
  readonly source: ReplySource;
  /** Seals what the client keeps for the gateway. */
  readonly sealer: Sealer;
  /** Input tokens as counted by the gateway. */
  readonly inputTokens: number;
  /** When the reply began, in Unix seconds. */
  readonly createdAtS: number;
  /** Stands for the target's configuration where the upstream names none; the same for the same target. */
  readonly fingerprint: string;
  /** Which of the client's several choices this is, where they are requested one by one. */
  readonly choice?: number | undefined;
}

/** Where a reply comes from. */
export interface ReplySource {
  /** The route's id. */
  readonly route: string;
  /** The upstream's name. */
  readonly upstream: string;
  /** The model's name there. */
  readonly model: string;
}

/** What a stream keeps of it. The request's texts may be long, and a stream open for long. */
export type StreamContext = Omit<ReplyContext, "request" | "written">;

/** Leaves out what only the beginning of a stream needs. */
export function streamContextOf(context: ReplyContext): StreamContext {
  const { request: _, written: __, ...kept } = context;
  return kept;
}

/** A whole reply in the client's dialect. */
export interface Reply {
  readonly body: JsonObject;
  /** Number of choices in it: some upstreams return fewer than were requested. */
  readonly choices: number;
  /** As the upstream reported it; undefined when it did not. */
  readonly usage: Usage | undefined;
  /** The same in halves: an upstream may report input or output alone. */
  readonly partialUsage?: PartialUsage | undefined;
  /** Calls of tools that ran at the upstream, by the kind that the upstream gives them; undefined where it does not tell. */
  readonly hostedCalls?: ReadonlyMap<string, number> | undefined;
  /** The replies that it was joined from, each to a request of its own; undefined for one. */
  readonly parts?: readonly Reply[] | undefined;
  /** Output tokens as counted by the gateway. */
  countOutput(): number;
  /** The body with the gateway's own count, where the upstream reported no usage. */
  withUsage(usage: Usage): JsonObject;
  /** The reply as if it had ended at its token limit here. Its usage is not the upstream's any more. */
  truncated(maxTokens: number): Reply;
  /** Items that the client may refer to by their ids in later requests, in dialects that have such. */
  readonly outputItems?: readonly JsonObject[] | undefined;
}

/** A reply's event stream on its way from the upstream's dialect to the client's. */
export interface ReplyStream {
  /**
   * Takes one event from the upstream.
   *
   * @returns the text to send to the client now; empty when there is none.
   * @throws {Refusal} `upstream_unavailable` and the like when the upstream reports an error, or sends an
   *   event that its dialect does not have.
   */
  push(event: SseEvent): string;
  /**
   * Takes the end of the upstream's bytes.
   *
   * @throws {Refusal} `upstream_unavailable` when the stream ended before the reply was complete.
   */
  end(): void;
  /** Whether the upstream's reply is complete; nothing more is to be read. */
  readonly finished: boolean;
  /** Whether the upstream has said why its reply ended: only a report and an end mark may follow. */
  readonly hasFinishReason: boolean;
  /** Whether any output has gone to the client. */
  readonly hasOutput: boolean;
  /** Choices that have ended. */
  readonly endedChoices: number;
  /** As the upstream reported it; undefined when it has not. */
  readonly usage: Usage | undefined;
  /** The replies that it was joined from, each to a request of its own; undefined for one. */
  readonly parts?: readonly MeteredPart[] | undefined;
  /** What is known of the usage so far. */
  readonly partialUsage?: PartialUsage | undefined;
  /**
   * Whether the upstream reasons and nobody can tell how much; false when it has shown or sealed its reasoning, undefined if it
   * has not said.
   */
  readonly hidesReasoning?: boolean | undefined;
  /** Tokens of reasoning that the client does not get and `countedOutput` leaves out, as far as seals tell. */
  readonly hiddenTokens?: number | undefined;
  /** Calls of tools that ran at the upstream, by the kind that the upstream gives them. */
  readonly hostedCalls?: ReadonlyMap<string, number> | undefined;
  /** Output tokens so far, as counted by the gateway. */
  readonly countedOutput: number;
  /** Ends the reply here, as if at its token limit; `close` is called next. */
  truncate(): string;
  /**
   * The last text of a complete reply, with the usage that was settled. For one of several choices
   * (`choice`) it ends that one; what joins them ends them all.
   */
  close(usage: Usage): string;
  /** What keeps a silent connection open. */
  ping(): string;
  /**
   * The last text of a stream that failed, in dialects where it depends on what was written before.
   *
   * @returns undefined where it does not: see `Front.errorEvent`.
   */
  fail?(refusal: Refusal): string | undefined;
  /** Items that the client may refer to by their ids in later requests, once the stream is closed. */
  readonly outputItems?: readonly JsonObject[] | undefined;
}

/** What is known of a reply's usage. */
export type MeteredPart = Pick<
  ReplyStream,
  | "usage"
  | "partialUsage"
  | "hidesReasoning"
  | "hiddenTokens"
  | "hostedCalls"
  | "countedOutput"
>;

/** What is known of a reply while it comes in, and how it ends. */
export type ReplyState = Pick<
  ReplyStream,
  | "finished"
  | "hasOutput"
  | "endedChoices"
  | "usage"
  | "parts"
  | "partialUsage"
  | "hidesReasoning"
  | "hiddenTokens"
  | "hostedCalls"
  | "countedOutput"
  | "truncate"
  | "close"
  | "fail"
  | "outputItems"
>;

/** Writes neutral events in a client's dialect, as a stream or whole. One for each reply. */
export interface ReplyWriter {
  /** The tier that the upstream says it served; set before the end is written. See {@linkcode UsageReports.tier}. */
  tier?: string | undefined;
  /** Whether the finish reason has been written. */
  readonly finished: boolean;
  /** The stream's text for one event. */
  write(event: ReplyEvent): string;
  /** The end of a complete stream. */
  close(usage: Usage): string;
  /** What keeps a silent stream open. */
  ping(): string;
  /** The end of a stream that failed, in dialects where it depends on what was written before; see `Front.errorEvent`. */
  fail?(refusal: Refusal): string;
  /** Items that the client may refer to by their ids in later requests, once the reply is written. */
  readonly outputItems?: readonly JsonObject[] | undefined;
  /** Whether the client gets what an upstream sealed, or can refer to it. */
  readonly keepsSeals?: boolean | undefined;
  /** Whether the client gets citations. */
  readonly cites: boolean;
  /**
   * A whole reply; instead of the other methods.
   *
   * @param events Each tool call in one piece.
   * @throws {Refusal} `upstream_unavailable` when the dialect cannot hold it.
   */
  whole(events: readonly ReplyEvent[]): (usage: Usage) => JsonObject;
}

/** Requests that ask for several replies to choose from, in a dialect that has them. */
export interface MultipleChoices {
  /** The request for one of the choices. */
  single(request: ParsedRequest): ParsedRequest;
  /** Replies to single requests as the one reply that the client asked for. */
  joinReplies(replies: readonly Reply[]): Reply;
  /** The same for streams: each part writes its own choice, the result writes what ends them all. */
  joinStreams(parts: readonly ReplyState[], context: ReplyContext): ReplyState;
}

/** A dialect as clients speak it. */
export interface Front {
  /** The path of its endpoint. */
  readonly path: string;
  /** Counting a request's input without sending it, where the dialect has that. */
  readonly counting?: {
    readonly path: string;
    readonly parse: (body: unknown, header: HeaderLookup) => ParsedRequest;
  };
  /** References to items of earlier replies, in dialects that have such. */
  readonly references?: {
    /** IDs of the items that a body refers to; it may be any value. */
    readonly find: (body: unknown) => readonly string[];
    /** The body with items in the places of references to them; those to others stay. */
    readonly fill: (body: unknown, known: ReadonlyMap<string, JsonObject>) => unknown;
  };
  /** Further endpoints whose requests a model replies to. */
  readonly further?: readonly Pick<Front, "path" | "parse">[];
  /** The client's names for what a conversation holds, to name what a target cannot be sent; empty for what nobody misses. */
  readonly fields: Readonly<Record<Concept, string>>;
  readonly multiple?: MultipleChoices;
  /** Whether its clients choose models by the aliases, too: the model list has them then. */
  readonly listsAliases: boolean;
  /** Whether a client's headers show that it speaks this dialect, on paths that all dialects share. */
  isSpoken(header: HeaderLookup): boolean;
  /** The id of the reply to a request. */
  replyId(requestId: string): string;
  /**
   * @param sealer Opens what the gateway sealed for this client.
   * @throws {Refusal} `request_invalid` naming the first field at fault.
   */
  parse(body: unknown, header: HeaderLookup, sealer: Sealer): ParsedRequest;
  /**
   * Fits what a request says of reasoning to how its route reasons.
   *
   * @throws {Refusal} `request_invalid` where the request contradicts the route.
   */
  applyReasoning(request: ParsedRequest, route: ServingRoute): AppliedReasoning;
  /** The request with images replaced by others, as base64 data URLs by the fields that hold them. */
  replaceImages(request: ParsedRequest, urls: ReadonlyMap<string, string>): ParsedRequest;
  /**
   * The request in neutral form.
   *
   * @throws {Refusal} `request_invalid` for what must not be dropped silently.
   */
  toConversation(request: ParsedRequest): Conversation;
  writer(context: ReplyContext): ReplyWriter;
  /** The body of an error response. */
  errorBody(refusal: Refusal, requestId: string): JsonObject;
  /** The last event of a stream that failed. */
  errorEvent(refusal: Refusal, requestId: string): string;
  /**
   * A refusal as an event stream with status 200, for clients that retry an error status although nothing will change.
   *
   * @returns The whole stream; undefined for a client or refusal for which the error status is right.
   */
  streamedRefusal?(refusal: Refusal, request: RefusedRequest): string | undefined;
}

/** A request that is refused before it has a reply. */
export interface RefusedRequest {
  readonly header: HeaderLookup;
  readonly requestId: string;
  /** The model as the client named it; empty if that is not known. */
  readonly model: string;
}

/** A request whose reasoning fits its route. */
export interface AppliedReasoning {
  readonly request: ParsedRequest;
  /** Names of fields that the route has no use for. */
  readonly dropped: readonly string[];
  /** Fields with the values that they were changed to: `reasoning_effort=high`. */
  readonly adjusted: readonly string[];
}

/** How a conversation is written for one target. */
export interface WriteConversationOptions extends WriteOptions {
  readonly stream: boolean;
  /** The client's names for what has to be dropped. */
  readonly fields: Front["fields"];
}

/** A whole reply of an upstream. */
export interface ReadReply {
  readonly events: readonly ReplyEvent[];
  readonly reports: UsageReports;
}

/** Reads an upstream's stream as neutral events. One for each reply. */
export interface EventReader {
  /** Whether the upstream's end mark came. */
  readonly done: boolean;
  /** As the upstream reported it. */
  readonly reports: UsageReports;
  /** See {@linkcode ReplyStream.hidesReasoning}. */
  readonly hidesReasoning: boolean | undefined;
  /** @throws {Refusal} `upstream_unavailable` and the like for a reported error, or data that is not of the dialect. */
  read(data: string): ReplyEvent[];
}

/** A dialect as upstreams speak it. */
export interface Back {
  /** Path below the upstream's base URL. */
  readonly path: string;
  /** The headers that carry an API key. */
  authorization(key: string): Record<string, string>;
  /** Headers that go on as the client sent them, or with a default of the dialect's. */
  versionHeaders(header: HeaderLookup): Record<string, string>;
  /** @throws {Refusal} `request_invalid` when nothing is left that could be sent. */
  write(conversation: Conversation, options: WriteConversationOptions): WrittenRequest;
  /** @throws {Refusal} `upstream_unavailable` and the like for a reported error, or a body that is not of the dialect. */
  readReply(body: unknown, options: ReadOptions): ReadReply;
  reader(options: ReadOptions): EventReader;
}

/** A client's dialect towards upstreams of one dialect: composed of a front and a back, or carried. */
export interface Bridge {
  /** Whether one request gets one choice: several have to be requested one by one. */
  readonly singleChoice: boolean;
  /** @throws {Refusal} `request_invalid` when the upstream's dialect does not support what the request needs. */
  request(request: ParsedRequest, options: WriteOptions): WrittenRequest;
  reply(body: unknown, context: ReplyContext): Reply;
  stream(context: ReplyContext): ReplyStream;
  /** A stream for a client that asked for a whole reply, where that is not read as any other is. */
  streamAsWhole?(context: ReplyContext): WholeOfStream;
}

/** A stream for a client that asked for a whole reply: some upstreams know nothing else. */
export interface WholeOfStream {
  /** Whether nothing more comes. */
  readonly done: boolean;
  /**
   * Takes one event.
   *
   * @throws {Refusal} `upstream_unavailable` and the like for a reported error, or what is no event of the dialect.
   */
  push(event: SseEvent): void;
  /**
   * The reply of all events.
   *
   * @throws {Refusal} `upstream_unavailable` if its end is missing.
   */
  reply(): Reply;
}

/** A wire format: both its ends, and how it is carried from the one to the other unchanged. */
export interface Dialect {
  readonly front: Front;
  readonly back: Back;
  /** Bodies go on as the objects that they are; only what the gateway owns is changed. */
  readonly carry: Bridge;
}
