/**
 * What all dialects have in common, in none's words. A translation goes through it: one dialect is read into it,
 * another is written from it.
 */

import { type JsonObject, type JsonValue, objectIn } from "../json.ts";
import type { ReasoningRequest } from "../reasoning.ts";
import type { OutputFormat } from "./output_format.ts";

/** What a conversation holds that a dialect may have no place for. */
export type Concept =
  | "messages"
  | "documents"
  | "temperature"
  | "topP"
  | "topK"
  | "stop"
  | "seed"
  | "presencePenalty"
  | "frequencyPenalty"
  | "reasoning"
  | "reasoningBudget"
  | "earlierReasoning"
  | "imageDetail"
  | "verbosity"
  | "logprobs"
  | "alternatives"
  | "parallelTools"
  | "strictTools"
  | "serviceTier"
  | "user"
  | "safetyId"
  | "cacheKey";

/** Ends what a prompt cache is to keep. */
export interface CacheMark {
  /** `5m` or `1h`; undefined for the provider's usual time. */
  readonly ttl?: string;
}

/** What may have a mark at its end. */
export interface Markable {
  readonly cached?: CacheMark | undefined;
}

/** A piece of a user's message or of a tool's result. */
export type Part = Markable & PlainPart;

type PlainPart =
  | { readonly type: "text"; readonly text: string }
  | {
    readonly type: "image";
    readonly url: string;
    /** How closely it is to be looked at; undefined to leave that to the model. */
    readonly detail?: string | undefined;
  }
  /** Its URL may be that of a web server, which not every dialect takes. */
  | { readonly type: "document"; readonly title: string | undefined; readonly url: string };

/** A call of a tool. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text, as the model wrote it. */
  readonly args: string;
}

/** A piece of reasoning that only the target which wrote it can verify or read. */
export interface SealedReasoning {
  /** The upstream's name, and the model's there. */
  readonly upstream: string;
  readonly model: string;
  /** Empty where the upstream hides it. */
  readonly text: string;
  /** A signature of the text or, where `text` is empty, the reasoning itself in a form that only its upstream can read. */
  readonly seal: string;
}

/** One message of a conversation. */
export type Turn = Markable & PlainTurn;

type PlainTurn =
  | { readonly role: "user"; readonly parts: readonly Part[] }
  /** An instruction in the middle of the conversation. */
  | { readonly role: "system"; readonly text: string }
  | {
    readonly role: "assistant";
    readonly reasoning: string;
    /** The same reasoning as its upstream sealed it, where the client returned that. */
    readonly sealed?: readonly SealedReasoning[];
    readonly text: string;
    /** Words in which the model declined; empty if undefined. */
    readonly refusal?: string | undefined;
    /** Images that it made, as base64 data URLs; none if undefined. */
    readonly images?: readonly string[] | undefined;
    readonly calls: readonly ToolCall[];
  }
  | {
    readonly role: "tool";
    readonly callId: string;
    readonly parts: readonly Part[];
    readonly failed: boolean;
  };

/** A tool on offer. */
export interface Tool extends Markable {
  readonly name: string;
  readonly description: string | undefined;
  readonly schema: JsonObject;
  readonly strict: boolean | undefined;
}

/** A whole request. */
export interface Conversation extends Markable {
  readonly instructions: string;
  /** Where in the instructions a prompt cache may end, in UTF-16 units. */
  readonly instructionMarks?: readonly { readonly end: number; readonly mark: CacheMark }[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: "auto" | "none" | "required" | { readonly name: string } | undefined;
  readonly parallelTools: boolean | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
  /** Makes replies repeatable as far as the upstream can. */
  readonly seed?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly stop: readonly string[];
  /** The end user's id, for the provider. */
  readonly user: string | undefined;
  /** The same in the field that providers look into for abuse; not the user's name in most cases. */
  readonly safetyId?: string | undefined;
  /** Names the conversation for the provider's prompt cache, and nothing else. */
  readonly cacheKey: string | undefined;
  /** What form the reply's text must have; undefined for any. */
  readonly format: OutputFormat | undefined;
  readonly reasoning: ReasoningRequest;
  /** How much the reply is to say. */
  readonly verbosity?: string | undefined;
  /** Alternatives whose probabilities are wanted beside those of the reply's tokens; undefined for no probabilities. */
  readonly logprobs?: number | undefined;
  /** How fast and at which price it is to be served, in words of OpenAI's dialects; undefined for the usual way. */
  readonly serviceTier?: string | undefined;
  /** Fields of the request that have no place here. */
  readonly dropped: readonly string[];
  /** Tokens of what the conversation says besides what the client sent; 0 if undefined. */
  readonly addedTokens?: number | undefined;
}

/** A conversation without turns and options. */
export const EMPTY_CONVERSATION: Conversation = {
  instructions: "",
  turns: [],
  tools: [],
  toolChoice: undefined,
  parallelTools: undefined,
  temperature: undefined,
  topP: undefined,
  topK: undefined,
  stop: [],
  user: undefined,
  cacheKey: undefined,
  format: undefined,
  reasoning: {},
  dropped: [],
};

/** Why a reply ended: `refused` if the model declined in words of its own, `filtered` if a filter stopped it. */
export type Finish = "stop" | "length" | "tools" | "refused" | "filtered";

/** A source on the web that a reply cites, with the place in its text in UTF-16 units. */
export interface Citation {
  readonly url: string;
  readonly title: string;
  readonly start: number;
  readonly end: number;
}

/** A piece of a reply. */
export type ReplyEvent =
  | { readonly type: "reasoning"; readonly text: string }
  /** Ends a piece of reasoning: what its upstream wants back with it, or instead of a text that it hides. */
  | {
    readonly type: "seal";
    readonly seal: string;
    /** Whether it belongs to the message or the call that follows, and not to the reasoning before it. */
    readonly isOfCall?: boolean | undefined;
  }
  | {
    readonly type: "text";
    readonly text: string;
    /** Probabilities of its tokens, as OpenAI's dialects write them. */
    readonly logprobs?: readonly JsonValue[] | undefined;
  }
  /** Words in which the model declines. */
  | { readonly type: "refusal"; readonly text: string }
  /** Cites a source for the text so far. */
  | ({ readonly type: "citation" } & Citation)
  /** An image that the model made, as a base64 data URL. */
  | { readonly type: "image"; readonly url: string }
  /** A piece of a tool call; `key` tells calls apart, id and name come with its first pieces. */
  | {
    readonly type: "call";
    readonly key: string;
    readonly id: string | undefined;
    readonly name: string | undefined;
    readonly args: string;
  }
  | { readonly type: "finish"; readonly finish: Finish; readonly stopped: string | undefined };

/** An image as OpenAI's dialects write it. */
export function imageOf(url: string, detail: JsonValue | undefined): Part {
  const isSaid = typeof detail === "string" && detail !== "auto";
  return { type: "image", url, ...(isSaid ? { detail } : {}) };
}

/** A citation as OpenAI's dialects write it; nothing for one that names no address. */
export function citationOf(cited: JsonObject): (ReplyEvent & { type: "citation" })[] {
  const { url, title, start_index: start, end_index: end } = cited;
  if (typeof url !== "string") return [];
  const place = (at: unknown) => typeof at === "number" ? at : 0;
  return [{
    type: "citation",
    url,
    title: typeof title === "string" ? title : "",
    start: place(start),
    end: place(end),
  }];
}

/** The fields of a citation in OpenAI's dialects. */
export function writeCitation({ url, title, start, end }: Citation): JsonObject {
  return { url, title, start_index: start, end_index: end };
}

/** The tier that a body of OpenAI's dialects asks for. */
export function tierOf({ service_tier: tier }: JsonObject): string | undefined {
  return typeof tier === "string" && tier !== "auto" ? tier : undefined;
}

/** JSON text of a call's arguments as an object; undefined when it is not one. */
export function parseArgs(args: string): JsonObject | undefined {
  return args.trim() === "" ? {} : objectIn(args);
}

/** An id that is too long to be one holds text. */
function longId(id: string | undefined): string {
  return id !== undefined && id.length > 64 ? id : "";
}

/** Counts the text of an event, a citation's apart. Returns whether it has any. */
export function countEvent(counter: { add(text: string): void }, event: ReplyEvent): boolean {
  const text = event.type === "call"
    ? `${longId(event.id)}${event.name ?? ""}${event.args}`
    : "text" in event
    ? event.text
    : "";
  counter.add(text);
  return text !== "";
}

/** Joins the pieces of each tool call into its first one. */
export function joinCalls(events: readonly ReplyEvent[]): ReplyEvent[] {
  const pieces = Map.groupBy(
    events.filter((event) => event.type === "call"),
    ({ key }) => key,
  );
  return events.flatMap((event): ReplyEvent[] => {
    if (event.type !== "call") return [event];
    const own = pieces.get(event.key)!;
    if (own[0] !== event) return [];
    const id = own.find((piece) => piece.id !== undefined)?.id;
    const name = own.find((piece) => piece.name !== undefined)?.name;
    return [{ ...event, id, name, args: own.map(({ args }) => args).join("") }];
  });
}
