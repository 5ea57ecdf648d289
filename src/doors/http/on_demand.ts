import type { Admin, AdminParts } from "./admin.ts";
import type { Json } from "./openapi/operation.ts";

/*
 * What the first request for it loads. The definitions of operations with their schemas hold megabytes that most gateways
 * never need.
 */

/** Loads the operator's API. */
export async function openAdmin(parts: AdminParts): Promise<Admin> {
  const { Admin } = await import("./admin.ts");
  return new Admin(parts);
}

/** Loads the description of all endpoints: an OpenAPI 3.1 document. */
export async function openApiDocument(): Promise<Json> {
  const { DOCUMENT } = await import("./openapi/document.ts");
  return DOCUMENT;
}
