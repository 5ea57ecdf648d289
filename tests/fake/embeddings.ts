import { encodeVector } from "../../src/wire/embeddings/mod.ts";
import type { Received } from "./upstream.ts";

/** Settings of an embeddings route over a fake upstream, with a credit for each input token. */
export function embeddingsSettings(url: string, more: Record<string, unknown> = {}) {
  return {
    upstreams: { up: { url } },
    routes: {
      e: {
        kind: "embeddings" as const,
        targets: [{ upstream: "up", model: "theirs" }],
        context: 1_000,
        minimum: 1,
        prices: { input: 1_000_000 },
        ...more,
      },
    },
  };
}

/** The inputs of a request that an upstream received. */
export function inputsOf({ body: { input } }: Received): readonly unknown[] {
  return Array.isArray(input) && typeof input[0] !== "number" ? input : [input];
}

/** A vector that tells its input's place and the length of its text. */
export function vectorOf(input: unknown, index: number): number[] {
  return [index, (input as string | unknown[]).length, 0.1];
}

/** What an upstream of the API's own kind replies. */
export function embeddingsReply(
  request: Received,
  { tokens = 7, more = {}, encoding = request.body.encoding_format }: {
    /** Undefined: no report. */
    tokens?: number | undefined;
    more?: Record<string, unknown>;
    encoding?: "float" | "base64" | undefined;
  } = {},
): Response {
  return Response.json({
    object: "list",
    data: inputsOf(request).map((input, index) => {
      const vector = vectorOf(input, index);
      return {
        object: "embedding",
        index,
        embedding: encoding === "base64" ? encodeVector(Float64Array.from(vector)) : vector,
      };
    }),
    model: "theirs",
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    ...more,
  });
}
