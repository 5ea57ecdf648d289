import type { By } from "../../people/operation_log/mod.ts";
import { ScimError } from "../../people/scim/mod.ts";

/** Who changes something. */
export interface ChangedBy {
  readonly by: By;
  /** Which version the change is for: else it fails with 412. Default: any. */
  readonly ifMatch?: ((version: number) => boolean) | undefined;
}

/** Checks that a change is for the version that there is. @throws {ScimError} 412. */
export function mustMatch(version: number, ifMatch: ChangedBy["ifMatch"]): void {
  if (ifMatch === undefined || ifMatch(version)) return;
  throw new ScimError(412, "This was changed meanwhile: read it again.");
}

/** The error for a user or group that there is none of. */
export function missing(what: string, id: string): ScimError {
  return new ScimError(404, `${what} ${JSON.stringify(id.slice(0, 100))} not found.`);
}
