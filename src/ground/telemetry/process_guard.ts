import type { Log } from "./log.ts";

/** Where uncaught errors are reported. */
export interface ProcessGuardOptions {
  readonly log: Log;
  /** Called for each uncaught error. */
  readonly unhandled: () => void;
  /** Whether programs may be run from now on. */
  readonly runsPrograms: boolean;
}

/**
 * Keeps a serving process alive: logs and counts uncaught errors and unhandled rejections, with their stack, instead of
 * exiting. Also revokes the permission to run programs, unless it is needed.
 *
 * @param options Log, a counter, and what is needed.
 * @returns A function that stops guarding. The revoked permission is not restored.
 */
export function guardProcess({ log, unhandled, runsPrograms }: ProcessGuardOptions): () => void {
  if (!runsPrograms) Deno.permissions.revokeSync({ name: "run" });
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
