import { jsonIn } from "../../../ground/platform/mod.ts";
import { isObject, text } from "../../../wire/dialects/mod.ts";
import type { CredentialSettings } from "../../../settings/config/mod.ts";
import type { Token } from "./cached_token.ts";
import { CredentialsFault } from "./credentials.ts";

const MAX_CHARS = 65_536;

/**
 * Runs a program that prints a token, or JSON with `token` and `expiresAt` (ISO 8601, or seconds since 1970).
 *
 * @throws {CredentialsFault} If the program fails, takes too long or prints something else.
 */
export async function fromCommand(
  { command: [program, ...args], ttlMs, timeoutMs }: CredentialSettings & { kind: "command" },
  now: () => number,
): Promise<Token> {
  const named = `the command ${program}`;
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(program, {
      args: args.map((one) => one.reveal()),
      stdin: "null",
      stdout: "piped",
      stderr: "null", // it may print secrets
    }).spawn();
  } catch (error) {
    throw new CredentialsFault(`${named} gave no token: ${whyNot(error)}`);
  }
  let isLate = false;
  const output = child.stdout.getReader();
  const patience = setTimeout(() => {
    isLate = true;
    end(child);
    output.cancel().catch(() => {}); // a program that it has started may hold it open
  }, timeoutMs);
  try {
    const printed = await firstBytes(child, output);
    const { success, code } = await child.status;
    if (isLate) throw new CredentialsFault(`${named} gave no token within ${timeoutMs / 1_000} s`);
    if (!success) {
      throw new CredentialsFault(`${named} gave no token: it ended with status ${code}`);
    }
    return tokenIn(printed.trim(), named, now() + ttlMs);
  } finally {
    clearTimeout(patience);
  }
}

function whyNot(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such program";
  if (!(error instanceof Deno.errors.NotCapable)) return "it cannot be run";
  return "the gateway was started without such credentials, and may run no programs since: restart it";
}

/** What a program prints; ends it when that is too long for a token. */
async function firstBytes(
  child: Deno.ChildProcess,
  output: ReadableStreamDefaultReader<Uint8Array>,
): Promise<string> {
  let printed = "";
  const decoder = new TextDecoder();
  while (true) {
    const { value } = await output.read();
    if (value === undefined) return printed;
    printed += decoder.decode(value, { stream: true });
    if (printed.length <= MAX_CHARS) continue;
    end(child);
    await output.cancel();
    return printed;
  }
}

function end(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // it has ended
  }
}

function tokenIn(printed: string, named: string, usualEndMs: number): Token {
  let value: string | undefined = printed;
  let endsAtMs: number | undefined = usualEndMs;
  if (printed.startsWith("{")) {
    const parsed: unknown = jsonIn(printed);
    value = isObject(parsed) ? text(parsed.token) : undefined;
    const end = isObject(parsed) ? parsed.expiresAt : undefined;
    const endMs = typeof end === "number" ? end * 1_000 : Date.parse(text(end) ?? "");
    if (Number.isFinite(endMs)) endsAtMs = endMs;
  }
  if (value === undefined || !isHeaderText(value)) {
    throw new CredentialsFault(
      `${named} printed no token: expected one line of text, or { "token": "…", "expiresAt": "…" }`,
    );
  }
  return { value, endsAtMs };
}

/** Whether a text fits in a header. */
export function isHeaderText(value: string): boolean {
  return /^[\x21-\x7e]{1,32768}$/.test(value);
}
