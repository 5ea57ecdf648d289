import { resolvePath } from "../../ground/std/mod.ts";
import type { CommandContext } from "./context.ts";

/**
 * Reads a file that somebody named to a command.
 *
 * @param path As it was named, relative to the directory of the shell.
 * @returns Its text.
 * @throws {Error} In words, if it cannot be read.
 */
export async function readNamed(
  { directory }: Pick<CommandContext, "directory">,
  path: string,
): Promise<string> {
  try {
    return await Deno.readTextFile(resolvePath(directory, path));
  } catch (error) {
    throw new Error(`Cannot read ${path}: ${whyOf(error)}`, { cause: error });
  }
}

function whyOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "file not found";
  if (error instanceof Deno.errors.IsADirectory) return "it is a directory";
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  return error instanceof Error ? error.message : String(error);
}
