import { invalid, Refusal } from "../../ground/refusal.ts";
import { BUILTIN_ROUTES } from "./builtin.ts";
import type { Route } from "./route.ts";

/** An image of a request. */
export interface ImageUse {
  /** Path of the request field: `messages[0].content[1].image_url`. */
  readonly param: string;
  readonly source: "inline" | "remote";
}

/** The media of a request, in any dialect. */
export interface RouteUse {
  readonly images: readonly ImageUse[];
  /** Paths of request fields with a video. */
  readonly videos: readonly string[];
}

/**
 * Checks that a route supports the media of a request.
 *
 * @param use Images and videos of the request.
 * @throws {Refusal} `request_invalid`, naming the field of the first unsupported image or video.
 */
export function checkMedia(route: Route, use: RouteUse): void {
  const [video] = use.videos;
  if (video !== undefined) {
    throw invalid(video, `${video} is a video: no model supports video input.`);
  }
  for (const { param, source } of use.images) {
    if (route.images === "none") {
      throw invalid(
        param,
        `${param} is an image: the model '${route.id}' does not support image input.`,
      );
    }
    if (source === "remote" && route.images !== "remote") {
      throw invalid(
        param,
        `${param} is a remote image: the model '${route.id}' supports images only as base64 data.`,
      );
    }
  }
}

/**
 * Returns the output limit of a request that sets none: the route's maximum. A plain request to a built-in route gets
 * less, since its price is meant to be small; a cut tool call would be lost, so that requests with tools do not.
 *
 * @param options Whether the request offers tools, and the limit of plain requests (`defaultMaxOutput`).
 * @returns Output tokens per choice.
 */
export function defaultOutput(
  { id, maxOutput }: Pick<Route, "id" | "maxOutput">,
  { offersTools, plainTokens }: { offersTools: boolean; plainTokens: number },
): number {
  return offersTools || !isBuiltInRoute(id) ? maxOutput : plainTokens;
}

/** Whether a route is one of the six that come with the gateway. */
export function isBuiltInRoute(id: string): boolean {
  return Object.hasOwn(BUILTIN_ROUTES, id);
}

/** Numbers of the service of the built-in routes: the most output tokens that can be asked for, and the most stop sequences. */
const BUILTIN_MAX_ASKED = 128_000;
const BUILTIN_MAX_STOPS = 4;

/**
 * Checks what a request to a built-in route asks for. Other routes have what their targets take: a larger output limit is capped there.
 *
 * @param asked Fields of the request with their numbers.
 * @throws {Refusal} `request_invalid` for a number that the service of the route refuses.
 */
export function checkAsked(
  { id }: Pick<Route, "id">,
  { limits, stops }: {
    readonly limits: readonly { readonly param: string; readonly tokens: number }[];
    readonly stops: { readonly param: string; readonly count: number };
  },
): void {
  if (!isBuiltInRoute(id)) return;
  const high = limits.find(({ tokens }) => tokens > BUILTIN_MAX_ASKED);
  if (high !== undefined) {
    throw invalid(high.param, `${high.param} must be at most ${BUILTIN_MAX_ASKED}.`);
  }
  if (stops.count > BUILTIN_MAX_STOPS) {
    throw invalid(stops.param, `${stops.param} must have at most ${BUILTIN_MAX_STOPS} items.`);
  }
}

/**
 * How many times the tokens of an upstream the gateway's own count may be, in any text and by any tokenizer: it is up to 1.7 times
 * `o200k_base` (docs/counting.md), of which those of Gemma and Gemini need a third in Dhivehi, Amharic and Lao (3.2 times). What counts more
 * than this is not explained by a tokenizer.
 */
export const MAX_OVERCOUNT = 3.5;

/**
 * Output tokens that are asked for even where the input, as it is counted, leaves less, and no more than this part of the context: only the
 * upstream knows what it leaves.
 */
const MIN_ROOM_TOKENS = 1_024;
const MIN_ROOM = 1 / 16;

/**
 * Computes the output limit of a request: the caller's, capped by the route's maximum and by the room that the input
 * leaves in the context window.
 *
 * A count may be too high. It refuses an input only if no tokenizer could make it fit; whether one fits that may is for the
 * upstream to decide.
 *
 * @param route The route, for its limits.
 * @param tokens Counted or estimated input tokens, the caller's output limit (`max_tokens`), and how many times the upstream's
 *   count the gateway's may be. Default: it is exact.
 * @returns Max output tokens per choice, at least 1.
 * @throws {Refusal} `context_exceeded` if the input leaves no room.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { BUILTIN_ROUTES, permittedOutput } from "./mod.ts";
 *
 * const route = { id: "svc-k2", origin: "built-in" as const, targets: [], ...BUILTIN_ROUTES["svc-k2"]! };
 * assertEquals(permittedOutput(route, { inputTokens: 10, asked: 128_000 }), 8192);
 * assertEquals(permittedOutput(route, { inputTokens: 127_990, asked: 1_024 }), 10);
 * assertEquals(permittedOutput(route, { inputTokens: 127_990, asked: 4_096, overcount: 2.5 }), 1_024);
 * ```
 */
export function permittedOutput(
  route: Route,
  { inputTokens, asked, overcount = 1 }: {
    inputTokens: number;
    asked: number;
    overcount?: number;
  },
): number {
  const leastInput = Math.ceil(inputTokens / overcount);
  const mostRoom = route.context - leastInput;
  if (leastInput > route.maxInput || mostRoom < 1) {
    // Coding tools recognize this sentence and compact the conversation.
    const maximum = Math.min(route.maxInput, route.context - 1);
    throw new Refusal(
      "context_exceeded",
      `prompt is too long: ${inputTokens} tokens > ${maximum} maximum`,
      { param: "messages" },
    );
  }
  const least = Math.min(MIN_ROOM_TOKENS, Math.ceil(MIN_ROOM * route.context), mostRoom);
  const room = Math.max(route.context - inputTokens, least);
  return Math.min(asked, route.maxOutput, room);
}
