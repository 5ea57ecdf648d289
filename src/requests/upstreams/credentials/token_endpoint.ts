import { exchange, type OutgoingProxy } from "../../../ground/ways_out/mod.ts";
import { jsonIn, networkErrorWords } from "../../../ground/platform/mod.ts";
import { isObject, type JsonObject, text } from "../../../wire/dialects/mod.ts";
import type { Token } from "./cached_token.ts";
import { CredentialsFault, withoutSecrets } from "./credentials.ts";

/** How long a token endpoint may take. */
const PATIENCE_MS = 15_000;
/** A metadata server at its usual address is near, or is not there; one that `tokenUrl` names may be anywhere. */
export const NEAR_MS = 2_000;
const MAX_BYTES = 65_536;
const MAX_TOLD = 200;
const FORM = "application/x-www-form-urlencoded;charset=UTF-8";

/** The proxy that an address is reached through; undefined for a direct connection. */
export type ProxyFor = (url: URL) => OutgoingProxy | undefined;

/** One request for a token. */
export interface TokenCall {
  /** What is asked, for messages: `Entra ID`. */
  readonly who: string;
  readonly url: string;
  readonly method?: "GET" | "PUT" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly patienceMs?: number;
  /** Undefined where it is near, such as a metadata server, which no proxy reaches. */
  readonly proxyFor?: ProxyFor | undefined;
  /** Secrets that a message must not repeat. */
  readonly secrets?: readonly string[];
}

/**
 * Asks for a token. Redirects are not followed: they would carry a secret to another host.
 *
 * @returns The body as text.
 * @throws {CredentialsFault} With the step that failed.
 */
export async function askForToken(call: TokenCall): Promise<string> {
  const { who, url, form, method = form === undefined ? "GET" : "POST", secrets = [] } = call;
  const timeoutMs = call.patienceMs ?? PATIENCE_MS;
  const { status, text: body } = await exchange({
    url: new URL(url),
    method,
    headers: {
      accept: "application/json",
      ...(form !== undefined && { "content-type": FORM }),
      ...call.headers,
    },
    ...(form !== undefined && { body: new URLSearchParams(form).toString() }),
    proxy: call.proxyFor?.(new URL(url)),
    timeoutMs,
    maxBytes: MAX_BYTES,
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error) => {
    const isLate = error.name === "TimeoutError";
    throw new CredentialsFault(
      `${who} could not be reached at ${new URL(url).host}: ${
        isLate ? "no response in time" : networkErrorWords(error) ?? "no connection"
      }`,
    );
  });
  if (status === 200 || status === 201) return body;
  const told = withoutSecrets(saidIn(body), secrets);
  throw new CredentialsFault(
    `${who} refused to give a token: status ${status}${
      told === "" ? "" : `, ${told.slice(0, MAX_TOLD)}`
    }`,
  );
}

/** Asks for a token, and expects JSON with one. */
export async function askForJson(call: TokenCall): Promise<JsonObject> {
  const parsed = jsonIn(await askForToken(call));
  if (isObject(parsed)) return parsed;
  throw new CredentialsFault(`${call.who} gave something that is no token: no JSON object`);
}

/** Asks for an access token as OAuth 2.0 has it; without an end it is used for five minutes. */
export async function askForAccess(call: TokenCall, now: () => number): Promise<Token> {
  const { access_token: value, expires_in: seconds, expires_on: end } = await askForJson(call);
  if (typeof value !== "string") {
    throw new CredentialsFault(`${call.who} gave a reply without a token`);
  }
  // managed identities of Azure say it in seconds since 1970, as text
  const endsAtMs = Number(seconds) > 0
    ? now() + 1_000 * Number(seconds)
    : 1_000 * Number(end) || now() + 300_000;
  return { value, endsAtMs };
}

/** What OAuth 2.0 calls an error, or the beginning of the text. */
function saidIn(body: string): string {
  try {
    const { error, error_description: description, message } = JSON.parse(body);
    const words = [text(error) ?? text(error?.message), text(description) ?? text(message)];
    return words.filter(Boolean).join(": ").replaceAll(/\s+/g, " ");
  } catch {
    return /<Code>([^<]{1,80})<\/Code>/.exec(body)?.[1] ?? "";
  }
}
