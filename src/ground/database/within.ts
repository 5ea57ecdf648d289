import { DatabaseError } from "./database.ts";

/** Fails if a database takes longer, which goes on. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  work.catch(() => {}); // nobody may wait for it any more
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new DatabaseError("SLUICE_SILENT", "no answer", { outcomeUnknown: true })),
    ms,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
