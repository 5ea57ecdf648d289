/**
 * What a dialect has: a front towards clients, a back towards upstreams. One request calls them in this order:
 *
 * ```text
 * client   → front.parse           its body is checked, and what the gateway needs to know of it is read
 *            front.applyReasoning  as its route reasons
 *            front.toConversation  the neutral form ─┐ or, where both sides speak one dialect,
 *            back.write            the upstream's body ┘ carry.request
 * upstream → back.reader           its stream as neutral events, or back.readReply its whole reply
 *            front.writer          the client's stream, or its whole reply
 * ```
 *
 * {@linkcode Bridge} has the middle of it for one pairing of dialects: both halves of a translation, or a carry.
 */

import type { Refusal } from "../../ground/refusal.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Concept, Conversation, ReplyEvent } from "./neutral/conversation.ts";
import type { Reply, ReplyContext, ReplyState, ReplyStream, ReplyWriter } from "./reply.ts";
import type {
  HeaderLookup,
  ParsedRequest,
  ReadOptions,
  ServingRoute,
  WriteOptions,
  WrittenRequest,
} from "./request.ts";
import type { Sealer } from "./sealer.ts";
import type { SseEvent } from "./sse/mod.ts";
import type { UsageReports } from "./usage_reports.ts";

export * from "./reply.ts";
export * from "./request.ts";

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
  /** What a field that holds an image holds with another one, by its base64 data URL. */
  imageField(field: JsonValue, url: string): JsonValue;
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

/** A request that fits its route. @param changes What was dropped and adjusted for it. Default: nothing. */
export function fitted(
  request: ParsedRequest,
  { dropped = [], adjusted = [] }: Partial<Omit<AppliedReasoning, "request">> = {},
): AppliedReasoning {
  return { request, dropped, adjusted };
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
  /** See {@linkcode ReplyStream.lacksUsage}. */
  readonly lacksUsage?: boolean;
  /** See {@linkcode ReplyStream.hidesReasoning}. */
  readonly hidesReasoning: boolean | undefined;
  /** @throws {Refusal} `upstream_unavailable` and the like for a reported error, or data that is not of the dialect. */
  read(data: string): ReplyEvent[];
}

/** A dialect as upstreams speak it. */
export interface Back {
  /** Path below the upstream's base URL, with `{model}` where `pathFor` has it. */
  readonly path: string;
  /** The path of one request, where it says more than the body. */
  pathFor?(request: { readonly model: string; readonly stream: boolean }): string;
  /** Where its models are listed. Default: `/models`. */
  readonly modelsPath?: string;
  /** The headers that carry an API key. */
  authorization(key: string): Record<string, string>;
  /**
   * Headers that go on as the client sent them, or with a default of the dialect's.
   *
   * @param betas Names of beta features that go on; one that ends with `*` is a beginning. Undefined for all.
   * @param more Beta features that are asked for besides those of the header.
   */
  versionHeaders(
    header: HeaderLookup,
    betas?: readonly string[],
    more?: readonly string[],
  ): Record<string, string>;
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
  /** Whether its end mark came and no usage, which may still follow: `push` takes that, and nothing else. */
  readonly lacksUsage?: boolean | undefined;
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
