import { isPostgres, postgresPlaceOf } from "../../ground/database/mod.ts";
import { dirname, joinPath, resolvePath } from "../../ground/std/mod.ts";
import { besideFile } from "./places.ts";

/** Engines: an embedded libSQL file; a libSQL server and PostgreSQL, which gateways share. */
export type DatabaseKind = "file" | "libsql" | "postgres";

/** Of the settings those that say where the database is. */
interface Placed {
  readonly data: string;
  readonly database: { readonly url?: string | undefined };
}

/** Where a database may be. */
export const DATABASE_URL = {
  pattern: /^(file|https?|libsql|postgres(ql)?):/,
  isNot: "must start with file:, http://, https://, libsql:// or postgres://",
} as const;

/** What is wrong with the URL of a database; undefined if nothing is. It says nothing of the URL that may be secret. */
export function faultOfDatabaseUrl(url: string): string | undefined {
  if (!DATABASE_URL.pattern.test(url)) return DATABASE_URL.isNot;
  try {
    if (isPostgres(url)) postgresPlaceOf(url);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What is wrong with the URL of a replica of the database at another URL; undefined if nothing is. */
export function faultOfReplicaUrl(replicaUrl: string, url: string | undefined): string | undefined {
  if (databaseKindOf(url) !== "postgres") {
    return "must not be set unless `database.url` is PostgreSQL: a file and a libSQL server have no replicas";
  }
  return isPostgres(replicaUrl) ? faultOfDatabaseUrl(replicaUrl) : "must start with postgres://";
}

/**
 * The engine of the database.
 *
 * @param url As `database.url` has it, which {@linkcode DATABASE_URL} matches.
 */
export function databaseKindOf(url: string | undefined): DatabaseKind {
  if (url === undefined || url.startsWith("file:")) return "file";
  return isPostgres(url) ? "postgres" : "libsql";
}

/**
 * Returns the path of the embedded database.
 *
 * @returns An absolute path, or `undefined` if a server is used.
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
