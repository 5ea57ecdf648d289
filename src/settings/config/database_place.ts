import { dirname, joinPath, resolvePath } from "../../ground/std/mod.ts";
import { besideFile } from "./places.ts";

/** Engines: an embedded libSQL file, and a libSQL server that gateways share. */
export type DatabaseKind = "file" | "server";

/** Of the settings those that say where the database is. */
interface Placed {
  readonly data: string;
  readonly database: { readonly url?: string | undefined };
}

/** Where a database may be. */
export const DATABASE_URL = {
  pattern: /^(file|https?|libsql):/,
  isNot: "must start with file:, http://, https:// or libsql://",
} as const;

/**
 * The engine of the database.
 *
 * @param url As `database.url` has it, which {@linkcode DATABASE_URL} matches.
 */
export function databaseKindOf(url: string | undefined): DatabaseKind {
  return url === undefined || url.startsWith("file:") ? "file" : "server";
}

/**
 * Returns the path of the embedded database.
 *
 * @param settings The settings.
 * @returns An absolute path, or `undefined` if a libSQL server is used.
 */
export function databaseFile({ data, database: { url } }: Placed): string | undefined {
  if (url === undefined) return joinPath(data, "sluice.db");
  if (databaseKindOf(url) !== "file") return undefined;
  return resolvePath(pathIn(url).replace(/^\/\/(?=\/)/, ""));
}

/** Directories where settlements are kept: beside an embedded file, and in the data directory. */
export function outboxDirectories(settings: Placed): string[] {
  const file = databaseFile(settings);
  return file === undefined ? [settings.data] : [settings.data, dirname(file)];
}

/** The URL whose path, if it is relative, is beside the settings file that has it. */
export function besideSettings(url: string, settingsFile: string): string {
  if (databaseKindOf(url) !== "file" || /^file:[\\/]/.test(url)) return url;
  return `file:${encodeURI(besideFile(settingsFile, pathIn(url)))}`;
}

function pathIn(url: string): string {
  return decodeURIComponent(url.slice("file:".length));
}
