/** Where tools find out how they sign in (RFC 8414), and what signs them in (RFC 9728). */
export const WELL_KNOWN = {
  server: "/.well-known/oauth-authorization-server",
  resource: "/.well-known/oauth-protected-resource",
} as const;
/** Where tools sign in. */
export const OAUTH = {
  authorize: "/oauth/authorize",
  device: "/oauth/device_authorization",
  token: "/oauth/token",
  revoke: "/oauth/revoke",
} as const;

const PATHS: readonly string[] = [...Object.values(WELL_KNOWN), ...Object.values(OAUTH)];

/** Returns whether a path is one by which tools sign in. */
export function isOAuthPath(path: string): boolean {
  return PATHS.includes(path);
}
