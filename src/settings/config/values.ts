import * as z from "zod";
import { wholeInput } from "../../ground/amounts/mod.ts";
import { isVisible, tidyName } from "../../ground/platform/mod.ts";
import { CREDITS_OR_NONE } from "./amounts.ts";
import { Secret } from "./secret.ts";

/** A URL of HTTP or HTTPS. */
export const httpUrl = z.url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" });
/** First parts of the gateway's own paths: below one of these, nobody could tell whether a prefix was taken off. */
export const OWN_PATHS = [
  ".well-known",
  "v1",
  "user",
  "admin",
  "api",
  "managed",
  "console",
  "docs",
  "webhooks",
  "healthz",
  "readyz",
  "metrics",
  "oauth",
  "openapi.json",
  "scim",
];
/** Such as no proxy writes in another way. */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9._~-]+)*$/;

/** What is wrong with a public URL, to which paths are appended; undefined if nothing is. */
function faultOfPublicUrl(text: string): string | undefined {
  const { pathname, username, password } = new URL(text);
  if (/[?#]/.test(text)) return "must end with its path: remove the query or fragment (? or #)";
  if (username !== "" || password !== "") return "must not contain a user name or password";
  const path = pathname.replace(/\/+$/, "");
  if (!PLAIN_PATH.test(path)) {
    return `must have a path of letters, digits and . _ ~ - between single slashes: got ${pathname}`;
  }
  const first = path.split("/")[1] ?? "";
  return OWN_PATHS.includes(first)
    ? `must not have a path that begins with /${first}, which is one of the gateway's own: give the address without it`
    : undefined;
}

/** A base URL, without a slash at its end and with a path or none. */
export const publicUrl = httpUrl.superRefine((text, context) => {
  const message = URL.canParse(text) ? faultOfPublicUrl(text) : undefined;
  if (message !== undefined) context.addIssue({ code: "custom", message });
}).transform((text) => new URL(text).href.replace(/\/+$/, ""));
/** A key that fits in a header. Trimmed, since keys read from files often end with a line break. */
export const secret = z.string().trim().min(1).regex(
  /^[\x20-\x7e]*$/,
  "must contain only printable ASCII characters",
)
  .transform((value) => new Secret(value));
/** A time of up to a day. */
export const milliseconds = z.int().positive().max(24 * 3_600_000);
/** A setting of a whole number above 0, if nothing else is set `byDefault`. */
export function limit(byDefault: number, description: string) {
  return z.int().positive().default(byDefault).describe(description);
}
/** A setting of {@linkcode milliseconds}, as {@linkcode limit}. */
export function timeLimit(byDefault: number, description: string) {
  return milliseconds.default(byDefault).describe(description);
}
/** A whole number, 0 or more. */
export const count = z.int().nonnegative().max(Number.MAX_SAFE_INTEGER);
/** Credits, or none. */
export const credits = wholeInput(CREDITS_OR_NONE);
/** Schema of the names of upstreams and packages. */
export const identifier = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._:\/-]{0,127}$/,
  "must be 1 to 128 letters, digits or any of . _ : / -, starting with a letter or digit",
);
/** Names of models that no header, log line, page or shell has to escape: `@cf/meta/llama-3`, `claude-sonnet-4@20250514`. */
export const ROUTE_ID = /^[A-Za-z0-9@][A-Za-z0-9._:@\/+-]{0,127}$/;
/** What IDs of routes may have, for people. */
export const ROUTE_ID_CHARS = "letters, digits or any of . _ : / @ + -";
/** Schema of the IDs of routes. A model that an upstream lists has its name as ID, by which the settings change it. */
export const routeId = z.string().regex(
  ROUTE_ID,
  `must be 1 to 128 ${ROUTE_ID_CHARS}, starting with a letter, a digit or @`,
);

/** A name that people see: trimmed and normalized. */
export const displayName = z.string().overwrite(tidyName).min(1).refine(
  (name) => name === "" || isVisible(name),
  "must contain a character that can be seen",
);

/** A share of requests. */
export const weight = z.number().min(0).max(1_000_000);
