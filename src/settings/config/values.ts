import * as z from "zod";
import { isVisible, tidyName } from "../../ground/platform/mod.ts";
import { Secret } from "./secret.ts";

/** A URL of HTTP or HTTPS. */
export const httpUrl = z.url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" });
/** A key that fits in a header. Trimmed, since keys read from files often end with a line break. */
export const secret = z.string().trim().min(1).regex(
  /^[\x20-\x7e]*$/,
  "must contain only printable ASCII characters",
)
  .transform((value) => new Secret(value));
/** A time of up to a day. */
export const milliseconds = z.int().positive().max(24 * 3_600_000);
/** A whole number, 0 or more. */
export const count = z.int().nonnegative().max(Number.MAX_SAFE_INTEGER);
/** Thousands of such amounts still add up exactly. */
export const credits = count.max(1e12, "must be at most 1,000,000,000,000 credits");
/** Schema of the names of upstreams and routes. */
export const identifier = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._:\/-]{0,127}$/,
  "must be 1 to 128 letters, digits or any of . _ : / -, starting with a letter or digit",
);

/** A name that people see: trimmed and normalized. */
export const displayName = z.string().overwrite(tidyName).min(1).refine(
  (name) => name === "" || isVisible(name),
  "must contain a character that can be seen",
);

/** A share of requests. */
export const weight = z.number().min(0).max(1_000_000);
