/** Of the C library of GNU; others lack it. */
const SYMBOLS = {
  malloc_trim: { parameters: ["usize"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

/**
 * Returns free memory of the C library's allocator to the system, which by itself it keeps. Takes a few milliseconds, and does nothing
 * where the library has no way to.
 */
export function releaseMemory(): void {
  if (Deno.build.os !== "linux") return;
  try {
    const library = Deno.dlopen("libc.so.6", SYMBOLS);
    library.symbols.malloc_trim(0n);
    library.close();
  } catch {
    // another C library
  }
}
