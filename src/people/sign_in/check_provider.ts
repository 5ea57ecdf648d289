import * as z from "zod";
import { failed, type Finding, ok, warning } from "../../ground/finding.ts";
import { jsonIn, networkErrorWords } from "../../ground/platform/mod.ts";
import type { OidcSettings } from "../../settings/config/mod.ts";
import { ALGORITHMS, SKEW_S } from "./provider.ts";
import { WayError, Ways, type WaysOptions } from "./ways.ts";

/** How a provider is looked at. */
export interface CheckOptions extends WaysOptions {
  /** Base URL of the gateway, as browsers know it; undefined if the settings have none. */
  readonly publicUrl: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const DISCOVERY = "/.well-known/openid-configuration";
const MAX_NAMES = 8;

const names = z.array(z.string()).optional().catch(undefined);
const address = z.string().optional().catch(undefined);
/** What a provider says of itself (OpenID Connect Discovery 1.0, section 3; RFC 8414). */
const discovered = z.looseObject({
  issuer: z.string(),
  authorization_endpoint: address,
  token_endpoint: address,
  jwks_uri: address,
  userinfo_endpoint: address,
  end_session_endpoint: address,
  backchannel_logout_supported: z.boolean().optional().catch(undefined),
  code_challenge_methods_supported: names,
  id_token_signing_alg_values_supported: names,
  token_endpoint_auth_methods_supported: names,
  scopes_supported: names,
  claims_supported: names,
});
type Discovered = z.output<typeof discovered>;

const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/**
 * Looks at a provider step by step, as a sign-in would find it, and says in words what is wrong. Sends no secret.
 *
 * @returns The steps in their order: none after one without which the rest cannot be seen.
 */
export async function checkProvider(
  settings: OidcSettings,
  options: CheckOptions,
): Promise<Finding[]> {
  const ways = new Ways(settings, options);
  const url = `${settings.issuer.replace(/\/$/, "")}${DISCOVERY}`;
  const redirect = redirectStep(settings, options.publicUrl);
  const response = await ask(ways, url);
  if (!(response instanceof Response)) return [failed("address", ...response), redirect];
  const steps = [ok("address", `${new URL(url).host} replies`), ...clockStep(response, options)];
  const document = documentIn(response.status, await response.text());
  if (document === undefined) {
    const detail = `${url} replied with status ${response.status}, and not with the document`;
    return [
      ...steps,
      failed(
        "document",
        response.status === 200 ? `${url} replied, but not with a document of a provider` : detail,
        "issuer has to be the address before /.well-known/openid-configuration, with its path: see docs/sign_in_providers.md",
      ),
      redirect,
    ];
  }
  return [
    ...steps,
    ok("document", url),
    issuerStep(settings, document),
    endpointsStep(ways, document),
    pkceStep(document),
    algorithmsStep(document),
    ...document.jwks_uri === undefined ? [] : [await keysStep(ways, document.jwks_uri)],
    clientStep(settings, document),
    scopesStep(settings, document),
    groupsStep(settings, document),
    signOutStep(document),
    redirect,
  ];
}

/** Asks an address; what failed and what to do about it, if there is no reply. */
async function ask(ways: Ways, url: string): Promise<Response | readonly [string, string]> {
  try {
    return await ways.fetch(url);
  } catch (error) {
    if (error instanceof WayError) {
      return [
        `The provider ${error.message}`,
        "have the provider name public addresses with https, or list the host in allowPrivateHosts of its settings",
      ];
    }
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    const why = isLate ? "no response in time" : networkErrorWords(error) ?? "no usable response";
    return [
      `${new URL(url).host} cannot be reached: ${why}`,
      "check the issuer's spelling, and whether this machine reaches it: DNS, firewall, proxy, certificate",
    ];
  }
}

function documentIn(status: number, text: string): Discovered | undefined {
  return status === 200 ? discovered.safeParse(jsonIn(text)).data : undefined;
}

/** Tokens say when they were made: clocks may differ by little. */
function clockStep({ headers }: Response, { now }: CheckOptions): Finding[] {
  const theirMs = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(theirMs)) return [];
  const seconds = Math.round((now() - theirMs) / 1_000);
  return Math.abs(seconds) <= SKEW_S ? [] : [
    failed(
      "clock",
      `this machine is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the provider`,
      `synchronize it (NTP): tokens are refused from ${SKEW_S} s on`,
    ),
  ];
}

function issuerStep({ issuer }: OidcSettings, document: Discovered): Finding {
  if (document.issuer === issuer) return ok("issuer", issuer);
  const isTemplate = document.issuer.includes("{");
  return failed(
    "issuer",
    `the settings have ${issuer}, the document has ${document.issuer}`,
    isTemplate
      ? "this address is for all companies: put your tenant's ID into the issuer in place of the general word"
      : "set issuer to what the document has, to the letter, if that is your provider",
  );
}

function endpointsStep(ways: Ways, document: Discovered): Finding {
  const needed = ["authorization_endpoint", "token_endpoint", "jwks_uri"] as const;
  const missing = needed.filter((name) => document[name] === undefined);
  if (missing.length > 0) {
    return failed(
      "endpoints",
      `the document lacks ${missing.join(", ")}`,
      "the address is not that of an OpenID provider: some are for OAuth alone",
    );
  }
  for (const name of [...needed, "userinfo_endpoint", "end_session_endpoint"] as const) {
    try {
      if (document[name] !== undefined) ways.read(document[name]);
    } catch (error) {
      if (!(error instanceof WayError)) throw error;
      return failed(
        "endpoints",
        `${name}: the document ${error.message}`,
        "have the provider know itself by its https address (behind a reverse proxy, often a setting of its own)",
      );
    }
  }
  return ok("endpoints", "for browsers, tokens and keys, with https");
}

function pkceStep({ code_challenge_methods_supported: methods }: Discovered): Finding {
  if (methods?.includes("S256")) return ok("PKCE", "S256");
  return methods === undefined
    ? warning(
      "PKCE",
      "not announced",
      "nothing, if it signs in: Entra, for one, has it unannounced",
    )
    : failed("PKCE", `without S256: ${list(methods)}`, "allow PKCE with S256 at the provider");
}

function algorithmsStep(
  { id_token_signing_alg_values_supported: announced = ["RS256"] }: Discovered,
): Finding {
  const allowed = announced.filter((one) => ALGORITHMS.includes(one));
  return allowed.length > 0 ? ok("signatures", list(allowed)) : failed(
    "signatures",
    `identity tokens are signed with ${
      list(announced)
    }, which anybody could make who has the client's secret, or nobody can check`,
    "have the provider sign identity tokens with RS256 or ES256",
  );
}

async function keysStep(ways: Ways, url: string): Promise<Finding> {
  const response = await ask(ways, url);
  if (!(response instanceof Response)) return failed("keys", ...response);
  const keys = keySet.safeParse(jsonIn(await response.text())).data?.keys
    .filter(({ kty, use = "sig" }) => kty !== "oct" && use === "sig") ?? [];
  return keys.length > 0 ? ok("keys", `${keys.length} of ${new URL(url).host}`) : failed(
    "keys",
    `${new URL(url).host} replied with status ${response.status}, and without a key for signatures`,
    "see the keys of the realm or application at the provider: it needs one for signatures",
  );
}

function clientStep(
  { secret }: OidcSettings,
  { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] }: Discovered,
): Finding {
  const usable = secret === undefined ? ["none"] : ["client_secret_basic", "client_secret_post"];
  const found = usable.find((one) => methods.includes(one));
  if (found !== undefined) return ok("client", found);
  return secret === undefined
    ? warning(
      "client",
      "no secret is set, and clients without one are not announced",
      "set secret, unless the application is a public client",
    )
    : failed(
      "client",
      `the provider takes ${list(methods)}, and not a client's secret`,
      "choose a client secret as the application's credential",
    );
}

function scopesStep(
  { scopes }: OidcSettings,
  { scopes_supported: announced }: Discovered,
): Finding {
  const unknown = announced === undefined ? [] : scopes.filter((one) => !announced.includes(one));
  return unknown.length === 0 ? ok("scopes", scopes.join(" ")) : warning(
    "scopes",
    `not announced: ${list(unknown)}`,
    "a scope that the provider does not know makes many refuse the sign-in: check its spelling",
  );
}

function groupsStep(
  { groups, groupsClaim }: OidcSettings,
  { claims_supported: announced }: Discovered,
): Finding {
  if (Object.keys(groups).length === 0) return ok("groups", "the settings list none");
  const claims = [groupsClaim, groupsClaim.split(".")[0]!];
  if (claims.some((one) => announced?.includes(one))) return ok("groups", groupsClaim);
  return warning(
    "groups",
    `the claim ${groupsClaim} is not announced`,
    "many send it all the same once the application has it: add it there, and sign in as a member of a group",
  );
}

function signOutStep(document: Discovered): Finding {
  const there = document.end_session_endpoint === undefined
    ? "here only: the provider has no page for it"
    : "here, and by a link at the provider";
  const back = document.backchannel_logout_supported === true
    ? "; it can tell when somebody signs out there"
    : "";
  return ok("sign-out", `${there}${back}`);
}

/** What has to be registered at the provider. */
function redirectStep({ name }: OidcSettings, publicUrl: string | undefined): Finding {
  const path = `/console/sign-in/oidc/${name}/callback`;
  if (publicUrl === undefined) {
    return warning(
      "redirect",
      `https://YOUR-GATEWAY${path}`,
      "set publicUrl: else the address is that by which each browser comes, and the provider takes only one that is registered",
    );
  }
  const { protocol, hostname } = new URL(publicUrl);
  const isNear = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  const detail = `${publicUrl}${path}`;
  return protocol === "https:" || isNear
    ? ok("redirect", `register this address at the provider: ${detail}`)
    : failed("redirect", detail, "serve the console with https: providers send nobody elsewhere");
}

function list(all: readonly string[]): string {
  const more = all.length - MAX_NAMES;
  return all.slice(0, MAX_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "") || "none";
}
