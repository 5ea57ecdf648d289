import type { Key, Session } from "../../people/accounts/mod.ts";
import { mayOperate, subjectsOfKeys, type WriteOperation } from "../../operating/operations/mod.ts";
import type { ConsoleParts } from "./request.tsx";

/** Returns what says whether a visitor may do a write of one of some keys. */
export async function mayChangeOf(
  parts: ConsoleParts,
  session: Session,
  all: readonly Key[],
): Promise<(key: Key, operation: WriteOperation) => boolean> {
  const subjects = await subjectsOfKeys(parts, all);
  return (key, operation) => mayOperate(session, operation, subjects.get(key.id));
}
