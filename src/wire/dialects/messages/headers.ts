import type { HeaderLookup } from "../dialect.ts";

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
): Record<string, string> {
  const sent = header(BETA_HEADER);
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
