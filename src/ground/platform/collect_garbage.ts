import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The part of V8's `gc` that is used; global where V8 was started with `--expose-gc`, as the executable is. */
type CollectGarbage = (
  options:
    | { type: "major"; execution: "sync"; flavor: "last-resort" }
    | { type: "minor"; execution: "sync" },
) => void;

/**
 * V8's own, where it was started with `--expose-gc --expose-gc-as=collectAsAsked`, as tests are: what Deno puts in its place collects
 * everything, twice, whatever it is asked for.
 */
const { collectAsAsked } = globalThis as { collectAsAsked?: CollectGarbage };

const LOOK_MS = 1_000;

let found = collectAsAsked;
let wasSought = found !== undefined;

/** V8's `gc`; without `--expose-gc`, that of a context which is made once the flag is set. Deno 2.4 has none then. */
function gcOf(): CollectGarbage | undefined {
  const { gc } = globalThis as { gc?: CollectGarbage };
  if (gc !== undefined || wasSought) return gc ?? found;
  wasSought = true;
  try {
    setFlagsFromString("--expose-gc");
    found = runInNewContext("gc");
  } catch {
    // garbage is collected when V8 sees fit
  }
  return found;
}

/**
 * Collects all garbage now. Takes 30 to 80 ms of the thread. What native objects hold is let go of in the next turn.
 *
 * @returns Whether it was: Deno 2.4 needs `--expose-gc` for it.
 */
export function collectGarbage(): boolean {
  const gc = gcOf();
  gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
  return gc !== undefined;
}

/**
 * Collects what was allocated of late, in about a millisecond, where V8 collects as it is asked.
 *
 * @returns Whether it was.
 */
export function collectYoungGarbage(): boolean {
  collectAsAsked?.({ type: "minor", execution: "sync" });
  return collectAsAsked !== undefined;
}

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
  if (!("gc" in globalThis)) return () => {};
  let wasIdle = false;
  const timer = setInterval(() => {
    const idle = isIdle();
    if (idle && wasIdle) {
      clearInterval(timer);
      collectGarbage();
    }
    wasIdle = idle;
  }, lookMs);
  Deno.unrefTimer(timer);
  return () => clearInterval(timer);
}
