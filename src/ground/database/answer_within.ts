import { within } from "../platform/mod.ts";
import { DatabaseError } from "./database.ts";

/** Fails if a database takes longer, which goes on. */
export async function answerWithin<T>(ms: number, work: Promise<T>): Promise<T> {
  return await within(ms, work, () => {
    throw new DatabaseError("SLUICE_SILENT", "no answer", { outcomeUnknown: true });
  });
}
