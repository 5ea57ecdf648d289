import { createHash } from "node:crypto";
import type { JWTVerifyGetKey } from "jose";
import type * as OAuth from "oauth4webapi";
import * as z from "zod";
import { displayed, jsonIn } from "../../ground/platform/mod.ts";
import { HOUR_MS, MINUTE_MS } from "../../ground/time.ts";
import type { OidcSettings } from "../../settings/config/mod.ts";
import { type Challenge, challengeOf } from "./challenge.ts";
import { type Claims, groupsOf } from "./groups.ts";
import { type Identity, identityOf } from "./identity.ts";
import { SignInError } from "./sign_in_error.ts";
import { WayError, Ways, type WaysOptions } from "./ways.ts";

/** How long what a provider says of itself is believed. */
export const METADATA_MS = HOUR_MS;
/** Seconds by which clocks may differ (identity tokens: `exp`, `iat`). */
export const SKEW_S = 60;
/** Identity tokens that are older when they arrive are refused. */
const MAX_AGE_S = 600;
/** How soon the provider's keys are asked for again for a key that is not among them. */
export const KEYS_COOLDOWN_MS = MINUTE_MS;
const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** OpenID Connect Core 1.0, section 2. */
const MAX_SUBJECT_CHARS = 255;
/** Signatures that are checked by a public key of the provider: never `none`, never one made with a shared secret. */
export const ALGORITHMS: readonly string[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** What a provider needs of its surroundings. */
export interface ProviderOptions extends WaysOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * A company's OpenID provider: the code flow with PKCE (OpenID Connect Core 1.0, section 3.1; RFC 9700). Its library is loaded when
 * somebody signs in.
 */
export class OidcProvider {
  readonly settings: OidcSettings;
  readonly #options: ProviderOptions;
  readonly #ways: Ways;
  readonly #client: OAuth.Client;
  #logoutKeys: JWTVerifyGetKey | undefined;
  #metadata: { readonly server: OAuth.AuthorizationServer; readonly atMs: number } | undefined;

  constructor(settings: OidcSettings, options: ProviderOptions) {
    this.settings = settings;
    this.#options = options;
    this.#ways = new Ways(settings, options);
    this.#client = { client_id: settings.client };
  }

  /**
   * Reads what the provider says of itself.
   *
   * @returns The address of its page of signing in.
   * @throws {SignInError} If it cannot be reached, or does not describe itself as the settings do.
   */
  async check(): Promise<string> {
    const { authorization_endpoint: endpoint } = await this.#server();
    if (endpoint === undefined) throw this.#error("has no authorization endpoint");
    return endpoint;
  }

  /**
   * Starts a sign-in.
   *
   * @param redirectUri Where the provider is to send the browser back to.
   * @returns Where to send the browser, and whose secret it has to keep for {@linkcode finish}.
   * @throws {SignInError} As {@linkcode check}.
   */
  async begin(redirectUri: string): Promise<{ readonly url: URL; readonly challenge: Challenge }> {
    const oauth = await library();
    const endpoint = await this.check();
    const url = await this.#checked(oauth, () => Promise.resolve(this.#ways.read(endpoint)));
    const challenge = challengeOf();
    const { client, scopes } = this.settings;
    const parameters = {
      client_id: client,
      redirect_uri: redirectUri,
      response_type: "code",
      scope: [...new Set(["openid", ...scopes])].join(" "),
      state: challenge.state,
      nonce: challenge.nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(challenge.verifier),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return { url, challenge };
  }

  /**
   * Finds out who came back.
   *
   * @param parameters What the provider sent with the browser.
   * @param challenge Of the browser's own sign-in; used once.
   * @throws {SignInError} If the provider refused, or anything in its reply does not fit.
   */
  async finish(
    parameters: URLSearchParams,
    challenge: Challenge,
    redirectUri: string,
  ): Promise<Identity> {
    const oauth = await library();
    const server = await this.#server();
    return await this.#checked(oauth, async () => {
      const answer = oauth.validateAuthResponse(server, this.#client, parameters, challenge.state);
      const http = this.#http(oauth);
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        this.#client,
        this.#authentication(oauth, server),
        answer,
        redirectUri,
        challenge.verifier,
        http,
      );
      const client = this.#clientAt(oauth);
      const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
        expectedNonce: challenge.nonce,
        requireIdToken: true,
      });
      await oauth.validateApplicationLevelSignature(server, response, http);
      const claims = oauth.getValidatedIdTokenClaims(tokens)!;
      this.#checkClaims(claims, tokens.access_token);
      const more = await this.#more(oauth, server, claims, tokens.access_token);
      const { refresh_token: refreshToken } = tokens;
      return {
        ...identityOf(claims, more, this.settings),
        ...(refreshToken !== undefined && { refreshToken }),
      };
    });
  }

  /**
   * Asks whether somebody may still sign in.
   *
   * @param refreshToken Of their last sign-in or refresh.
   * @param subject Who that was.
   * @param keep Called with a refresh token that takes the place of the old one, which counts no more; before anything else of the reply
   *   is judged, so that it is not lost with that.
   * @returns Whether they may.
   * @throws {SignInError} If the provider cannot be asked just now, or what it says does not fit.
   */
  async refresh(
    refreshToken: string,
    { subject, keep }: {
      readonly subject: string;
      readonly keep: (refreshToken: string) => Promise<void>;
    },
  ): Promise<boolean> {
    const oauth = await library();
    const server = await this.#server();
    const http = this.#http(oauth);
    const response = await this.#checked(
      oauth,
      () =>
        oauth.refreshTokenGrantRequest(
          server,
          this.#client,
          this.#authentication(oauth, server),
          refreshToken,
          http,
        ),
    );
    const reply = jsonIn(await response.clone().text());
    const next = withRefreshToken.safeParse(reply).data?.refresh_token;
    if (response.ok && next !== undefined && next !== refreshToken) await keep(next);
    return await this.#checked(oauth, async () => {
      try {
        const client = this.#clientAt(oauth);
        const tokens = await oauth.processRefreshTokenResponse(server, client, response);
        const claims = oauth.getValidatedIdTokenClaims(tokens);
        if (claims === undefined) return true;
        await oauth.validateApplicationLevelSignature(server, response, http);
        // OpenID Connect Core 1.0, section 12.2
        if (claims.sub !== subject) throw this.#error("sent an identity token of somebody else");
        return true;
      } catch (error) {
        // of the other errors none says anything of the person (RFC 6749, section 5.2)
        if (error instanceof oauth.ResponseBodyError && error.error === "invalid_grant") {
          return false;
        }
        throw error;
      }
    });
  }

  /** Where a browser ends the provider's session as well (OpenID Connect RP-Initiated Logout 1.0); `undefined` if nowhere. */
  async logoutUrl(returnTo: string): Promise<URL | undefined> {
    const { end_session_endpoint: endpoint } = await this.#server();
    if (endpoint === undefined) return undefined;
    const url = this.#ways.read(endpoint);
    url.searchParams.set("client_id", this.settings.client);
    url.searchParams.set("post_logout_redirect_uri", returnTo);
    return url;
  }

  /**
   * Reads a token by which a provider says that somebody has signed out there (OpenID Connect Back-Channel Logout 1.0, section 2.6).
   *
   * @returns Whose sessions, or which one of the provider's, is over.
   * @throws {SignInError} If the token is not the provider's, is old, or is another one.
   */
  async readLogout(
    token: string,
  ): Promise<{ readonly subject: string | undefined; readonly session: string | undefined }> {
    const { jwks_uri: address } = await this.#server();
    if (address === undefined) throw this.#error("names no keys");
    const jose = await import("jose");
    this.#logoutKeys ??= jose.createRemoteJWKSet(new URL(address), {
      cooldownDuration: KEYS_COOLDOWN_MS,
      [jose.customFetch]: (url, { headers }) =>
        this.#ways.fetch(url, { headers: Object.fromEntries(new Headers(headers)) }),
    });
    try {
      const { payload } = await jose.jwtVerify(token, this.#logoutKeys, {
        issuer: this.settings.issuer,
        audience: this.settings.client,
        algorithms: [...ALGORITHMS],
        clockTolerance: SKEW_S,
        maxTokenAge: MAX_AGE_S,
        currentDate: new Date(this.#options.now()),
      });
      const { sub, sid, events, nonce } = payload;
      const isLogout = typeof events === "object" && events !== null && LOGOUT_EVENT in events;
      // without `nonce`: an identity token says nothing of signing out
      if (!isLogout || nonce !== undefined || sub === undefined && typeof sid !== "string") {
        throw this.#error("sent what is no logout token");
      }
      return { subject: sub, session: typeof sid === "string" ? sid : undefined };
    } catch (error) {
      if (error instanceof SignInError) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw this.#error(`sent a logout token that does not fit: ${why}`, { cause: error });
    }
  }

  /** What an identity token leaves out and the provider says when it is asked: the address or the groups. */
  async #more(
    oauth: typeof OAuth,
    server: OAuth.AuthorizationServer,
    claims: OAuth.IDToken,
    accessToken: string,
  ): Promise<Claims> {
    const { groups, groupsClaim } = this.settings;
    const wantsGroups = Object.keys(groups).length > 0 &&
      groupsOf(claims, groupsClaim) === undefined;
    if (server.userinfo_endpoint === undefined) return {};
    if (!wantsGroups && claims.email !== undefined) return {};
    const response = await oauth.userInfoRequest(
      server,
      this.#client,
      accessToken,
      this.#http(oauth),
    );
    return await oauth.processUserInfoResponse(server, this.#client, claims.sub, response);
  }

  #checkClaims(claims: OAuth.IDToken, accessToken: string): void {
    const nowS = this.#options.now() / 1_000;
    // what is not well-formed is stored as another subject
    if (claims.sub === "" || claims.sub.length > MAX_SUBJECT_CHARS || !claims.sub.isWellFormed()) {
      throw this.#error("sent an identity token of nobody");
    }
    if (claims.iat > nowS + SKEW_S) throw this.#error("sent an identity token of the future");
    if (claims.iat < nowS - MAX_AGE_S) throw this.#error("sent an old identity token");
    const { at_hash: hash } = claims;
    if (hash === undefined) return;
    // OpenID Connect Core 1.0, section 3.1.3.6: the left half of the digest that the signature uses
    const digests = ["sha256", "sha384", "sha512"].map((name) => halfDigest(name, accessToken));
    if (typeof hash !== "string" || !digests.includes(hash)) {
      throw this.#error("sent an access token that is not the identity token's (at_hash)");
    }
  }

  /** What the provider says of itself. */
  async #server(): Promise<OAuth.AuthorizationServer> {
    const nowMs = this.#options.now();
    if (this.#metadata !== undefined && nowMs - this.#metadata.atMs < METADATA_MS) {
      return this.#metadata.server;
    }
    const oauth = await library();
    const found = await this.#checked(oauth, async () => {
      const issuer = new URL(this.settings.issuer);
      const response = await oauth.discoveryRequest(issuer, this.#http(oauth));
      return await oauth.processDiscoveryResponse(issuer, response);
    });
    // the library takes addresses for the same that differ by a slash or by capitals: logout tokens and directories do not
    if (found.issuer !== this.settings.issuer) {
      throw this.#error(
        `calls itself ${displayed(found.issuer)}, and the settings have ${this.settings.issuer}: ` +
          "set issuer to what the document has, to the letter",
      );
    }
    const algorithms = found.id_token_signing_alg_values_supported ?? ["RS256"];
    const server: OAuth.AuthorizationServer = {
      ...found,
      id_token_signing_alg_values_supported: algorithms.filter((one) => ALGORITHMS.includes(one)),
    };
    // the library keeps the provider's keys with this object: for five minutes, and for one if a key is not among them
    this.#metadata = { server, atMs: nowMs };
    return server;
  }

  #authentication(oauth: typeof OAuth, server: OAuth.AuthorizationServer): OAuth.ClientAuth {
    const secret = this.settings.secret?.reveal();
    if (secret === undefined) return oauth.None();
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return methods.includes("client_secret_basic") || !methods.includes("client_secret_post")
      ? oauth.ClientSecretBasic(secret)
      : oauth.ClientSecretPost(secret);
  }

  /** The client, by whose clock tokens are checked. */
  #clientAt(oauth: typeof OAuth): OAuth.Client {
    return {
      ...this.#client,
      [oauth.clockSkew]: Math.round((this.#options.now() - Date.now()) / 1_000),
      [oauth.clockTolerance]: SKEW_S,
    };
  }

  #http(oauth: typeof OAuth) {
    return {
      [oauth.customFetch]: (url: string, init: OAuth.CustomFetchOptions<string, unknown>) =>
        this.#ways.fetch(url, init),
      [oauth.allowInsecureRequests]: this.#ways.isNear,
    };
  }

  /** Does something of the protocol, and says what failed in words that name the provider and no value. */
  async #checked<T>(oauth: typeof OAuth, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof SignInError) throw error;
      if (error instanceof WayError) throw this.#error(error.message, { cause: error });
      if (error instanceof oauth.AuthorizationResponseError) {
        throw this.#error(`refused: ${error.error}`, { cause: error });
      }
      if (error instanceof oauth.ResponseBodyError) {
        throw this.#error(`refused this gateway: ${error.error}`, { cause: error });
      }
      if (error instanceof oauth.OperationProcessingError) {
        throw this.#error(`sent what does not fit: ${error.message}`, { cause: error });
      }
      const message = "cannot be reached";
      throw this.#error(message, { cause: error, isDown: true });
    }
  }

  #error(what: string, options: ErrorOptions & { readonly isDown?: boolean } = {}): SignInError {
    return new SignInError(`The provider ${this.settings.name} ${what}`, options);
  }
}

/** The library of the protocol, which is loaded once it is needed. */
function library(): Promise<typeof OAuth> {
  return import("oauth4webapi");
}

const withRefreshToken = z.object({ refresh_token: z.string().min(1) });

/** The left half of a text's digest, as base64url. */
function halfDigest(name: string, text: string): string {
  const digest = createHash(name).update(text).digest();
  return digest.subarray(0, digest.length / 2).toString("base64url");
}
