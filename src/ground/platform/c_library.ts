/** Names of the C library: glibc, musl, macOS and Windows. */
const NAMES = [
  "libc.so.6",
  "libc.musl-x86_64.so.1",
  "libc.musl-aarch64.so.1",
  "libSystem.B.dylib",
  "ucrtbase.dll",
];

/**
 * Opens the C library.
 *
 * @param symbols The functions that are to be called.
 * @returns `undefined` if it lacks one of them, or if calls into it are not permitted.
 */
export function openCLibrary<Symbols extends Deno.ForeignLibraryInterface>(
  symbols: Symbols,
): Deno.DynamicLibrary<Symbols> | undefined {
  for (const name of NAMES) {
    try {
      return Deno.dlopen(name, symbols);
    } catch {
      // try the next name
    }
  }
  return undefined;
}
