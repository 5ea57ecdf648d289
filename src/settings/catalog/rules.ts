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
 * @param route The route.
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
 * @param route The route.
 * @param options Whether the request offers tools, and the limit of plain requests (`defaultMaxOutput`).
 * @returns Output tokens per choice.
 */
export function defaultOutput(
  { id, maxOutput }: Pick<Route, "id" | "maxOutput">,
  { offersTools, plainTokens }: { offersTools: boolean; plainTokens: number },
): number {
  return offersTools || !Object.hasOwn(BUILTIN_ROUTES, id) ? maxOutput : plainTokens;
}

/**
 * Computes the output limit of a request: the caller's, capped by the route's maximum and by the room that the input
 * leaves in the context window.
 *
 * @param route The route, for its limits.
 * @param tokens Counted or estimated input tokens, and the caller's output limit (`max_tokens`).
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
 * ```
 */
export function permittedOutput(
  route: Route,
  { inputTokens, asked }: { inputTokens: number; asked: number },
): number {
  const room = route.context - inputTokens;
  if (inputTokens > route.maxInput || room < 1) {
    // Coding tools recognize this sentence and compact the conversation.
    const maximum = Math.min(route.maxInput, route.context - 1);
    throw new Refusal(
      "context_exceeded",
      `prompt is too long: ${inputTokens} tokens > ${maximum} maximum`,
      { param: "messages" },
    );
  }
  return Math.min(asked, route.maxOutput, room);
}
