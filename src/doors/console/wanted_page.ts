import { forgetCookie, keepCookie, readCookie } from "./cookies.ts";
import { type PageRequest, seeOther } from "./request.tsx";

/** How long somebody may take to sign in, by a link in a message as well. */
const KEPT_SECONDS = 1_800;
/** The cookie that holds the page that was asked for. */
const PAGE = "sluice-page";
const MAX_CHARS = 1_000;
const HOME = "/console/";

/**
 * Leads to the page to sign in, and notes the page that was asked for: {@linkcode toWantedPage} leads there. A form is not
 * carried out afterwards, and the page says so.
 */
export function toSignIn(c: PageRequest): Response {
  const isForm = c.req.method === "POST";
  const response = seeOther(c, `/console/sign-in${isForm ? "?done=unsent" : ""}`);
  const pathname = c.req.path; // below the path of the public URL, the address has that before it
  const path = `${pathname}${new URL(c.req.url).search}`;
  // a page that is opened, not what a page reads or downloads
  const mode = c.req.header("sec-fetch-mode") ?? "navigate";
  const isPage = c.req.method === "GET" && mode === "navigate" && !pathname.endsWith(".csv");
  if (!isPage || path.length > MAX_CHARS || pageAt(path) === HOME) return response;
  keepCookie(c, response, { own: PAGE, value: encodeURIComponent(path), maxAge: KEPT_SECONDS });
  return response;
}

/** Leads to the page that was asked for before signing in, or to the first page. */
export function toWantedPage(c: PageRequest): Response {
  const wanted = cookieIn(c);
  return seeOther(c, wanted === undefined ? HOME : pageAt(wanted));
}

/** Forgets the page that was asked for, if there is one. */
export function forgetWantedPage(c: PageRequest, response: Response): void {
  if (cookieIn(c) !== undefined) forgetCookie(c, response, PAGE);
}

/** A page of the console by its path and query; the first page for any other address: a cookie leads nowhere else. */
function pageAt(path: string): string {
  if (!path.startsWith(HOME) || !URL.canParse(path, "http://console")) return HOME;
  const { host, pathname, search } = new URL(path, "http://console");
  return host === "console" && pathname.startsWith(HOME) ? `${pathname}${search}` : HOME;
}

function cookieIn(c: PageRequest): string | undefined {
  try {
    const value = readCookie(c, PAGE);
    return value === undefined ? undefined : decodeURIComponent(value);
  } catch {
    return undefined; // neither a browser nor this gateway writes such a one
  }
}
