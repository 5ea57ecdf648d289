import { cFunctions } from "./c_library.ts";

/** Of <sys/resource.h>; on Linux, a process of number 0 is the calling thread (setpriority(2)). */
const SYMBOLS = {
  setpriority: { parameters: ["i32", "u32", "i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
const PRIO_PROCESS = 0;
const NICE = 10;

/** Has the system prefer other threads to the calling one, where it can. */
export function lowerPriority(): void {
  if (Deno.build.os !== "linux") return;
  cFunctions(SYMBOLS)?.setpriority(PRIO_PROCESS, 0, NICE);
}
