import type { JsonObject } from "../dialects/mod.ts";
import type { EmbeddingsRequest } from "./parse.ts";
import type { EmbeddingsReply } from "./read_reply.ts";
import { encodeVector } from "./vectors.ts";

/** What a request was metered by. */
export interface EmbeddingsUsage {
  readonly inputTokens: number;
  /** The upstream's own fields, where its report was used. */
  readonly fields: JsonObject | undefined;
}

/**
 * Writes a reply for the client, in pieces: its vectors may be millions of numbers.
 *
 * @param request The request, for the client's name of the model and the encoding.
 * @param reply The upstream's reply.
 * @param usage What it was metered by.
 * @returns The pieces of the JSON text, about one for each vector.
 */
export function* writeEmbeddings(
  { model, encoding }: Pick<EmbeddingsRequest, "model" | "encoding">,
  { items, others }: Pick<EmbeddingsReply, "items" | "others">,
  { inputTokens, fields }: EmbeddingsUsage,
): Generator<string> {
  yield `{"object":"list","data":[`;
  for (const [index, item] of items.entries()) {
    const vector = encoding === "base64"
      ? `"${encodeVector(item.vector)}"`
      : `[${item.vector.join(",")}]`;
    yield `${index === 0 ? "" : ","}{"object":"embedding","index":${index},"embedding":${vector}` +
      `${members(item.others)}}`;
  }
  const counted = { prompt_tokens: inputTokens, total_tokens: inputTokens };
  const usage = { ...counted, ...fields, prompt_tokens: inputTokens };
  yield `],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}${members(others)}}`;
}

/** An object's members behind others. */
function members(object: JsonObject): string {
  const json = JSON.stringify(object);
  return json === "{}" ? "" : `,${json.slice(1, -1)}`;
}
