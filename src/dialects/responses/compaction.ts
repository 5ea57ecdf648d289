import type { ParsedRequest } from "../dialect.ts";
import { objects } from "../json.ts";

/** The endpoint that summarises a conversation. */
export const COMPACT_PATH = "/v1/responses/compact";

/** Whether a request wants a summary of its conversation instead of a reply. */
export function isCompaction({ endpoint, body }: ParsedRequest): boolean {
  return endpoint === COMPACT_PATH || objects(body.input).at(-1)?.type === "compaction_trigger";
}
