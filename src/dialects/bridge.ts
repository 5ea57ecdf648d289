import type { JsonObject } from "./json.ts";
import type { Reasoning, ReasoningAsk } from "./reasoning.ts";
import type { SseEvent } from "./sse/mod.ts";
import type { Usage } from "./usage.ts";
import type { Refusal } from "../refusal.ts";

/** An image in a request. */
export interface ImageView {
  /** The field that holds it, as a path. */
  readonly param: string;
  readonly source: "inline" | "remote";
  readonly url: string;
}

/** A request body that has been read: valid in its dialect, and what the relay needs to know of it. */
export interface Asked {
  /** The body as it came, unknown fields included. Never changed in place. */
  readonly body: JsonObject;
  readonly model: string;
  readonly stream: boolean;
  /** Tokens that the answer may have, as the caller asked or by the dialect's default. */
  readonly maxOutput: number;
  /** Answers wanted. */
  readonly choices: number;
  readonly images: readonly ImageView[];
  /** Fields that hold a video, as paths. */
  readonly videos: readonly string[];
  /** What is asked of reasoning, where the body's own words are not carried on. */
  readonly reasoning?: ReasoningAsk;
}

/** What a dialect needs to know besides a body. */
export interface ReadOptions {
  /** The caller sends `anthropic-beta`. */
  readonly beta: boolean;
}

/** What an upstream departs from its dialect in, as far as a request's shape goes. */
export interface Shaping {
  /** Sampling is fixed there: temperature, top_p and penalties are not sent. */
  readonly fixedSampling?: boolean;
  /** Sampling that the caller leaves out is left out there: other values than its own are refused by some models. */
  readonly ownSampling?: boolean;
  /** The field that limits the output; by default the one the caller used. */
  readonly outputLimit?: "max_tokens" | "max_completion_tokens";
  /** Signatures of reasoning are verified there: what it did not sign is not sent. */
  readonly signedReasoning?: boolean;
  /** Files are refused there. */
  readonly withoutFiles?: boolean;
  /** `top_k` is known there, although its dialect has none. */
  readonly topK?: boolean;
  /** One answer at a time is given there, although its dialect can ask for several. */
  readonly singleAnswer?: boolean;
}

/** How one request is put to one target. */
export interface RequestOptions {
  /** The model's name there. */
  readonly model: string;
  /** Tokens that the answer may have at the most. */
  readonly permittedOutput: number;
  readonly shaping: Shaping;
}

/** What every answer to one request carries. */
export interface AnswerNames {
  /** The id that the caller sees. */
  readonly id: string;
  /** The model as the caller named it. */
  readonly model: string;
  /** Input tokens as counted here. */
  readonly inputTokens: number;
  /** Which of the caller's several answers this is, where they are fetched one by one. */
  readonly choice?: number;
}

/** A whole reply in the caller's dialect. */
export interface Answer {
  readonly body: JsonObject;
  /** How many choices it has: some upstreams give fewer than they are asked for. */
  readonly choices: number;
  /** As the upstream reported it; undefined when it did not. */
  readonly usage: Usage | undefined;
  /** Output tokens as counted here. */
  countOutput(): number;
  /** The body with the usage that was counted here, where the upstream reported none. */
  withUsage(usage: Usage): JsonObject;
}

/** A reply's event stream on its way from the upstream's dialect to the caller's. */
export interface AnswerStream {
  /**
   * Takes one event from the upstream; answers the text to send to the caller now.
   *
   * @throws {Refusal} when the upstream reports an error or sends what is not of its dialect.
   */
  push(event: SseEvent): string;
  /**
   * Takes the end of the upstream's bytes.
   *
   * @throws {Refusal} when the stream broke off before the answer was complete.
   */
  end(): void;
  /** Whether the upstream's answer is complete; nothing more is to be read. */
  readonly finished: boolean;
  /** Whether the upstream has said why its answer ended: what may follow is a report and an end mark. */
  readonly saidFinish: boolean;
  /** Whether any output has gone to the caller. */
  readonly hasOutput: boolean;
  /** Choices that have ended. */
  readonly endedChoices: number;
  /** As the upstream reported it; undefined when it has not. */
  readonly usage: Usage | undefined;
  /** Output tokens so far, as counted here. */
  readonly countedOutput: number;
  /** Ends the answer here, as if at its token limit; `close` is called next. */
  truncate(): string;
  /**
   * The last text of a complete answer, with the usage that was settled. Of one of several answers
   * (`choice`) it is what ends that one; the end of them all is said once, by who joins them.
   */
  close(usage: Usage): string;
  /** What keeps a silent connection open. */
  ping(): string;
}

/** A request in an upstream's dialect. */
export interface BridgedRequest {
  readonly body: JsonObject;
  /** Names of the caller's fields that it could not say. */
  readonly ignored: readonly string[];
}

/** One caller's dialect, towards upstreams of one dialect. */
export interface Bridge {
  /** Path below the upstream's base. */
  readonly path: string;
  /** Whether one request gets one answer there: a caller's `n` has to be asked for one by one. */
  readonly singleAnswer: boolean;
  request(asked: Asked, options: RequestOptions): BridgedRequest;
  answer(reply: unknown, asked: Asked, names: AnswerNames): Answer;
  stream(asked: Asked, names: AnswerNames): AnswerStream;
}

/** A body with the fields that a route's reasoning cannot use taken out. */
export interface Reasoned {
  readonly asked: Asked;
  /** Names of the fields that were left out. */
  readonly ignored: readonly string[];
}

/** A wire format in front. */
export interface Dialect {
  readonly name: "chat" | "messages";
  /** The id of an answer to a request. */
  answerId(requestId: string): string;
  /** Validates a body. Throws {@linkcode Refusal} naming the field at fault. */
  read(body: unknown, options: ReadOptions): Asked;
  /** Holds a body against how its route reasons. */
  reason(asked: Asked, reasoning: Reasoning): Reasoned;
  /** The request with images replaced by others, as base64 data URLs by the fields that hold them. */
  replaceImages(asked: Asked, urls: ReadonlyMap<string, string>): Asked;
  /** Input tokens as counted here. */
  countInput(asked: Asked): number;
  errorBody(refusal: Refusal, requestId: string): JsonObject;
  /** The last event of a stream that failed. */
  errorEvent(refusal: Refusal, requestId: string): string;
}
