import * as z from "zod";

const most = z.int().positive().optional();

/** Schema of what may be sent to an upstream, with a key, or to a target. */
export const boundSettings = z.strictObject({
  atOnce: most.describe("Maximum requests at once."),
  requestsPerMinute: most.describe("Maximum requests in any minute."),
  tokensPerMinute: most.describe(
    "Maximum tokens in any minute: of the input and the permitted output, then what the upstream reports.",
  ),
  waitMs: z.int().nonnegative().max(60_000).default(0).describe(
    "Maximum time that a request waits for its turn before the next key or target is tried. Accounts take turns.",
  ),
}).describe(
  "What may be sent there. Each serving thread of `workers` has its part; requests with keys of teams and accounts do not count.",
);
