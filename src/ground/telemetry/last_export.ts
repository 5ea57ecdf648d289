/** For how long the end of a process waits for its collector. */
const EXPORT_PATIENCE_MS = 5_000;

/** What the thread gets that ends the process. */
export interface End {
  readonly status: number;
  readonly withinMs: number;
}

/**
 * Has the process end with a status within five seconds from now, whatever the platform's own end does: that sends what telemetry is
 * left, and waits without limit for a collector that does not answer. The caller ends the process then.
 */
export async function limitLastExport(status: number): Promise<void> {
  const thread = new Worker(new URL("./last_export_worker.ts", import.meta.url), {
    type: "module",
    name: "end",
  });
  await new Promise((resolve) => {
    thread.onmessage = resolve;
    thread.onerror = resolve;
    thread.postMessage({ status, withinMs: EXPORT_PATIENCE_MS } satisfies End);
  });
}
