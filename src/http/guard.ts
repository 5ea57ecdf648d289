import { createHash, timingSafeEqual } from "node:crypto";

/** A host with an optional port, the valid form of a `Host` header (RFC 9110, section 7.2). */
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/**
 * Returns whether a request's `Host` header is valid.
 *
 * The platform builds the request's URL from this header, so `Host: x/admin?` would change the path before routing.
 */
export function hasSaneHost(request: Request): boolean {
  const host = request.headers.get("host");
  return host === null || HOST.test(host);
}

/**
 * Returns the API keys of a request, from `Authorization` and `X-API-Key`.
 *
 * @returns Keys in order of precedence; empty if none was sent.
 */
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

/** Compares two secrets in constant time. */
export function sameSecret(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
