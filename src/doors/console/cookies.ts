import { deleteCookie, getCookies, setCookie } from "../../ground/std/mod.ts";
import type { PageRequest } from "./request.tsx";

type Environment = Pick<PageRequest["env"], "visitor" | "base">;

/** The cookie that holds a session's token. */
export const SESSION = "sluice";

/**
 * Returns name and attributes of a cookie of the console. Only a name with `__Host-` cannot be set by another host of the
 * domain; it needs TLS and the whole host. Below a path, several gateways may share the host: a browser sends the cookie to that
 * path only, and since paths may be below each other, the name tells them apart.
 */
function cookieOf(own: string, { visitor: { secure }, base }: Environment) {
  const isWhole = base.path === "";
  const told = `${own}${base.path.replaceAll("/", "+")}`; // no path has a plus sign
  const name = secure ? `${isWhole ? "__Host-" : "__Secure-"}${told}` : told;
  return { name, path: base.link("/"), httpOnly: true, secure, sameSite: "Lax" } as const;
}

/** Returns the value of a cookie that a request carries; `undefined` if there is none. */
export function readCookie({ req, env }: PageRequest, own: string): string | undefined {
  try {
    return getCookies(req.raw.headers)[cookieOf(own, env).name];
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // an empty cookie: no browser sends one
    throw error;
  }
}

/** Has the browser keep a cookie. */
export function keepCookie(
  { env }: PageRequest,
  { headers }: Response,
  { own, ...kept }: { readonly own: string; readonly value: string; readonly maxAge: number },
): void {
  setCookie(headers, { ...cookieOf(own, env), ...kept });
}

/** Has the browser forget a cookie. */
export function forgetCookie({ env }: PageRequest, { headers }: Response, own: string): void {
  const { name, ...attributes } = cookieOf(own, env);
  deleteCookie(headers, name, attributes);
}
