import type { Token } from "./cached_token.ts";
import { CredentialsFault } from "./credentials.ts";
import { isHeaderText } from "./from_command.ts";

/** How long what was read counts before the file is looked at again. */
const LOOK_MS = 1_000;
const MAX_BYTES = 65_536;

/**
 * Reads a token from a file, which something else replaces when it ends.
 *
 * @throws {CredentialsFault} If there is none.
 */
export async function fromFile(path: string, now: () => number): Promise<Token> {
  let content: string;
  try {
    using file = await Deno.open(path);
    const bytes = new Uint8Array(MAX_BYTES);
    const length = await file.read(bytes) ?? 0;
    content = new TextDecoder().decode(bytes.subarray(0, length)).trim();
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound
      ? "there is no such file"
      : error instanceof Deno.errors.PermissionDenied
      ? "it may not be read"
      : "it cannot be read";
    throw new CredentialsFault(`no token in ${path}: ${why}`);
  }
  if (!isHeaderText(content)) {
    throw new CredentialsFault(`no token in ${path}: expected one line of text`);
  }
  return { value: content, endsAtMs: now() + LOOK_MS };
}
