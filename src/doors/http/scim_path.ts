/** Where directories send people and groups (SCIM 2.0). */
export const SCIM_BASE = "/scim/v2";

/** Returns whether a path belongs to the API of directories. */
export function isScimPath(path: string): boolean {
  return path.startsWith(`${SCIM_BASE}/`) || path === SCIM_BASE;
}

/** Its endpoints, by method and path below it. */
export const SCIM_ENDPOINTS: readonly (readonly [method: string, path: string])[] = [
  ...["/Users", "/Groups"].flatMap((path) => [
    ...["get", "post"].map((method) => [method, path] as const),
    ...["get", "put", "patch", "delete"].map((method) => [method, `${path}/{id}`] as const),
  ]),
  ["get", "/ServiceProviderConfig"],
  ...["/ResourceTypes", "/Schemas"].flatMap((path) =>
    [path, `${path}/{id}`].map((one) => ["get", one] as const)
  ),
];
