import { cFunctions } from "./c_library.ts";

/** Of <time.h> and <signal.h>, on Linux for x64 and arm64; `SIGVTALRM` ends a process without a dump of its memory. */
const SYMBOLS = {
  timer_create: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  timer_settime: { parameters: ["pointer", "i32", "buffer", "pointer"], result: "i32" },
  timer_delete: { parameters: ["pointer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
const CLOCK_THREAD_CPUTIME_ID = 3;
const SIGVTALRM = 26;
const SIGEVENT_BYTES = 64;
const SIGNO_AT = 8;

/**
 * Ends the process by `SIGVTALRM` when the calling thread has used that much processor time without a turn of its event loop: it
 * hangs, and no code of its own can notice that. Time for which the process is stopped, or waits for the processor, does not count.
 *
 * @param limitMs Processor time in whole milliseconds.
 * @returns Takes the limit back; undefined where the system has no such timers.
 */
export function limitTurns(limitMs: number): Disposable | undefined {
  if (Deno.build.os !== "linux") return;
  const libc = cFunctions(SYMBOLS);
  if (libc === undefined) return;
  const event = new DataView(new ArrayBuffer(SIGEVENT_BYTES));
  event.setInt32(SIGNO_AT, SIGVTALRM, true);
  const id = new BigUint64Array(1);
  if (libc.timer_create(CLOCK_THREAD_CPUTIME_ID, event, id) !== 0) return;
  const timer = Deno.UnsafePointer.create(id[0]!);
  // struct itimerspec: no interval, then seconds and nanoseconds
  const [seconds, restMs] = [Math.floor(limitMs / 1_000), limitMs % 1_000];
  const time = new BigInt64Array([0n, 0n, BigInt(seconds), BigInt(restMs) * 1_000_000n]);
  const begin = () => libc.timer_settime(timer, 0, time, null);
  begin();
  const turns = setInterval(begin, limitMs / 4);
  Deno.unrefTimer(turns);
  return {
    [Symbol.dispose]() {
      clearInterval(turns);
      libc.timer_delete(timer);
    },
  };
}
