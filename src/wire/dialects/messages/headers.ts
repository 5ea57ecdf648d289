import type { HeaderLookup } from "../dialect.ts";

/** The header that every client of the dialect sends. */
export const VERSION_HEADER = "anthropic-version";
/** Features that a client uses before they are part of a version. */
export const BETA_HEADER = "anthropic-beta";

/** The version that is sent to an upstream when the client names none. */
const DEFAULT_VERSION = "2023-06-01";

/** The headers that go on to an upstream as the client sent them. */
export function versionHeaders(header: HeaderLookup): Record<string, string> {
  const beta = header(BETA_HEADER);
  return {
    [VERSION_HEADER]: header(VERSION_HEADER) ?? DEFAULT_VERSION,
    ...(beta === null ? {} : { [BETA_HEADER]: beta }),
  };
}
