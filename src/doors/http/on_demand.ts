import type { creditUsage } from "./credits.ts";
import type { Admin, AdminParts } from "./admin.ts";
import type { Json } from "./openapi/operation.ts";
import type { Scim, ScimParts } from "./scim.ts";
import type { ToolRequests } from "./tool_requests.ts";

/*
 * What the first request for it loads. The definitions of operations with their schemas hold megabytes that most gateways
 * never need.
 */

/** Loads the operator's API. */
export async function openAdmin(parts: AdminParts): Promise<Admin> {
  const { Admin } = await import("./admin.ts");
  return new Admin(parts);
}

/** Loads the API of directories. */
export async function openScim(parts: ScimParts): Promise<Scim> {
  const { Scim } = await import("./scim.ts");
  return new Scim(parts);
}

/** Loads what signed-in tools ask for besides models. */
export async function openToolRequests(
  ...of: ConstructorParameters<typeof ToolRequests>
): Promise<ToolRequests> {
  const { ToolRequests } = await import("./tool_requests.ts");
  return new ToolRequests(...of);
}

/** Loads what describes the caller's own credits. */
export async function openCreditUsage(): Promise<typeof creditUsage> {
  return (await import("./credits.ts")).creditUsage;
}

/** Loads the description of all endpoints: an OpenAPI 3.1 document. */
export async function openApiDocument(): Promise<Json> {
  const { DOCUMENT } = await import("./openapi/document.ts");
  return DOCUMENT;
}
