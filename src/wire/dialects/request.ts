/** A client's request, and how it is written for an upstream. */

import type { JsonObject, JsonValue } from "./json.ts";
import type { ReasoningRequest, RouteReasoning } from "./reasoning.ts";

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
  /** Whether the client may refer to reasoning instead of returning it: its encrypted form is asked for, and kept. */
  readonly keepsReasoning?: boolean | undefined;
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
  /** Beta features that the body asked for, which has no place for them there: they go on beside those of the header. */
  readonly betas?: readonly string[] | undefined;
  /** Whether marks for prompt caches were written. */
  readonly takesMarks?: boolean | undefined;
  /** Whether images that a model made are part of it. */
  readonly takesMadeImages?: boolean | undefined;
  /** Tools that are offered under other names there, the client's names by those. */
  readonly toolNames?: ReadonlyMap<string, string> | undefined;
  /** The names of the tools that may be called, as they are offered there. */
  readonly offered?: readonly string[] | undefined;
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
export type ReadOptions = Pick<WrittenRequest, "toolNames" | "offered" | "thinkTags" | "sampling">;
