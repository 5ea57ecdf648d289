import { closestString, levenshteinDistance } from "../../ground/std/mod.ts";
import { proxyVariables } from "./proxy_settings.ts";

/** Dotted path of the setting by environment variable. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  SLUICE_HOST: "host",
  SLUICE_TRUSTED_PROXIES: "trustedProxies",
  SLUICE_PORT: "port",
  SLUICE_WORKERS: "workers",
  SLUICE_DATA: "data",
  SLUICE_DATABASE_URL: "database.url",
  SLUICE_DATABASE_TOKEN: "database.token",
  SLUICE_DATABASE_REPLICA_URL: "database.replicaUrl",
  SLUICE_OWNER_EMAIL: "owner.email",
  SLUICE_OWNER_KEY: "owner.key",
  SLUICE_UPSTREAM_URL: "upstream.url",
  SLUICE_UPSTREAM_KEY: "upstream.key",
  SLUICE_UPSTREAM_DIALECT: "upstream.dialect",
  SLUICE_UPSTREAM_QUIRKS: "upstream.quirks",
  SLUICE_UPSTREAM_MODEL: "upstream.model",
  SLUICE_LOG: "log",
  SLUICE_LOG_LEVEL: "logLevel",
  SLUICE_PUBLIC_URL: "publicUrl",
  SLUICE_REGISTRATION: "registration",
  SLUICE_METRICS_TOKEN: "metricsToken",
  SLUICE_SECRET: "secret",
  SLUICE_STRIPE_SECRET_KEY: "payments.stripe.secretKey",
  SLUICE_STRIPE_WEBHOOK_SECRET: "payments.stripe.webhookSecret",
};

/** Parsers for environment variables that are not plain text. */
const PARSED: Readonly<Record<string, (text: string) => unknown>> = {
  port: numeric,
  workers: numeric,
  trustedProxies: (text) => text.split(",").map((one) => one.trim()),
};

/** Environment variables that are read elsewhere. */
const OTHER_NAMES = ["SLUICE_CONFIG"];

/** What a variable ends with that names the file of another. */
const FILE = "_FILE";

/**
 * Adds the variables whose values are in files, as containers are given secrets: `NAME_FILE` is the path of the file with that of `NAME`.
 *
 * @param env Environment variables.
 * @param options.named Further variables that may be in files, beside Sluice's own.
 * @param options.fault Called with what is wrong with one.
 */
export async function withVariableFiles(
  env: Readonly<Record<string, string>>,
  { named, fault }: {
    readonly named: readonly string[];
    readonly fault: (message: string) => void;
  },
): Promise<Readonly<Record<string, string>>> {
  const all = { ...env };
  for (const name of new Set([...Object.keys(ENVIRONMENT), ...named])) {
    const path = env[`${name}${FILE}`];
    if (!path) continue;
    if (env[name]) fault(`Set one of ${name} and ${name}${FILE}`);
    try {
      const text = (await Deno.readTextFile(path)).trim();
      if (text === "") fault(`The file of ${name}${FILE} is empty: write the value into ${path}`);
      all[name] ||= text;
    } catch (error) {
      fault(`Cannot read the file of ${name}${FILE}: ${error}`);
    }
  }
  return all;
}

/** A setting that the environment gives. */
interface EnvironmentValue {
  /** Name of the variable. */
  readonly name: string;
  /** Dotted path of the setting. */
  readonly path: string;
  readonly value: unknown;
}

/**
 * Lists the settings that the environment gives.
 *
 * @param isServing Whether faulty proxies count: commands that serve nothing must work in any shell.
 */
export function environmentValues(
  env: Readonly<Record<string, string>>,
  isServing: boolean,
): EnvironmentValue[] {
  const own = Object.entries(ENVIRONMENT).flatMap(([name, path]) => {
    const text = env[name];
    return text === undefined || text === ""
      ? []
      : [{ name, path, value: PARSED[path]?.(text) ?? text }];
  });
  const proxies = proxyVariables(env).filter(({ isFaulty }) => isServing || !isFaulty);
  return [
    ...own,
    ...proxies.map(({ name, setting, value }) => ({ name, path: `proxies.${setting}`, value })),
  ];
}

function numeric(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text;
}

/**
 * Finds probably misspelt environment variables.
 *
 * Only near misses are reported, since orchestrators set variables such as `SLUICE_SERVICE_HOST`.
 */
export function misspeltVariables(env: Readonly<Record<string, string>>): string[] {
  const known = Object.keys(ENVIRONMENT).flatMap((name) => [name, `${name}${FILE}`])
    .concat(OTHER_NAMES);
  return Object.keys(env).filter((name) => name.startsWith("SLUICE_") && !known.includes(name))
    .flatMap((name) => {
      const near = closestString(name, known);
      return levenshteinDistance(name, near) <= 2
        ? [`Unknown environment variable ${name}; did you mean ${near}?`]
        : [];
    });
}
