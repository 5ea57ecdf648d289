import type { JsonObject } from "./json.ts";

/** Begins every sealed text; the number is the format's. */
export const SEALED_PREFIX = "sl1.";

/** What is sealed: one kind cannot be passed off as another. */
export type SealedKind = "reasoning" | "compaction";

/**
 * Seals what a client keeps for the gateway between two requests: nobody can read or change it, and only the same account
 * can return it.
 */
export interface Sealer {
  /** Returns the value as text without meaning for the client: `sl1.` and base64url. */
  seal(kind: SealedKind, value: JsonObject): string;
  /**
   * @param param The field that holds the text, for the error.
   * @returns The value; undefined for a text that this gateway did not seal, or whose key it no longer has.
   * @throws {Refusal} `request_invalid` for a text that was changed, or sealed for another account or as another kind.
   */
  open(kind: SealedKind, text: string, param: string): JsonObject | undefined;
}
