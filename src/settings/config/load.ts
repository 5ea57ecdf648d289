import * as z from "zod";
import { dirname, resolvePath } from "../../ground/std/mod.ts";
import { besideSettings } from "./database_place.ts";
import { ConfigError, Faults, type FileText, validate } from "./faults.ts";
import {
  besideFile,
  defaultDataPlace,
  defaultSettingsPlace,
  isMissing,
  type Place,
  SETTINGS_FILE,
  type Whereabouts,
} from "./places.ts";
import { environmentValues, misspeltVariables, withVariableFiles } from "./environment.ts";
import type { CredentialSettings } from "./credential_settings.ts";
import { applyProviders } from "./providers.ts";
import { type Settings, settings as settingsSchema } from "./schema.ts";
import { define, isRecord, parseSettingsFile } from "./settings_file.ts";
import { upstreamSettings } from "./upstream_settings.ts";
import { digestOf } from "../../ground/platform/mod.ts";

/** A variable in a string of the settings file. */
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Origin of a setting, to be displayed: `file sluice.jsonc`, `environment SLUICE_PORT`. */
export type Origin = string;

/** Settings and the origin of each. */
export interface Config {
  readonly settings: Settings;
  /** Origin by dotted path, for every setting that is not a default. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** Path of the settings file, if there is one. */
  readonly file: string | undefined;
  /** What is written where in it. */
  readonly fileText: FileText | undefined;
  /** Why these are the settings file and the data directory. */
  readonly places: { readonly settings: Place; readonly data: Place };
  /** SHA-256 of the settings file, in hexadecimal, as it was read; to tell whether it has changed since. */
  readonly digest: string | undefined;
  /** Environment variables that the file names and that are not set; only where settings are not for serving. */
  readonly missingVariables: readonly string[];
  /** Names of the environment variables that are set, without their values. */
  readonly variables: readonly string[];
  /** Valid but probably unintended settings, such as misspelt variables. */
  readonly warnings: readonly string[];
}

/** Values from the command line, by dotted path. */
export type Flags = Readonly<Record<string, string | number | undefined>>;

/** Environment that settings are loaded from. */
export interface Surroundings extends Whereabouts {
  /** `--config FILE`. */
  readonly file?: string | undefined;
  readonly flags?: Flags | undefined;
  /**
   * Whether the settings are for serving requests (the default). Otherwise, missing environment variables of upstream
   * keys are not an error: a backup must work without them.
   */
  readonly serving?: boolean | undefined;
}

/**
 * Loads the settings: file, then environment, then flags; later ones win.
 *
 * @param given Environment variables, working directory, settings file and flags.
 * @returns The settings with defaults filled in, and where each came from.
 * @throws {ConfigError} With all errors.
 */
export async function loadConfig(given: Surroundings): Promise<Config> {
  const origins = new Map<string, Origin>();
  const merged: Record<string, unknown> = {};
  const faults = new Faults(origins);
  const missing = new Set<string>();
  const used = new Set<string>();

  const settingsPlace = await findSettings(given);
  const file = await readSettingsFile(settingsPlace, faults);
  const around = {
    ...given,
    env: await withVariableFiles(given.env, {
      named: [...JSON.stringify(file?.value ?? "").matchAll(VARIABLE)].map(([, name]) => name!),
      fault: (message) => faults.add(message),
    }),
  };
  if (file !== undefined) {
    for (
      const [path, value] of leaves(expandVariables(file.value, around, { faults, missing, used }))
    ) {
      setPath(merged, path, value);
      origins.set(path.join("."), `file ${file.name}`);
    }
  }
  for (const { name, path, value } of environmentValues(around.env, around.serving !== false)) {
    setPath(merged, path.split("."), value);
    origins.set(path, `environment ${name}`);
  }
  for (const [path, value] of Object.entries(around.flags ?? {})) {
    if (value === undefined) continue;
    setPath(merged, path.split("."), value);
    origins.set(path, `flag --${path}`);
  }

  applyProviders(merged.upstreams, {
    env: around.env,
    faults,
    isServing: around.serving !== false,
    missing: (name) => missing.add(name),
    origin: (path, origin) => origins.set(path.join("."), origin),
  });
  const parsed = validate(merged, faults);
  const quotes = quotedVariables(around.env, usedVariables(origins, used));
  const upstreams = await withFiles(
    parsed?.upstreams ?? {},
    file === undefined ? around.directory : dirname(file.path),
    around.serving === false ? undefined : faults,
  );
  const unreplaced = unreplacedVariables(around.env, usedVariables(origins, used));
  if (around.serving !== false) unreplaced.forEach((one) => faults.add(one));
  if (!faults.none) quotes.forEach((one) => faults.add(one));
  if (!faults.none || parsed === undefined) throw new ConfigError(faults.lines());
  const origin = origins.get("data");
  const dataPlace = origin === undefined ? await defaultDataPlace(around) : {
    path: absolute(parsed.data, origin, around, file?.path),
    why: origin,
    isLocal: false,
  };
  if (origin === undefined) origins.set("data", `default: ${dataPlace.why}`);
  const { url } = parsed.database;
  const isFromFile = origins.get("database.url")?.startsWith("file ") && file !== undefined;
  return {
    settings: {
      ...parsed,
      database: {
        ...parsed.database,
        url: url && isFromFile ? besideSettings(url, file.path) : url,
      },
      upstreams,
      data: dataPlace.path,
    },
    origins,
    file: file?.path,
    fileText: file,
    places: { settings: settingsPlace, data: dataPlace },
    digest: file?.digest,
    warnings: [
      ...misspeltVariables(around.env),
      ...quotes,
      ...around.serving === false ? unreplaced : [],
      ...openDoor(parsed),
      ...(parsed.upstream.url === undefined ? keyAlone(origins.get("upstream.key"), used) : []),
    ],
    missingVariables: [...missing],
    variables: Object.entries(around.env).filter(([, value]) => value !== "").map(([name]) => name),
  };
}

/** A path as the file means it, which is relative to the file, or as the shell means it. */
function absolute(path: string, origin: Origin, around: Surroundings, file?: string): string {
  return origin.startsWith("file ") && file !== undefined
    ? besideFile(file, path)
    : resolvePath(around.directory, path);
}

/**
 * Makes a JSON Schema of the settings file, for editors.
 *
 * @returns The schema, draft 2020-12.
 */
export function settingsJsonSchema(): Record<string, unknown> {
  return {
    title: "Sluice settings",
    ...z.toJSONSchema(settingsSchema, {
      io: "input",
      unrepresentable: "any",
      override({ zodSchema, jsonSchema }) {
        if (zodSchema !== upstreamSettings) return;
        delete jsonSchema.required;
        jsonSchema.anyOf = [{ required: ["url"] }, { required: ["provider"] }];
      },
    }),
  };
}

/** Settings file of a command, and whether it was asked for by name. */
interface SettingsPlace extends Place {
  /** Its name in messages. */
  readonly name: string;
  readonly isNamed: boolean;
}

async function findSettings(around: Surroundings): Promise<SettingsPlace> {
  const named = around.file ?? (around.env.SLUICE_CONFIG || undefined);
  if (named === undefined) {
    const place = await defaultSettingsPlace(around);
    return { ...place, name: place.isLocal ? SETTINGS_FILE : place.path, isNamed: false };
  }
  return {
    path: resolvePath(around.directory, named),
    why: around.file === undefined ? "SLUICE_CONFIG" : "--config",
    isLocal: false,
    name: named,
    isNamed: true,
  };
}

async function readSettingsFile({ name, path, isNamed }: SettingsPlace, faults: Faults) {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (!isNamed && isMissing(error)) return undefined;
    const why = isMissing(error) ? "file not found" : String(error);
    faults.add(`Cannot read the settings file ${name}: ${why}`);
    return undefined;
  }
  const { value, written, faults: found } = parseSettingsFile(text);
  faults.setFile({ name, written });
  for (const { position, message } of found) faults.addAt(position, message);
  return { name, path, value, written, digest: digestOf(text) };
}

/** Resolves paths of certificates and credentials relative to the settings file, and checks the certificates. */
async function withFiles(
  upstreams: Settings["upstreams"],
  directory: string,
  faults: Faults | undefined,
): Promise<Settings["upstreams"]> {
  const all = await Promise.all(
    Object.entries(upstreams).map(async ([name, { credentials, ...upstream }]) => {
      const caCert = await certificate(upstream.caCert, directory, (message) => {
        faults?.addOf(["upstreams", name, "caCert"], message);
      });
      return [name, {
        ...upstream,
        ...(caCert !== undefined && { caCert }),
        ...(credentials !== undefined && { credentials: withPaths(credentials, directory) }),
      }] as const;
    }),
  );
  return Object.fromEntries(all);
}

async function certificate(
  caCert: string | undefined,
  directory: string,
  fault: (message: string) => void,
): Promise<string | undefined> {
  if (caCert === undefined) return undefined;
  const isText = caCert.includes("-----BEGIN");
  const path = isText ? caCert : resolvePath(directory, caCert);
  const text = isText ? caCert : await Deno.readTextFile(path).catch(() => undefined);
  if (text === undefined) fault(`cannot read ${path}`);
  else if (!text.includes("-----BEGIN CERTIFICATE-----")) fault("must contain a PEM certificate");
  return path;
}

function withPaths(credentials: CredentialSettings, directory: string): CredentialSettings {
  switch (credentials.kind) {
    case "file":
      return { ...credentials, path: resolvePath(directory, credentials.path) };
    case "google":
      if (credentials.file === undefined) return credentials;
      return { ...credentials, file: resolvePath(directory, credentials.file) };
    case "azure":
      if (credentials.tokenFile === undefined) return credentials;
      return { ...credentials, tokenFile: resolvePath(directory, credentials.tokenFile) };
  }
  return credentials;
}

/** Replaces `${NAME}` in every string of the file by the environment variable of that name. */
function expandVariables(
  value: Record<string, unknown>,
  { env, serving = true }: Surroundings,
  { faults, missing, used }: {
    readonly faults: Faults;
    readonly missing: Set<string>;
    readonly used: Set<string>;
  },
): Record<string, unknown> {
  const expand = (inner: unknown, path: readonly PropertyKey[]): unknown => {
    if (typeof inner === "string") {
      return inner.replaceAll(VARIABLE, (whole, name: string) => {
        const found = env[name];
        used.add(name);
        if (found) return found;
        if (serving) faults.addOf(path, `environment variable ${name} is not set`);
        missing.add(name);
        return whole; // not empty, so that it causes only one error
      });
    }
    if (Array.isArray(inner)) return inner.map((item, index) => expand(item, [...path, index]));
    return isRecord(inner) ? expandAll(inner, path) : inner;
  };
  const expandAll = (inner: Record<string, unknown>, path: readonly PropertyKey[]) => {
    const expanded: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(inner)) {
      define(expanded, key, expand(item, [...path, key]));
    }
    return expanded;
  };
  return expandAll(value, []);
}

/**
 * Lists the leaves of a tree of objects. Arrays and empty objects are leaves.
 *
 * @returns Path and value of each leaf.
 */
export function leaves(
  value: object,
  path: readonly string[] = [],
): [string[], unknown][] {
  return Object.entries(value).flatMap(([key, inner]): [string[], unknown][] =>
    isRecord(inner) && Object.keys(inner).length > 0
      ? leaves(inner, [...path, key])
      : [[[...path, key], inner]]
  );
}

function setPath(root: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let at = root;
  for (const key of path.slice(0, -1)) {
    const next = Object.hasOwn(at, key) ? at[key] : undefined;
    if (isRecord(next)) at = next;
    else define(at, key, at = {});
  }
  define(at, path[path.length - 1]!, value);
}

/** Lists the variables that settings have come from, whole or within a text of the file. */
function usedVariables(
  origins: ReadonlyMap<string, Origin>,
  named: ReadonlySet<string>,
): ReadonlySet<string> {
  const read = [...origins.values()].flatMap((origin) =>
    /^environment (.*)$/.exec(origin)?.[1] ?? []
  );
  return new Set([...read, ...named]);
}

/**
 * Finds variables in use whose value is in quotes: an environment file of a container is not read by a shell, which would take
 * them off.
 */
function quotedVariables(env: Surroundings["env"], used: ReadonlySet<string>): string[] {
  return [...used].filter((name) => /^(["']).*\1$/s.test(env[name] ?? ""))
    .map((name) =>
      `Environment variable ${name} has quotes around its value, which belong to the value: remove them in its file`
    );
}

/**
 * Finds variables in use whose value is the name of another: nobody but a shell replaces it in an environment file, and Kubernetes leaves
 * `$(NAME)` where it knows no such name. As a secret, it would be one that everybody can read in examples.
 */
function unreplacedVariables(env: Surroundings["env"], used: ReadonlySet<string>): string[] {
  return [...used].filter((name) =>
    /^(["']?)\$(?:\{[^{}]*\}|\(\w+\)|[A-Z_][A-Z0-9_]*)\1$/.test(env[name] ?? "")
  )
    .map((name) =>
      `Environment variable ${name} is the name of another variable, which nothing has replaced: write the value itself into its file`
    );
}

/** What an operator should know who lets anyone register. */
function openDoor({ registration, credits: { signup } }: Settings): string[] {
  if (registration !== "open" || signup === 0) return [];
  return [
    `registration is open, and email addresses are not verified: each new account gets ${signup} credits ` +
    "(credits.signup; credits.signupsPerNetwork bounds how many a day)",
  ];
}

/** Tells of the key of an upstream that has no URL, unless the settings file refers to its variable. */
function keyAlone(origin: Origin | undefined, used: ReadonlySet<string>): string[] {
  if (origin === undefined || used.has(origin.replace("environment ", ""))) return [];
  return [
    `upstream.key (${origin}) is not used: upstream.url is not set. Set SLUICE_UPSTREAM_URL to the address that ` +
    "the key is for",
  ];
}
