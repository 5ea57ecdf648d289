/**
 * Serves HTTP: connections, keys, bodies, routing and error responses.
 *
 * Promise: every request gets a response in the dialect of its path; the `Host` header is checked before routing, and the
 * key before the body is read. Leaves to others: the meaning of a request.
 *
 * @module
 */

export { Arrivals, type CutConnection } from "./arrivals.ts";
export { MemoryGuard } from "./memory_guard.ts";
export { App, type Pages } from "./app.ts";
export { Connections, type ConnectionsOptions } from "./connections.ts";
export { openRequestsFor } from "./open_requests_limit.ts";
export type { Peer } from "./peer.ts";
export { Sockets } from "./sockets.ts";
export { ResponseSockets } from "./response_sockets.ts";
export { serve, type ServeOptions, type Server } from "./serve.ts";
export { WaitingDoor } from "./waiting_door.ts";
export { isAdminPath } from "./admin_path.ts";
export { openAdmin, openApiDocument, openScim } from "./on_demand.ts";
export { isScimPath } from "./scim_path.ts";
