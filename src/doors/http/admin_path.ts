/** Where the operator's API is. */
export const ADMIN_BASE = "/admin/v1";

/** Returns whether a path belongs to the operator's API. */
export function isAdminPath(path: string): boolean {
  return path.startsWith(`${ADMIN_BASE}/`) || path === ADMIN_BASE;
}
