import type { Condition, Statement } from "../../ground/database/mod.ts";
import { newId } from "../../ground/platform/mod.ts";
import { logStatement, type NewEntry } from "./log.ts";
import type { By } from "./actor.ts";

/**
 * Returns the statement that records a change other than an operation of the API, such as a new password or an import, for the
 * transaction that does it where there is one.
 *
 * @param by Who did it, and from where.
 * @param what What was done, to what, and how the object looks afterwards, without secrets; nothing is recorded where `onlyIf` does not
 *   hold.
 */
export function recordStatement(
  { actor, origin }: By,
  { operation, about, atMs, after = null, onlyIf }:
    & Pick<NewEntry, "operation" | "about" | "atMs" | "after">
    & { readonly onlyIf?: Condition | undefined },
): Statement {
  const id = newId("op");
  return logStatement({ id, atMs, operation, actor, origin, about, before: null, after }, onlyIf);
}
