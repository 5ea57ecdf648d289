import { fromFileUrl } from "../../src/ground/std/mod.ts";

/** Whether a library in C can be compiled and loaded here. */
export const canCompile: boolean = Deno.build.os === "linux" &&
  await new Deno.Command("cc", { args: ["--version"] }).output()
    .then(({ success }) => success, () => false);

/**
 * Compiles a library that is loaded before others.
 *
 * @param source A file in C.
 * @param library The file that is made.
 * @returns A value of `LD_PRELOAD`: the library comes before what is loaded here.
 */
export async function compileLibrary(source: URL, library: string): Promise<string> {
  const flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror"];
  const args = [...flags, "-o", library, fromFileUrl(source)];
  const { success, stderr } = await new Deno.Command("cc", { args }).output();
  if (!success) throw new Error(`cc: ${new TextDecoder().decode(stderr)}`);
  return [library, ...(Deno.env.get("LD_PRELOAD")?.split(":") ?? [])].join(":");
}
