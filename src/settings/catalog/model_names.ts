import type { BackName } from "../../wire/dialects/mod.ts";
import { servesEmbeddings } from "../../wire/embeddings/mod.ts";
import { ROUTE_ID } from "../config/mod.ts";
import type { RouteKind } from "./route.ts";

/** Names of models that rank, moderate, hear, speak or draw. */
const NOT_SERVED =
  /rerank|moderation|whisper|\btts\b|transcribe|diffusion|dall-e|imagen?\b|sora|veo/i;
/** Names of models that make embeddings: `text-embedding-3-small`, `nomic-embed-text`, `bge-m3`. */
const EMBEDS = /embed|all-minilm|(?:^|[\/_-])(?:bge|gte|e5)-/i;

/**
 * Says why a listed model is never served by its own name.
 *
 * @param id Name of the model.
 * @param dialect Wire format of its upstream, if it matters.
 * @returns The reason, or `undefined`.
 */
export function whyNotServed(id: string, dialect: BackName = "chat"): string | undefined {
  if (!ROUTE_ID.test(id)) return "its name has spaces or other characters that IDs cannot have";
  if (NOT_SERVED.test(id)) return "neither a chat nor an embeddings model, by its name";
  if (servesEmbeddings(dialect) || kindByName(id) === "generation") return undefined;
  return `an embeddings model, by its name: the ${dialect} dialect has no embeddings`;
}

/**
 * Returns the name under which Claude Code lists a model: it shows only names that begin like its maker's.
 *
 * @param id ID of a route.
 * @returns The ID if it begins so, otherwise the ID with the prefix `claude-`.
 */
export function claudeName(id: string): string {
  return /^(claude|anthropic)/.test(id) ? id : `claude-${id}`;
}

/**
 * Guesses by a name what a model is for.
 *
 * @param id Name of the model.
 * @returns `embeddings` if the name says so, otherwise `generation`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { kindByName } from "./model_names.ts";
 *
 * assertEquals(kindByName("mxbai-embed-large"), "embeddings");
 * assertEquals(kindByName("llama3"), "generation");
 * ```
 */
export function kindByName(id: string): RouteKind {
  return EMBEDS.test(id) && !NOT_SERVED.test(id) ? "embeddings" : "generation";
}
