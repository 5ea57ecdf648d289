/** Headers of every response. */
export const IDS = ["X-Request-Id", "request-id"] as const;

/** Headers with the caller's credits and rate window. */
export const LIMIT_HEADERS = [
  "X-Credits-Remaining",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Sluice-Budget-Remaining",
  "X-Sluice-Budget-Reset",
] as const;

/** Headers of a model's reply. */
export const REPLY_HEADERS = [
  ...IDS,
  ...LIMIT_HEADERS,
  "X-Sluice-Upstream",
  "X-Sluice-Own-Key",
  "X-Sluice-Credits",
  "X-Sluice-Ignored",
  "X-Sluice-Adjusted",
  "X-Sluice-Simulated",
] as const;

/** Headers that browsers may read. */
export const EXPOSED = [...REPLY_HEADERS, "ETag", "Retry-After", "x-should-retry"] as const;

export type ExposedHeader = (typeof EXPOSED)[number];
