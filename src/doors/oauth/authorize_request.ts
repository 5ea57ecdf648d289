import type { ToolClientSettings } from "../../settings/config/mod.ts";

/** A tool's question for a code (RFC 6749, section 4.1.1, and RFC 7636, section 4.3). */
export interface AuthorizeRequest {
  readonly client: ToolClientSettings;
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly challenge: string;
}

/** Tools that are known without settings, with the addresses on this machine where they listen. */
const KNOWN: readonly ToolClientSettings[] = [
  { id: "sluice", name: "sluice auth", redirects: ["http://127.0.0.1/callback"] },
  {
    id: "codex",
    name: "Codex",
    redirects: ["localhost", "127.0.0.1"].flatMap((host) =>
      ["/auth/callback", "/callback"].map((path) => `http://${host}${path}`)
    ),
  },
  {
    id: "claude-code",
    name: "Claude Code",
    redirects: ["http://localhost/callback", "http://127.0.0.1/callback"],
  },
];

/** The parameters that count; others are no reason to refuse. */
export const AUTHORIZE_FIELDS = [
  "client_id",
  "redirect_uri",
  "response_type",
  "state",
  "code_challenge",
  "code_challenge_method",
] as const;
const MAX_STATE_CHARS = 500;
const MAX_URI_CHARS = 1_000;
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const LOOPBACK = ["127.0.0.1", "[::1]", "localhost"];

/** Thrown if a tool gets no code. The message says why, with a final full stop. */
export class AuthorizeError extends Error {
  override readonly name = "AuthorizeError";
  /** Where the browser tells the tool; `undefined` if it is unknown whose address that is. */
  readonly answer: URL | undefined;

  constructor(message: string, answer?: URL) {
    super(message);
    this.answer = answer;
  }
}

/**
 * Reads a tool's question for a code.
 *
 * @param issuer Of this gateway, which the answer names (RFC 9207).
 * @param clients Tools of the settings.
 * @throws {AuthorizeError} If there is to be none.
 */
export function readAuthorizeRequest(
  parameters: URLSearchParams,
  { issuer, clients }: { readonly issuer: string; readonly clients: readonly ToolClientSettings[] },
): AuthorizeRequest {
  const twice = AUTHORIZE_FIELDS.find((name) => parameters.getAll(name).length > 1);
  if (twice !== undefined) throw new AuthorizeError(`The tool sent ${twice} twice.`);
  const of = (name: typeof AUTHORIZE_FIELDS[number]) => parameters.get(name) ?? "";
  const id = of("client_id");
  const client = [...clients, ...KNOWN].find((one) => one.id === id);
  if (client === undefined) {
    throw new AuthorizeError(
      "This tool is not known here: its operator adds it to signIn.clients, or it signs in by a device code.",
    );
  }
  const redirectUri = of("redirect_uri");
  if (!client.redirects.some((allowed) => isAllowed(redirectUri, allowed))) {
    throw new AuthorizeError(`${client.name} may not be answered at the address that it sent.`);
  }
  const state = parameters.get("state") ?? undefined;
  const refuse = (error: string, message: string) => {
    const fields = { error, error_description: message, issuer };
    return new AuthorizeError(message, answerTo({ redirectUri, state }, fields));
  };
  if (state !== undefined && state.length > MAX_STATE_CHARS) {
    throw new AuthorizeError("The tool sent a state that is too long.");
  }
  if (of("response_type") !== "code") {
    throw refuse("unsupported_response_type", "Send response_type=code.");
  }
  const challenge = of("code_challenge");
  if (of("code_challenge_method") !== "S256" || !CHALLENGE.test(challenge)) {
    throw refuse("invalid_request", "Send code_challenge with code_challenge_method=S256.");
  }
  return { client, redirectUri, state, challenge };
}

/** Where the browser brings a tool its answer. */
export function answerTo(
  { redirectUri, state }: Pick<AuthorizeRequest, "redirectUri" | "state">,
  { issuer, ...fields }: { readonly issuer: string } & Readonly<Record<string, string>>,
): URL {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
  if (state !== undefined) url.searchParams.set("state", state);
  url.searchParams.set("iss", issuer);
  return url;
}

/** Whether a tool may be answered at an address: exactly the one of the settings, or on this machine at any port (RFC 8252, section 7.3). */
function isAllowed(sent: string, allowed: string): boolean {
  if (sent.length > MAX_URI_CHARS || !URL.canParse(sent)) return false;
  if (sent === allowed) return true;
  const [a, b] = [new URL(sent), new URL(allowed)];
  if (b.protocol !== "http:" || !LOOPBACK.includes(b.hostname)) return false;
  // what is left out has to be empty: user, password, fragment
  return a.href === `http://${a.host}${b.pathname}${b.search}` && a.hostname === b.hostname;
}
