import { createHash } from "node:crypto";

/** A key for the prompt cache of a conversation. Nothing about the user can be read from it. */
export function cacheKeyOf(session: string): string {
  return `sluice-${createHash("sha256").update(`session ${session}`).digest("hex").slice(0, 32)}`;
}
