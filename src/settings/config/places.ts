import { dirname, joinPath, resolvePath } from "../../ground/std/mod.ts";

/** Where settings and state are looked for. */
export interface Whereabouts {
  /** Environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Working directory. */
  readonly directory: string;
  /** Operating system, this machine's by default. */
  readonly system?: typeof Deno.build.os | undefined;
}

/** A file or directory, and why it is the one that is used. */
export interface Place {
  /** Absolute path. */
  readonly path: string;
  /** Reason, to be displayed after the path. */
  readonly why: string;
  /**
   * Whether it belongs to the working directory and was not named by anyone. Such a place may have come with a
   * repository that somebody else wrote.
   */
  readonly isLocal: boolean;
}

export const SETTINGS_FILE = "sluice.jsonc";
const DATABASE_FILE = "sluice.db";

/**
 * Returns the user's own directory for Sluice: the same one in whatever directory a command is started.
 *
 * @param kind `state` for the database, `config` for the settings.
 * @returns An absolute path, or `undefined` if the environment names no home directory.
 */
export function userDirectory(kind: "state" | "config", around: Whereabouts): string | undefined {
  const { env, system = Deno.build.os } = around;
  const absolute = (name: string) => {
    const path = env[name];
    return path !== undefined && /^([A-Za-z]:)?[\\/]/.test(path) ? path : undefined;
  };
  const inside = (base: string | undefined, ...rest: string[]) =>
    base === undefined ? undefined : joinPath(base, ...rest, "sluice");
  const xdg = inside(absolute(kind === "state" ? "XDG_STATE_HOME" : "XDG_CONFIG_HOME"));
  if (xdg !== undefined) return xdg;
  if (system === "windows") {
    return inside(absolute(kind === "state" ? "LOCALAPPDATA" : "APPDATA")) ??
      inside(absolute("USERPROFILE"), "AppData", kind === "state" ? "Local" : "Roaming");
  }
  const home = absolute("HOME");
  if (system === "darwin") return inside(home, "Library", "Application Support");
  return kind === "state" ? inside(home, ".local", "state") : inside(home, ".config");
}

/**
 * Finds the data directory of a command that names none: `./data` if it holds a database, otherwise the user's own
 * directory. Without a home directory it is `./data` in any case.
 */
export async function defaultDataPlace(around: Whereabouts): Promise<Place> {
  const local = resolvePath(around.directory, "data");
  if (await exists(joinPath(local, DATABASE_FILE))) {
    return { path: local, why: `./data holds a ${DATABASE_FILE}`, isLocal: true };
  }
  const own = userDirectory("state", around);
  if (own === undefined) return { path: local, why: "no home directory is set", isLocal: true };
  return { path: own, why: "your own state directory", isLocal: false };
}

/**
 * Finds the settings file of a command that names none: `./sluice.jsonc` if it exists, otherwise the user's own.
 *
 * @returns The file that is read, or would be if it existed.
 */
export async function defaultSettingsPlace(around: Whereabouts): Promise<Place> {
  const local = resolvePath(around.directory, SETTINGS_FILE);
  const directory = userDirectory("config", around);
  const own = directory === undefined ? undefined : joinPath(directory, SETTINGS_FILE);
  if (own !== undefined && own !== local && !await exists(local)) {
    return { path: own, why: "your own settings", isLocal: false };
  }
  return { path: local, why: "found in this directory", isLocal: own !== local };
}

/**
 * Makes paths that a settings file names absolute: relative to the file, so that they mean the same in whatever
 * directory a command is started.
 */
export function besideFile(file: string, path: string): string {
  return resolvePath(dirname(file), path);
}

/** Whether a file exists. One that may not be looked at does: better to fail on it than to use another. */
async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    return !isMissing(error);
  }
}

/** Whether an error means that a path leads nowhere. */
export function isMissing(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
}
