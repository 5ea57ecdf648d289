import type { BackName } from "../dialects/mod.ts";

/** Where clients ask for embeddings. */
export const EMBEDDINGS_PATH = "/v1/embeddings";
/** Where upstreams are asked, below their base URL. */
export const UPSTREAM_EMBEDDINGS_PATH = "/embeddings";

/** Max inputs of a request. */
export const MAX_INPUTS = 2_048;
/** Max tokens of all inputs of a request together. */
export const MAX_INPUT_TOKENS = 300_000;
/** Max numbers of a vector. */
export const MAX_DIMENSIONS = 65_536;

/** Whether upstreams of a dialect have the endpoint for embeddings: those of OpenAI's dialects. */
export function servesEmbeddings(dialect: BackName): boolean {
  return dialect === "chat" || dialect === "responses";
}
