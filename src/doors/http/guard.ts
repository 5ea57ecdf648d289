import { createHash, timingSafeEqual } from "node:crypto";

/** A host with an optional port, the valid form of a `Host` header (RFC 9110, section 7.2). */
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Paths that load balancers ask for over HTTP/1.0, which has no `Host`. */
const HOSTLESS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/**
 * Finds what is wrong with a request's `Host` or with how its body is framed (RFC 9112, sections 3.2 and 6.3), for those faults
 * that the platform lets pass. Requests of HTTP/2 have no `Host` either.
 *
 * The platform builds the request's URL from `Host`, so `Host: x/admin?` would change the path before routing.
 *
 * @returns An error message, or `undefined` if there is no fault.
 */
export function framingFault(headers: Headers, path: string): string | undefined {
  const host = headers.get("host");
  if (host === null ? !HOSTLESS.has(path) : !HOST.test(host)) {
    return "Missing or invalid Host header: send HTTP/1.1 with a host name and an optional port.";
  }
  const coding = headers.get("transfer-encoding");
  if (coding === null) return undefined;
  if (headers.has("content-length")) {
    return "Content-Length and Transfer-Encoding were both sent: send one of them.";
  }
  return coding.trim().toLowerCase() === "chunked"
    ? undefined
    : "Unsupported Transfer-Encoding: send 'chunked', or Content-Length.";
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
