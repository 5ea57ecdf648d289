import type { RateLimit } from "../../ground/rate_limits/mod.ts";
import { Refusal } from "../../ground/refusal.ts";

/** What bytes that nobody pays for are called. */
export const UNBILLED_BYTES = "bytes in rejected and count_tokens requests";

/** @throws {Refusal} `rate_exceeded` when a key has used up its units of a minute. */
export function checkQuota(limit: RateLimit, keyId: string, units: string): void {
  const retryAfterMs = limit.waitMs(keyId);
  if (retryAfterMs === 0) return;
  const most = limit.limit.toLocaleString("en-US");
  const message = `Too many ${units}: the limit is ${most} per minute and API key.`;
  throw new Refusal("rate_exceeded", message, { retryAfterMs });
}
