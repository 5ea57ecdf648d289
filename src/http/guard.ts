import { createHash, timingSafeEqual } from "node:crypto";

/** A host with an optional port, as a `Host` header may hold it (RFC 9110, section 7.2). */
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/**
 * Whether a request's `Host` header is one.
 *
 * The platform builds the request's address from this header, so that `Host: x/admin?` would turn
 * one path into another before routing.
 */
export function hasSaneHost(request: Request): boolean {
  const host = request.headers.get("host");
  return host === null || HOST.test(host);
}

/** The keys that a request presents, in the order of their precedence. */
export function presentedKeys(headers: Headers): string[] {
  const keys: string[] = [];
  const authorization = headers.get("authorization");
  if (authorization !== null) {
    const [, bearer] = /^Bearer\s+(\S+)\s*$/i.exec(authorization) ?? [];
    keys.push(bearer ?? authorization);
  }
  const apiKey = headers.get("x-api-key");
  if (apiKey !== null && apiKey !== "") keys.push(apiKey.trim());
  return keys;
}

/** Whether two secrets are the same, in a time that tells nothing about how much of them is. */
export function sameSecret(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
