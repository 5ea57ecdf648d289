import type { Workplace } from "./workplace.ts";

/** Gives a directory Deno 2.4 and the runtime that it puts into executables, where that cannot be downloaded. */
const KIT = "../shared/tools/compile-kit";

/** Deno 2.4, with which executables are compiled. */
export interface OlderDeno {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Deno 2.4, or `undefined` where there is nothing to get it from.
 *
 * @throws {Error} Where getting it failed.
 */
export async function olderDeno(workplace: Workplace): Promise<OlderDeno | undefined> {
  if (!await Deno.stat(KIT).then(() => true, () => false)) return undefined;
  const cache = `${cacheDirectory()}/compile-kit`;
  const script =
    'eval "$("$0" "$1")" && printf "%s\\n" "$COMPILE_DENO" "$DENORT_BIN" "$DENO_TLS_CA_STORE"';
  const ended = await workplace.run("compile-kit", ["bash", "-c", script, KIT, cache]);
  const text = await Deno.readTextFile(ended.output);
  if (ended.code !== 0) throw new Error(`No Deno 2.4: ${text}`);
  const [path = "", runtime = "", store = ""] = text.trim().split("\n").slice(-3);
  return { path, env: { DENORT_BIN: runtime, DENO_TLS_CA_STORE: store } };
}

/** Where what takes long to get is kept from gate to gate. */
export function cacheDirectory(): string {
  const caches = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`;
  return `${caches}/sluice-ci`;
}
