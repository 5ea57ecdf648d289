/**
 * Serves the console: pages for users and operators.
 *
 * Promise: pages work without JavaScript, except for the playground; every write comes from the same origin and carries
 * the session's token; a page that a user may not see returns 404; nothing is loaded from other hosts, and pages contain
 * no inline scripts. Leaves to others: everything that the pages show and do. No SQL.
 *
 * @module
 */

export { Console } from "./console.tsx";
export type { LastReload } from "./request.tsx";
