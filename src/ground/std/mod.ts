/**
 * The parts of the Deno standard library that Sluice uses, with their types written down.
 *
 * The npm mirror that the import map points at ships no declarations. Everything else imports from
 * here, so that pointing `@std/*` at JSR stays a change of the import map alone.
 *
 * @module
 */

import * as delayModule from "@std/async/delay";
import * as csvModule from "@std/csv/parse";
import * as colorsModule from "@std/fmt/colors";
import * as hexModule from "@std/encoding/hex";
import * as cookieModule from "@std/http/cookie";
import * as etagModule from "@std/http/etag";
import * as statusModule from "@std/http/status";
import * as pathModule from "@std/path";
import * as textModule from "@std/text";

type Paint = (text: string) => string;

/** `@std/fmt/colors`: ANSI colours, switched off by `NO_COLOR`. */
export const colors: {
  cyan: Paint;
  dim: Paint;
  green: Paint;
  red: Paint;
  yellow: Paint;
} = colorsModule;

/**
 * `@std/async`: waits. Rejects with the signal's reason when that aborts. With `persistent: false` it does not keep the process
 * from ending.
 */
export const delay: (
  ms: number,
  options?: { signal?: AbortSignal | undefined; persistent?: boolean },
) => Promise<void> = delayModule.delay;

/** `@std/csv`: the cells of each line. Throws for text that is not CSV. */
export const parseCsv: (text: string) => string[][] = (text) => csvModule.parse(text);

/** `@std/encoding/hex`: lower-case hexadecimal of bytes. */
export const encodeHex: (bytes: Uint8Array) => string = hexModule.encodeHex;

/** `@std/http/status`: status codes by name. */
export const STATUS_CODE: {
  readonly SwitchingProtocols: 101;
  readonly OK: 200;
  readonly NoContent: 204;
  readonly SeeOther: 303;
  readonly NotModified: 304;
  readonly BadRequest: 400;
  readonly Unauthorized: 401;
  readonly Forbidden: 403;
  readonly NotFound: 404;
  readonly ContentTooLarge: 413;
  readonly UpgradeRequired: 426;
  readonly TooManyRequests: 429;
  readonly InternalServerError: 500;
  readonly ServiceUnavailable: 503;
} = statusModule.STATUS_CODE;

/** `@std/http/status`: the standard text of a status; `Not Found` for 404. */
export const STATUS_TEXT: Readonly<Record<number, string>> = statusModule.STATUS_TEXT;

/** A cookie as `Set-Cookie` carries it. */
export interface Cookie {
  name: string;
  value: string;
  maxAge?: number;
  path?: string;
  secure?: boolean;
  httpOnly?: boolean;
  sameSite?: "Strict" | "Lax" | "None";
}

/** `@std/http/cookie`: a request's cookies. Throws `SyntaxError` for an empty cookie, such as after a last `;`. */
export const getCookies: (headers: Headers) => Partial<Record<string, string>> =
  cookieModule.getCookies;

/** `@std/http/cookie`: adds a `Set-Cookie` header. */
export const setCookie: (headers: Headers, cookie: Cookie) => void = cookieModule.setCookie;

/** `@std/http/cookie`: adds the `Set-Cookie` header that makes a browser forget a cookie. */
export const deleteCookie: (
  headers: Headers,
  name: string,
  attributes: Omit<Cookie, "name" | "value" | "maxAge">,
) => void = cookieModule.deleteCookie;

/** `@std/http/etag`: the entity tag of a text or of bytes, from their SHA-256. */
export const eTag: (entity: string | Uint8Array<ArrayBuffer>) => Promise<string> = etagModule.eTag;

/**
 * `@std/http/etag`: whether `If-None-Match` names no such tag. Takes time in the square of a run of spaces in it:
 * bound its length first.
 */
export const ifNoneMatch: (value: string | null, etag: string | undefined) => boolean =
  etagModule.ifNoneMatch;

/** `@std/path`: joins path segments for this system. */
export const joinPath: (...segments: string[]) => string = pathModule.join;

/** `@std/path`: an absolute path. */
export const resolvePath: (...segments: string[]) => string = pathModule.resolve;

/** `@std/path`: what separates the directories of `PATH`. */
export const delimiter: string = pathModule.DELIMITER;

/** `@std/path`: the last segment of a path. */
export const basename: (path: string) => string = pathModule.basename;

/** `@std/path`: the path without its last segment. */
export const dirname: (path: string) => string = pathModule.dirname;

/** `@std/path`: a path from a `file:` address. */
export const fromFileUrl: (url: string | URL) => string = pathModule.fromFileUrl;

/** `@std/path`: a `file:` address from an absolute path. */
export const toFileUrl: (path: string) => URL = pathModule.toFileUrl;

/** `@std/text`: the candidate with the smallest edit distance. Throws on an empty list. */
export const closestString: (word: string, candidates: string[]) => string =
  textModule.closestString;

/** `@std/text`: the number of edits between two words. */
export const levenshteinDistance: (a: string, b: string) => number = textModule.levenshteinDistance;
