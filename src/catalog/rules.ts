import { invalid, Refusal } from "../refusal.ts";
import type { Route } from "./route.ts";

/** Where an image of a request comes from. */
export interface ImageUse {
  /** The field that holds it, as a path. */
  readonly param: string;
  readonly source: "inline" | "remote";
}

/** What the rules of a route look at, in any dialect. */
export interface RouteUse {
  readonly images: readonly ImageUse[];
  /** Fields that hold a video. */
  readonly videos: readonly string[];
}

/** Refuses images and videos that the route does not take. */
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
 * How many tokens an answer may have: what was asked for, within the route's maximum and within
 * what the input leaves of the context window.
 *
 * @param inputTokens The input as counted or estimated.
 * @param asked The caller's `max_tokens`.
 * @throws {Refusal} `context_exceeded` when no room is left.
 *
 * @example
 * ```ts
 * import { BUILTIN_ROUTES, permittedOutput } from "./mod.ts";
 *
 * const route = { id: "svc-k2", targets: [], ...BUILTIN_ROUTES["svc-k2"]! };
 * permittedOutput(route, { inputTokens: 10, asked: 128_000 }); // 8192
 * permittedOutput(route, { inputTokens: 127_990, asked: 1_024 }); // 10
 * ```
 */
export function permittedOutput(
  route: Route,
  { inputTokens, asked }: { inputTokens: number; asked: number },
): number {
  const room = route.context - inputTokens;
  if (inputTokens > route.maxInput || room < 1) {
    // Coding tools recognise this sentence and compact their conversation.
    const maximum = Math.min(route.maxInput, route.context - 1);
    throw new Refusal(
      "context_exceeded",
      `prompt is too long: ${inputTokens} tokens > ${maximum} maximum`,
      { param: "messages" },
    );
  }
  return Math.min(asked, route.maxOutput, room);
}
