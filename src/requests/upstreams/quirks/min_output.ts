import type { JsonObject } from "../../../wire/dialects/mod.ts";

const MIN_OUTPUT_TOKENS = 16;

/** With an output limit that the responses dialect's service does not reject; what goes beyond the client's is cut. */
export function withMinOutput(body: JsonObject): JsonObject {
  const { max_output_tokens: limit } = body;
  return typeof limit === "number" && limit < MIN_OUTPUT_TOKENS
    ? { ...body, max_output_tokens: MIN_OUTPUT_TOKENS }
    : body;
}
