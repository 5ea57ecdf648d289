import { cFunctions } from "./c_library.ts";

/** Of the C library of GNU; others lack it. */
const SYMBOLS = {
  malloc_trim: { parameters: ["usize"], result: "i32" },
  mallopt: { parameters: ["i32", "i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

/**
 * Returns free memory of the C library's allocator to the system, which by itself it keeps. Takes a few milliseconds, and does nothing
 * where the library has no way to.
 */
export function releaseMemory(): void {
  if (Deno.build.os !== "linux") return;
  cFunctions(SYMBOLS)?.malloc_trim(0n);
}

/** Of <malloc.h>. */
const M_TRIM_THRESHOLD = -1;
const M_MMAP_THRESHOLD = -3;
const MAX_FREE_BYTES = 2 * 1_048_576;
/** The most that the library accepts: half of what a thread's memory is made of. */
const MAX_SHARED_BYTES = 32 * 1_048_576;

/**
 * Bounds what the C library's allocator keeps of memory that was freed, for each thread and from now on. By itself it keeps twice the largest
 * block that was ever freed, which is 46 MB once libSQL was unpacked; V8's compilers leave 24 MB of that when they compile the parser of
 * HTTP, which is WebAssembly, a second time.
 */
export function limitFreeMemory(): void {
  if (Deno.build.os !== "linux") return;
  const libc = cFunctions(SYMBOLS);
  libc?.mallopt(M_TRIM_THRESHOLD, MAX_FREE_BYTES);
  // setting the one stops the other from growing: blocks below it would be mapped one by one
  libc?.mallopt(M_MMAP_THRESHOLD, MAX_SHARED_BYTES);
}
