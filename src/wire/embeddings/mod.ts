/**
 * The wire format of embeddings: `POST /v1/embeddings`, and `{base}/embeddings` at upstreams.
 *
 * Promise: pure functions, bounded work; unknown fields go on in both directions; a client gets the encoding that it asked
 * for, one vector for each input, in the order of the inputs. Wire names stay in here.
 * Leaves to others: the exchange with an upstream (`relay/`), limits and prices (`catalog/`).
 *
 * @module
 */

export {
  EMBEDDINGS_PATH,
  MAX_DIMENSIONS,
  MAX_INPUT_TOKENS,
  MAX_INPUTS,
  servesEmbeddings,
  UPSTREAM_EMBEDDINGS_PATH,
} from "./endpoint.ts";
export { meterEmbeddings } from "./meter.ts";
export { type EmbeddingsRequest, parseEmbeddings } from "./parse.ts";
export { type EmbeddingsReply, readEmbeddings } from "./read_reply.ts";
export { embeddingsRequest } from "./schema.ts";
export { NumberArrays } from "./number_arrays.ts";
export { decodeVector, encodeVector, type Vector } from "./vectors.ts";
export { writeEmbeddings } from "./write_reply.ts";
