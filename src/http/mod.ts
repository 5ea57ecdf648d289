/**
 * The door: HTTP in, HTTP out.
 *
 * Promise: whatever comes in is answered, in the dialect of its path; keys, bodies and the `Host`
 * header are checked before anything is routed or read. Leaves to others: what a request means.
 *
 * @module
 */

export { creditUsage } from "./credits.ts";
export { App, type AppOptions, type AppParts, type Pages } from "./app.ts";
export { openApiDocument } from "./openapi/document.ts";
export { presentedKeys } from "./guard.ts";
export { Connections } from "./connections.ts";
export { openRequestsFor, Sockets } from "./sockets.ts";
export { serve, type Server } from "./serve.ts";
