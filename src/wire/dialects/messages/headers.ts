import type { HeaderLookup } from "../dialect.ts";
import { items, type JsonObject, type JsonValue } from "../json.ts";

/** The header that every client of the dialect sends. */
export const VERSION_HEADER = "anthropic-version";
/** Features that a client uses before they are part of a version. */
export const BETA_HEADER = "anthropic-beta";

/** The version that is sent to an upstream when the client names none. */
const DEFAULT_VERSION = "2023-06-01";

/** The headers that go on to an upstream as the client sent them, with the beta features that it takes. */
export function versionHeaders(
  header: HeaderLookup,
  betas?: readonly string[],
  more: readonly string[] = [],
): Record<string, string> {
  const own = header(BETA_HEADER);
  const sent = more.length === 0 ? own : [...own ? [own] : [], ...more].join(",");
  const beta = sent === null || betas === undefined
    ? sent
    : sent.split(",").map((one) => one.trim()).filter((one) => isAllowed(one, betas)).join(",");
  return {
    [VERSION_HEADER]: header(VERSION_HEADER) ?? DEFAULT_VERSION,
    ...(beta ? { [BETA_HEADER]: beta } : {}),
  };
}

function isAllowed(name: string, betas: readonly string[]): boolean {
  return betas.some((one) => one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : name === one);
}

/** Clouds have the features in the body, and the maker's own API rejects them there. */
const BETA_FIELD = "anthropic_beta";

/** Takes the beta features out of a body that has them as clouds do. */
export function takeBetas(body: JsonObject): readonly string[] {
  const { [BETA_FIELD]: field } = body;
  delete body[BETA_FIELD];
  const isName = (one: JsonValue) => typeof one === "string" && /^[A-Za-z0-9._-]{1,100}$/.test(one);
  return items(field).filter(isName) as string[];
}
