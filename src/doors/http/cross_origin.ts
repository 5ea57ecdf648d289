import { STATUS_CODE } from "../../ground/std/mod.ts";
import { EXPOSED } from "./response_headers.ts";

const EXPOSED_NAMES = EXPOSED.join(", ");

const PREFLIGHT_SECONDS = "600";

/**
 * Returns the CORS headers of a response (Fetch standard).
 *
 * A middleware would add them to a finished response, which the platform then builds twice, at a quarter of the
 * throughput of small requests.
 *
 * @param origins Allowed origins; `*` allows any.
 */
export function crossOriginHeaders(
  request: Request,
  origins: readonly string[],
): Record<string, string> {
  if (origins.includes("*")) {
    return { "access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED_NAMES };
  }
  const origin = request.headers.get("origin");
  if (origin === null || !origins.includes(origin)) return { vary: "Origin" };
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED_NAMES,
    vary: "Origin",
  };
}

/**
 * Whether a page may open a WebSocket, for which browsers send no preflight request. Clients that are no browsers name no
 * origin.
 *
 * @param origins Allowed origins; `*` allows any.
 */
export function mayConnect(request: Request, origins: readonly string[]): boolean {
  const origin = request.headers.get("origin");
  return origin === null || origins.includes("*") || origins.includes(origin) ||
    URL.parse(origin)?.host === request.headers.get("host");
}

/** Makes the response to a CORS preflight request. */
export function preflight(request: Request, headers: Record<string, string>): Response {
  const asked = request.headers.get("access-control-request-headers");
  return new Response(null, {
    status: STATUS_CODE.NoContent,
    headers: {
      ...headers,
      "access-control-allow-methods": "GET, POST, OPTIONS",
      "access-control-max-age": PREFLIGHT_SECONDS,
      ...(asked === null ? {} : { "access-control-allow-headers": asked }),
    },
  });
}
