/**
 * The console: pages for users and operators over the same nouns as the commands.
 *
 * Promise: pages work without scripts but for the playground; every write is of the session's own
 * origin and carries its token; whoever may not see a page is told that there is none; nothing is
 * loaded from elsewhere, and no script stands in a page. Leaves to others: all of the nouns. No SQL.
 *
 * @module
 */

export { Console } from "./console.tsx";
export type { ConsoleParts } from "./request.tsx";
