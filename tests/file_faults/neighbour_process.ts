import { scriptArgs } from "../fake/command.ts";

/** Starts `neighbour.ts` at the file of this path. Disposing kills it. */
export function startNeighbour(path: string): AsyncDisposable {
  const [command, ...flags] = scriptArgs("../file_faults/neighbour.ts");
  const child = new Deno.Command(Deno.execPath(), {
    args: [command!, ...flags, path],
    stdout: "null",
    stderr: "null",
  }).spawn();
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
    },
  };
}

/** What `look.ts` finds in the file of this path while a gateway uses it; `undefined` for nothing. */
export async function lookAt(path: string): Promise<string | undefined> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...scriptArgs("../file_faults/look.ts"), path],
  }).output();
  const decoder = new TextDecoder();
  const found = success ? decoder.decode(stdout).trim() : decoder.decode(stderr).trim();
  return success && found === "" ? undefined : found;
}
