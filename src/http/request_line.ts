/** What an id may have to stand in a log and in a header. */
const CLIENT_REQUEST_ID = /^[A-Za-z0-9._:/+=@-]{1,128}$/;

/**
 * The client's own `X-Request-Id`, if it is valid. It names the request in the response and in the log; the
 * ledger goes by the gateway's id, since a client may send the same one twice.
 */
export function clientRequestIdOf(headers: Headers): string | undefined {
  const given = headers.get("x-request-id");
  return given !== null && CLIENT_REQUEST_ID.test(given) ? given : undefined;
}

/** Whether a path is of the API, which serves browsers of other origins and needs a key. */
export function isApiPath(path: string): boolean {
  return path.startsWith("/v1/") || path.startsWith("/user/");
}

/** Whether a path is a page's. */
export function isConsolePath(path: string): boolean {
  return path === "/" || path === "/docs" || path === "/docs/" || path === "/console" ||
    path.startsWith("/console/");
}

/** The path of an absolute URL, without its query, as it was sent: nothing is decoded. */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const query = url.indexOf("?", start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}
