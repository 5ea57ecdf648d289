/**
 * The parts of the Deno standard library that Sluice uses, with their types written down.
 *
 * The npm mirror that the import map points at ships no declarations. Everything else imports from
 * here, so that pointing `@std/*` at JSR stays a change of the import map alone.
 */

import * as colorsModule from "@std/fmt/colors";
import * as hexModule from "@std/encoding/hex";
import * as jsoncModule from "@std/jsonc";
import * as pathModule from "@std/path";
import * as textModule from "@std/text";

type Paint = (text: string) => string;

/** `@std/fmt/colors`: ANSI colours, switched off by `NO_COLOR`. */
export const colors: {
  bold: Paint;
  cyan: Paint;
  dim: Paint;
  green: Paint;
  red: Paint;
  yellow: Paint;
} = colorsModule;

/** `@std/encoding/hex`: lower-case hexadecimal of bytes. */
export const encodeHex: (bytes: Uint8Array) => string = hexModule.encodeHex;

/** `@std/jsonc`: JSON with comments and trailing commas. Throws `SyntaxError`. */
export const parseJsonc: (text: string) => unknown = jsoncModule.parse;

/** `@std/path`: joins path segments for this system. */
export const joinPath: (...segments: string[]) => string = pathModule.join;

/** `@std/path`: an absolute path. */
export const resolvePath: (...segments: string[]) => string = pathModule.resolve;

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
