/** Names of the C library: glibc, musl, macOS and Windows. */
const NAMES = [
  "libc.so.6",
  "libc.musl-x86_64.so.1",
  "libc.musl-aarch64.so.1",
  "libSystem.B.dylib",
  "ucrtbase.dll",
];

/** By what was asked for: to make functions callable takes some 0.2 ms each, more than most calls of them. */
const opened = new Map<Deno.ForeignLibraryInterface, Deno.DynamicLibrary<never> | undefined>();

/**
 * Functions of the C library, which stays open for as long as this thread lives.
 *
 * @param symbols The functions that are to be called; the same object each time.
 * @returns `undefined` if it lacks one of them, or if calls into it are not permitted.
 */
export function cFunctions<Symbols extends Deno.ForeignLibraryInterface>(
  symbols: Symbols,
): Deno.DynamicLibrary<Symbols>["symbols"] | undefined {
  if (!opened.has(symbols)) opened.set(symbols, openCLibrary(symbols));
  return opened.get(symbols)?.symbols;
}

function openCLibrary(symbols: Deno.ForeignLibraryInterface) {
  for (const name of NAMES) {
    try {
      return Deno.dlopen(name, symbols) as Deno.DynamicLibrary<never>;
    } catch {
      // try the next name
    }
  }
  return undefined;
}
