import { type JsonObject, withoutFields } from "./json.ts";
import type { Shaping } from "./request.ts";

/** Sampling that is sent where the client leaves it out. The contract's defaults, the same for all dialects. */
export const DEFAULT_SAMPLING = { temperature: 0.6, topP: 1 } as const;

/**
 * Fits the sampling of a request in OpenAI's dialects to its upstream: sets what the client left out, or takes out what is refused.
 *
 * @param fields Names of the fields that are refused.
 * @returns Those that were taken out.
 */
export function fitSampling(
  sent: JsonObject,
  { fixedSampling, ownSampling }: Shaping,
  fields: readonly string[],
): string[] {
  if (fixedSampling) return withoutFields(sent, fields);
  if (!ownSampling) {
    sent.temperature ??= DEFAULT_SAMPLING.temperature;
    sent.top_p ??= DEFAULT_SAMPLING.topP;
  }
  return [];
}
