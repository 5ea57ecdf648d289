import type { Random } from "../fake/random.ts";
import type { Target } from "./steps.ts";

/** Everything that takes a body, and some that takes none. */
const PATHS = [
  "/console/sign-in",
  "/console/register",
  "/v1/chat/completions",
  "/v1/messages",
  "/v1/messages/count_tokens",
  "/v1/responses",
  "/v1/embeddings",
  "/admin/v1/accounts",
  "/healthz",
  "/nowhere",
] as const;

/** A request's first line, apart from its method, and headers that fit it. */
export interface Head {
  readonly path: string;
  /** Who asks, in a word. */
  readonly who: string;
  /** Host, key and type of the body; each line with its end. */
  readonly lines: string;
  /** A body that the path takes, if it is sent whole. */
  readonly body: string;
}

/** A path, a key and what belongs to them. */
export function anyHead(random: Random, target: Target, paths: readonly string[] = PATHS): Head {
  const path = random.pick(paths);
  const { who, line } = anyKey(random, target);
  const isForm = path.startsWith("/console");
  const type = isForm ? "application/x-www-form-urlencoded" : "application/json";
  return {
    path,
    who,
    lines: `host: ${target.host}\r\norigin: ${target.origin}\r\ncontent-type: ${type}\r\n${line}`,
    body: isForm ? formBody(random) : jsonBody(path),
  };
}

/** A key of any standing, as a header line. */
export function anyKey(random: Random, { keys }: Target): { who: string; line: string } {
  const who = random.pick([
    "valid key",
    "valid key",
    "invalid key",
    "key without credits",
    "no key",
  ]);
  const key = who === "valid key"
    ? random.pick(keys.valid)
    : who === "invalid key"
    ? keys.invalid
    : keys.poor;
  const line = random.next() < 0.8 ? `authorization: Bearer ${key}\r\n` : `x-api-key: ${key}\r\n`;
  return { who, line: who === "no key" ? "" : line };
}

/** The JSON of a small request to a path. */
export function jsonBody(path: string, more: Readonly<Record<string, unknown>> = {}): string {
  const text = "Hi [[say hello]]";
  if (path === "/v1/responses") return JSON.stringify({ model: "small", input: text, ...more });
  if (path === "/v1/embeddings") return JSON.stringify({ model: "small", input: text, ...more });
  const messages = [{ role: "user", content: text }];
  return JSON.stringify({ model: "small", max_tokens: 20, messages, ...more });
}

/** Fields of both forms. A password is hashed at a cost that is meant to be felt. */
function formBody(random: Random): string {
  const name = `person${random.integer(1, 1_000)}`;
  return `email=${name}%40example.com&password=some-long-password-${name}&name=${name}`;
}
