import { cFunctions } from "./c_library.ts";

const SYMBOLS = {
  _exit: { parameters: ["i32"], result: "void" },
} as const satisfies Deno.ForeignLibraryInterface;

/**
 * Ends the process with a status, from any of its threads and whatever the others do: nothing is waited for. Where the C library
 * cannot be called, the process ends as if it were killed.
 */
export function endAtOnce(status: number): void {
  cFunctions(SYMBOLS)?._exit(status);
  Deno.kill(Deno.pid, "SIGKILL");
}
