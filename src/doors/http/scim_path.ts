/** Where directories send people and groups (SCIM 2.0). */
export const SCIM_BASE = "/scim/v2";

/** Returns whether a path belongs to the API of directories. */
export function isScimPath(path: string): boolean {
  return path.startsWith(`${SCIM_BASE}/`) || path === SCIM_BASE;
}
