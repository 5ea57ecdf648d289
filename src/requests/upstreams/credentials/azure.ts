import type { JsonObject } from "../../../wire/dialects/mod.ts";
import type { CredentialSettings } from "../../../settings/config/mod.ts";
import type { Token } from "./cached_token.ts";
import { CredentialsFault } from "./credentials.ts";
import { askForJson, NEAR_MS, type ProxyFor } from "./token_endpoint.ts";

const WHO = "Entra ID";
const SCOPE = "https://cognitiveservices.azure.com/.default";
/** The metadata server of virtual machines (learn.microsoft.com, managed identities: how to use a token). */
const METADATA = "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01";
const CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/**
 * Gets a token of Entra ID: with a client secret, with a federated token (workload identity), or as the machine's managed identity.
 *
 * @throws {CredentialsFault} With the step that failed.
 */
export async function azureToken(
  settings: CredentialSettings & { kind: "azure"; readonly proxyFor?: ProxyFor },
  now: () => number,
): Promise<Token> {
  const { environment = {}, scope = SCOPE, proxyFor } = settings;
  const variable = (name: string) => environment[name]?.reveal();
  const tenant = settings.tenant ?? variable("AZURE_TENANT_ID");
  const client = settings.client ?? variable("AZURE_CLIENT_ID");
  const secret = settings.secret?.reveal() ?? variable("AZURE_CLIENT_SECRET");
  const tokenFile = settings.tokenFile ?? variable("AZURE_FEDERATED_TOKEN_FILE");
  if (secret === undefined && tokenFile === undefined) {
    return tokenOf(await managedIdentity(settings, { client, scope, variable }), now);
  }
  if (tenant === undefined || client === undefined) {
    const missing = tenant === undefined
      ? "`tenant` (or AZURE_TENANT_ID)"
      : "`client` (or AZURE_CLIENT_ID)";
    throw new CredentialsFault(`credentials for Azure need ${missing}`);
  }
  const host = variable("AZURE_AUTHORITY_HOST") ?? "https://login.microsoftonline.com";
  const url = settings.tokenUrl ??
    `${host.replace(/\/+$/, "")}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
  const proof = secret === undefined ? await assertion(tokenFile!) : { client_secret: secret };
  const form = { grant_type: "client_credentials", client_id: client, scope, ...proof };
  const secrets = Object.values(proof);
  return tokenOf(await askForJson({ who: WHO, url, form, secrets, proxyFor }), now);
}

async function assertion(path: string): Promise<Record<string, string>> {
  const token = await Deno.readTextFile(path).catch(() => {
    throw new CredentialsFault(`the federated token ${path} cannot be read`);
  });
  return { client_assertion_type: CLIENT_ASSERTION, client_assertion: token.trim() };
}

/** App Service and Functions have an endpoint of their own in the environment. */
async function managedIdentity(
  { tokenUrl }: CredentialSettings & { kind: "azure" },
  { client, scope, variable }: {
    readonly client: string | undefined;
    readonly scope: string;
    readonly variable: (name: string) => string | undefined;
  },
): Promise<JsonObject> {
  const endpoint = variable("IDENTITY_ENDPOINT");
  const header = variable("IDENTITY_HEADER");
  const isService = endpoint !== undefined && header !== undefined && tokenUrl === undefined;
  const url = new URL(tokenUrl ?? (isService ? `${endpoint}?api-version=2019-08-01` : METADATA));
  url.searchParams.set("resource", scope.replace(/\/\.default$/, ""));
  if (client !== undefined) url.searchParams.set("client_id", client);
  return await askForJson({
    who: "the managed identity (no client secret and no federated token are set)",
    url: url.href,
    headers: isService ? { "x-identity-header": header } : { metadata: "true" },
    ...(tokenUrl === undefined && { patienceMs: NEAR_MS }),
  });
}

function tokenOf(
  { access_token: value, expires_in: seconds, expires_on: end }: JsonObject,
  now: () => number,
): Token {
  if (typeof value !== "string") throw new CredentialsFault(`${WHO} gave a reply without a token`);
  // managed identities say it in seconds since 1970, as text
  const endsAtMs = Number(seconds) > 0
    ? now() + 1_000 * Number(seconds)
    : 1_000 * Number(end) || now() + 300_000;
  return { value, endsAtMs };
}
