import type { Log } from "./log.ts";

/** Where bugs are reported. */
export interface ProcessGuardOptions {
  readonly log: Log;
  /** Counts an error that nothing caught. */
  readonly unhandled: () => void;
}

/**
 * The last line of defence of a serving process: an error or rejection that nothing caught is logged as a bug
 * with its stack and counted, and the process goes on. Also gives up the permission to run programs.
 *
 * @returns Ends the guard; the permission does not come back.
 */
export function guardProcess({ log, unhandled }: ProcessGuardOptions): () => void {
  Deno.permissions.revokeSync({ name: "run" });
  const report = (event: Event, error: unknown) => {
    event.preventDefault();
    unhandled();
    const text = error instanceof Error ? error.stack ?? error.message : String(error);
    log.error("unhandled error: this is a bug, please report it", { error: text });
  };
  const rejected = (event: PromiseRejectionEvent) => report(event, event.reason);
  const thrown = (event: ErrorEvent) => report(event, event.error ?? event.message);
  globalThis.addEventListener("unhandledrejection", rejected);
  globalThis.addEventListener("error", thrown);
  return () => {
    globalThis.removeEventListener("unhandledrejection", rejected);
    globalThis.removeEventListener("error", thrown);
  };
}
