import { Buffer } from "node:buffer";
import { sign } from "node:crypto";
import { jsonIn } from "../../../ground/platform/mod.ts";
import { joinPath } from "../../../ground/std/mod.ts";
import { isObject, type JsonObject, text } from "../../../wire/dialects/mod.ts";
import type { CredentialSettings } from "../../../settings/config/mod.ts";
import type { Token } from "./cached_token.ts";
import { CredentialsFault, readNamed } from "./credentials.ts";
import { askForAccess, NEAR_MS, type ProxyFor } from "./token_endpoint.ts";

const WHO = "Google";
const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const TOKEN_URL = "https://oauth2.googleapis.com/token";
/** The metadata server of Compute Engine, GKE and Cloud Run (cloud.google.com/compute/docs/metadata). */
const METADATA =
  "http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/**
 * Gets an access token of Google Cloud: of the key file of a service account, of what `gcloud auth application-default login` has left, or
 * of the metadata server.
 *
 * @throws {CredentialsFault} With the step that failed.
 */
export async function googleToken(
  { file, tokenUrl, environment = {}, proxyFor }: CredentialSettings & {
    kind: "google";
    readonly proxyFor?: ProxyFor;
  },
  now: () => number,
): Promise<Token> {
  const variable = (name: string) => environment[name]?.reveal();
  const named = file ?? variable("GOOGLE_APPLICATION_CREDENTIALS");
  const path = named ?? usualFile(variable);
  const known = path === undefined ? undefined : await read(path, named !== undefined);
  if (known === undefined) {
    return await askForAccess({
      who: "Google's metadata server (no key file was found)",
      url: tokenUrl ?? METADATA,
      headers: { "metadata-flavor": "Google" },
      ...(tokenUrl === undefined && { patienceMs: NEAR_MS }),
    }, now);
  }
  const call = { who: WHO, url: tokenUrl ?? TOKEN_URL, proxyFor };
  if (known.type === "service_account") {
    const assertion = signed(known, { url: call.url, path: path!, nowMs: now() });
    return await askForAccess({ ...call, form: { grant_type: JWT_BEARER, assertion } }, now);
  }
  if (known.type === "authorized_user") {
    const [secret = "", refresh = ""] = [text(known.client_secret), text(known.refresh_token)];
    const form = {
      grant_type: "refresh_token",
      client_id: text(known.client_id) ?? "",
      client_secret: secret,
      refresh_token: refresh,
    };
    return await askForAccess({ ...call, form, secrets: [secret, refresh] }, now);
  }
  throw new CredentialsFault(
    `${path} is a key file of the type '${
      text(known.type)?.slice(0, 40) ?? "unknown"
    }': service_account and authorized_user can be used, others by the kind 'command' with ` +
      "gcloud auth print-access-token",
  );
}

/** Where gcloud keeps what `application-default login` has left. */
function usualFile(variable: (name: string) => string | undefined): string | undefined {
  const folder = variable("CLOUDSDK_CONFIG");
  if (folder !== undefined) return joinPath(folder, "application_default_credentials.json");
  const home = variable("HOME");
  if (home === undefined) return undefined;
  return joinPath(home, ".config", "gcloud", "application_default_credentials.json");
}

async function read(path: string, isNamed: boolean): Promise<JsonObject | undefined> {
  const content = isNamed
    ? await readNamed("the key file", path)
    : await Deno.readTextFile(path).catch(() => undefined);
  if (content === undefined) return undefined;
  const parsed = jsonIn(content);
  if (isObject(parsed)) return parsed;
  throw new CredentialsFault(`the key file ${path} is not JSON`);
}

/** A token that the service account signs: an hour is the most that Google takes. */
function signed(
  { client_email: email, private_key: key, private_key_id: id }: JsonObject,
  { url, path, nowMs }: { readonly url: string; readonly path: string; readonly nowMs: number },
): string {
  const iat = Math.floor(nowMs / 1_000);
  const header = { alg: "RS256", typ: "JWT", kid: text(id) };
  const claims = { scope: SCOPE, iss: String(email), aud: url, iat, exp: iat + 3_600 };
  const content = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  try {
    return `${content}.${
      sign("RSA-SHA256", Buffer.from(content), String(key)).toString("base64url")
    }`;
  } catch {
    throw new CredentialsFault(`the key file ${path} has no private key that can be used`);
  }
}
