/** Format of a client's request ID that is safe in logs and headers. */
const CLIENT_REQUEST_ID = /^[A-Za-z0-9._:/+=@-]{1,128}$/;

/**
 * Returns the client's `X-Request-Id` if it is valid. It identifies the request in the response and the log. The ledger
 * uses the gateway's ID, since a client may send the same ID twice.
 */
export function clientRequestIdOf(headers: Headers): string | undefined {
  const given = headers.get("x-request-id");
  return given !== null && CLIENT_REQUEST_ID.test(given) ? given : undefined;
}

/** Whether a path is of the API, which serves browsers of other origins and needs a key. */
export function isApiPath(path: string): boolean {
  return path.startsWith("/v1/") || path.startsWith("/user/");
}

/** Returns whether a path belongs to the console. */
export function isConsolePath(path: string): boolean {
  return path === "/" || path === "/docs" || path === "/docs/" || path === "/console" ||
    path.startsWith("/console/");
}

/** Where the path of an absolute URL begins. */
function startOf(url: string): number {
  return url.indexOf("/", url.indexOf("://") + 3);
}

/** Returns an absolute URL with another path, and its own query. */
export function withPath(url: string, path: string): string {
  const start = startOf(url);
  return `${url.slice(0, start)}${path}${url.slice(start + pathOf(url).length)}`;
}

/** Returns the path of an absolute URL, undecoded and without the query. */
export function pathOf(url: string): string {
  const start = startOf(url);
  const query = url.indexOf("?", start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}
