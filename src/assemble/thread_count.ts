import type { Log } from "../ground/telemetry/mod.ts";
import { databaseKindOf, type Settings } from "../settings/config/mod.ts";

/** Max threads, and with a libSQL server: sqld 0.24 stops answering when eight write batches are in flight. */
const MAX_WORKERS = 64;
const MAX_WORKERS_AT_SERVER = 4;

/**
 * How many threads are to serve.
 *
 * @returns 1 where the system cannot share a port out between them.
 */
export function threadCount({ workers, database }: Settings, log: Log): number {
  if (workers === 1) return 1;
  if (Deno.build.os !== "linux") {
    if (workers !== "auto") log.warn("workers: only Linux shares a port out; one thread serves");
    return 1;
  }
  const max = databaseKindOf(database.url) === "libsql" ? MAX_WORKERS_AT_SERVER : MAX_WORKERS;
  if (workers === "auto") return Math.min(navigator.hardwareConcurrency, max);
  if (workers > max) {
    log.warn(`workers: at most ${max} threads write to a libSQL server, so ${max} serve`);
  }
  return Math.min(workers, max);
}
