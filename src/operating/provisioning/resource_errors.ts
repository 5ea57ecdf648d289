import { ScimError } from "../../people/scim/mod.ts";

/** Which version a change is for: else it fails with 412. */
export type IfMatch = (version: number) => boolean;

/** Checks that a change is for the version that there is. @throws {ScimError} 412. */
export function mustMatch(version: number, ifMatch: IfMatch): void {
  if (ifMatch(version)) return;
  throw new ScimError(412, "This was changed meanwhile: read it again.");
}

/** The error for a user or group that there is none of. */
export function missing(what: string, id: string): ScimError {
  return new ScimError(404, `${what} ${JSON.stringify(id.slice(0, 100))} not found.`);
}
