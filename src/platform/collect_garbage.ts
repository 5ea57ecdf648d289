/** The part of V8's `gc` that is used; global where V8 was started with `--expose-gc`, as the executable is. */
type CollectGarbage = (
  options: { type: "major"; execution: "sync"; flavor: "last-resort" },
) => void;

const LOOK_MS = 1_000;

/**
 * Returns to the system the memory that starting needed, as soon as this thread is idle. Keeps no process alive.
 *
 * V8 keeps such memory until much more is allocated, which in an idle process is never. The one collection takes 30
 * to 80 ms of the thread. Does nothing unless V8 was started with `--expose-gc`.
 *
 * @param isIdle Called until it is true twice in a row.
 * @param lookMs How often it is called.
 * @returns a function that calls the collection off.
 */
export function collectGarbageWhenIdle(isIdle: () => boolean, lookMs = LOOK_MS): () => void {
  const { gc } = globalThis as { gc?: CollectGarbage };
  if (gc === undefined) return () => {};
  let wasIdle = false;
  const timer = setInterval(() => {
    const idle = isIdle();
    if (idle && wasIdle) {
      clearInterval(timer);
      gc({ type: "major", execution: "sync", flavor: "last-resort" });
    }
    wasIdle = idle;
  }, lookMs);
  Deno.unrefTimer(timer);
  return () => clearInterval(timer);
}
