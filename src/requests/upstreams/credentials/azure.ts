import type { CredentialSettings } from "../../../settings/config/mod.ts";
import type { Token } from "./cached_token.ts";
import { CredentialsFault, readNamed } from "./credentials.ts";
import { askForAccess, NEAR_MS, type ProxyFor, type TokenCall } from "./token_endpoint.ts";

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
  // a secret of the environment is another application's where the settings name a token
  const secret = settings.secret?.reveal() ??
    (settings.tokenFile === undefined ? variable("AZURE_CLIENT_SECRET") : undefined);
  const tokenFile = settings.tokenFile ?? variable("AZURE_FEDERATED_TOKEN_FILE");
  if (secret === undefined && tokenFile === undefined) {
    return await askForAccess(managedIdentity(settings, { client, scope, variable }), now);
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
  return await askForAccess({ who: WHO, url, form, secrets, proxyFor }, now);
}

async function assertion(path: string): Promise<Record<string, string>> {
  const token = await readNamed("the federated token", path);
  return { client_assertion_type: CLIENT_ASSERTION, client_assertion: token.trim() };
}

/** App Service and Functions have an endpoint of their own in the environment. */
export function managedIdentity(
  { tokenUrl }: CredentialSettings & { kind: "azure" },
  { client, scope, variable }: {
    readonly client: string | undefined;
    readonly scope: string;
    readonly variable: (name: string) => string | undefined;
  },
): TokenCall {
  const endpoint = variable("IDENTITY_ENDPOINT");
  const header = variable("IDENTITY_HEADER");
  const isService = endpoint !== undefined && header !== undefined && tokenUrl === undefined;
  const url = new URL(tokenUrl ?? (isService ? `${endpoint}?api-version=2019-08-01` : METADATA));
  url.searchParams.set("resource", scope.replace(/\/\.default$/, ""));
  if (client !== undefined) url.searchParams.set("client_id", client);
  return {
    who: "the managed identity (no client secret and no federated token are set)",
    url: url.href,
    headers: isService ? { "x-identity-header": header } : { metadata: "true" },
    ...(tokenUrl === undefined && { patienceMs: NEAR_MS }),
  };
}
