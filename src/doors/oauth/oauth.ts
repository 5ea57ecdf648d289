import { Hono } from "@hono/hono";
import {
  AccountError,
  type Accounts,
  CLAUDE_CODE,
  DeviceCodes,
  type GrantOptions,
  ToolCodes,
  ToolGrants,
  type ToolTokens,
} from "../../people/accounts/mod.ts";
import { providerWays } from "../../operating/provisioning/mod.ts";
import { Providers, Vouchers } from "../../people/sign_in/mod.ts";
import type { Settings } from "../../settings/config/mod.ts";
import { type Database, DatabaseError } from "../../ground/database/mod.ts";
import { tidyName } from "../../ground/platform/mod.ts";
import { RateLimit } from "../../ground/rate_limits/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { MINUTE_MS } from "../../ground/time.ts";
import { readText, type Visitor } from "../../ground/web/mod.ts";
import { AUTHORIZE_FIELDS, AuthorizeError, readAuthorizeRequest } from "./authorize_request.ts";
import { OAUTH, WELL_KNOWN } from "./oauth_path.ts";
import { OAuthError } from "./oauth_error.ts";
import { WorkloadExchange, type WorkloadParts } from "./workload_exchange.ts";

/** Dependencies of {@linkcode OAuth}. */
export interface OAuthParts extends WorkloadParts {
  readonly database: Database;
  readonly accounts: Pick<Accounts, "byId" | "find">;
  readonly settings: Pick<Settings, "signIn" | "proxies">;
  readonly log: Log;
}

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const MAX_FORM_BYTES = 16 * 1_024;
const FORM_MS = 10_000;
const MAX_CLIENT_CHARS = 60;
const RETRY_SECONDS = "5";
/**
 * Tokens and codes that are wrong, from one address and from all. Beyond that, only wrong ones are refused: the right one of a tool, which
 * nobody guesses (240 bits and more), is not kept out by others at its address or anywhere.
 */
const GUESSES = { limit: 30, windowMs: 10 * MINUTE_MS };
const GUESSES_OF_ALL = { limit: 3_000, windowMs: 10 * MINUTE_MS };
const ALL = "";

/** What some tools call themselves, by what they send. */
const KNOWN_CLIENTS: Readonly<Record<string, string>> = {
  claude_code: CLAUDE_CODE,
  codex: "Codex",
};

interface Env {
  Bindings: { readonly visitor: Visitor; readonly base: string };
}

/**
 * The authorization server by which tools sign in: codes with PKCE (RFC 6749, RFC 7636), device codes (RFC 8628), refresh, and
 * revocation (RFC 7009) for public clients; tokens of workloads are exchanged (RFC 8693). Fields and headers that it does not know are no
 * reason to refuse.
 */
export class OAuth {
  readonly #parts: OAuthParts;
  readonly #devices: DeviceCodes;
  readonly #codes: ToolCodes;
  readonly #grants: ToolGrants;
  readonly #workloads: WorkloadExchange;
  readonly #guesses: RateLimit;
  readonly #guessesOfAll: RateLimit;
  readonly #hono: Hono<Env>;

  constructor(parts: OAuthParts) {
    const { database, sealKey, now, settings } = parts;
    this.#parts = parts;
    this.#devices = new DeviceCodes(database, now);
    this.#codes = new ToolCodes(database, now);
    const providers = new Providers({ settings: () => settings, waysOf: providerWays, now });
    const providerOf = (name: string) => providers.find(name);
    const vouchers = new Vouchers({ database, sealKey, now, providerOf });
    this.#grants = new ToolGrants({
      database,
      key: sealKey,
      now,
      vouches: (...of) => vouchers.vouches(...of),
    });
    this.#workloads = new WorkloadExchange(parts);
    this.#guesses = new RateLimit({ ...GUESSES, now });
    this.#guessesOfAll = new RateLimit({ ...GUESSES_OF_ALL, now });
    this.#hono = this.#routes();
  }

  /**
   * Handles a request.
   *
   * @param visitor The caller.
   * @param base Address of the gateway as the tool knows it, with the path of the public URL.
   */
  async fetch(request: Request, { visitor, base }: Env["Bindings"]): Promise<Response> {
    return await this.#hono.fetch(request, { visitor, base });
  }

  #routes(): Hono<Env> {
    const app = new Hono<Env>({ strict: false });
    app.use(async (c, next) => {
      await next();
      c.header("cache-control", "no-store");
    });
    app.get(WELL_KNOWN.server, ({ json, env: { base } }) =>
      json({
        issuer: base,
        authorization_endpoint: `${base}${OAUTH.authorize}`,
        device_authorization_endpoint: `${base}${OAUTH.device}`,
        token_endpoint: `${base}${OAUTH.token}`,
        revocation_endpoint: `${base}${OAUTH.revoke}`,
        token_endpoint_auth_methods_supported: ["none"],
        revocation_endpoint_auth_methods_supported: ["none"],
        grant_types_supported: [
          "authorization_code",
          DEVICE_GRANT,
          "refresh_token",
          ...(this.#workloads.isOn ? [EXCHANGE_GRANT] : []),
        ],
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        scopes_supported: ["inference"],
      }));
    app.get(WELL_KNOWN.resource, ({ json, env: { base } }) =>
      json({
        resource: base,
        authorization_servers: [base],
        scopes_supported: ["inference"],
        bearer_methods_supported: ["header"],
      }));
    app.get(OAUTH.authorize, ({ req, env: { base }, redirect, text }) => {
      const sent = new URL(req.url).searchParams;
      try {
        const clients = this.#parts.settings.signIn?.clients ?? [];
        readAuthorizeRequest(sent, { issuer: base, clients });
      } catch (error) {
        if (!(error instanceof AuthorizeError)) throw error;
        if (error.answer === undefined) return text(error.message, STATUS_CODE.BadRequest);
        return redirect(error.answer.href, STATUS_CODE.SeeOther);
      }
      // somebody who is signed in decides, in the console
      const kept = AUTHORIZE_FIELDS.flatMap((name) =>
        sent.has(name) ? [[name, sent.get(name)!]] : []
      );
      const page = `${base}/console/authorize?${new URLSearchParams(kept)}`;
      return redirect(page, STATUS_CODE.SeeOther);
    });
    app.post(OAUTH.device, async ({ req, env, json }) => {
      const form = await formOf(req.raw);
      const code = await this.#devices.begin(clientOf(form), env.visitor.address);
      if (code === undefined) {
        throw new OAuthError(
          "temporarily_unavailable",
          "Too many tools wait to be approved: try again in some minutes.",
          STATUS_CODE.TooManyRequests,
        );
      }
      const page = `${env.base}/console/device`;
      return json({
        device_code: code.deviceCode,
        user_code: code.userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?code=${code.userCode}`,
        expires_in: code.forMs / 1_000,
        interval: code.intervalMs / 1_000,
      });
    });
    app.post(OAUTH.token, async ({ req, env, json }) => {
      const form = await formOf(req.raw);
      const { address } = env.visitor;
      switch (form.get("grant_type")) {
        case "authorization_code":
          return json(await this.#redeemed(form, address));
        case DEVICE_GRANT:
          return json(await this.#approved(required(form, "device_code"), address));
        case "refresh_token":
          return json(await this.#refreshed(required(form, "refresh_token"), address));
        case EXCHANGE_GRANT:
          return json(await this.#workloads.exchange(form, address, () => this.#guessed(address)));
        default:
          throw new OAuthError(
            "unsupported_grant_type",
            `Unknown grant_type: send authorization_code, ${DEVICE_GRANT} or refresh_token.`,
          );
      }
    });
    app.post(OAUTH.revoke, async ({ req, json }) => {
      await this.#grants.revoke(required(await formOf(req.raw), "token"));
      return json({});
    });
    app.notFound(({ json }) => json({ error: "not_found" }, STATUS_CODE.NotFound));
    app.onError((error, { json }) => {
      const { fault, message, status } = this.#faultOf(error);
      return json({ error: fault, error_description: message }, status, {
        ...(status === STATUS_CODE.ServiceUnavailable || status === STATUS_CODE.TooManyRequests
          ? { "retry-after": RETRY_SECONDS }
          : {}),
      });
    });
    return app;
  }

  async #approved(code: string, address: string) {
    const polled = await this.#devices.askedFor(code);
    if (typeof polled === "string") {
      if (polled === "expired_token") this.#guessed(address);
      throw new OAuthError(polled, POLLED[polled]);
    }
    const isUsed = async () => await this.#devices.askedFor(code) === "expired_token";
    const issued = await this.#issued(polled, isUsed);
    if (issued === undefined) throw new OAuthError("expired_token", POLLED.expired_token);
    return issued;
  }

  async #redeemed(form: URLSearchParams, address: string) {
    const code = required(form, "code");
    const proof = {
      clientId: required(form, "client_id"),
      redirectUri: required(form, "redirect_uri"),
      verifier: required(form, "code_verifier"),
    };
    const isUsed = async () => {
      const again = await this.#codes.redeem(code, proof);
      return again === "unknown" || "usedBy" in again;
    };
    const redeemed = await this.#codes.redeem(code, proof);
    if (redeemed !== "unknown" && !("usedBy" in redeemed)) {
      const issued = await this.#issued(redeemed, isUsed);
      if (issued !== undefined) return issued;
    }
    // RFC 6749, section 4.1.2: what was given for it ends
    const used = await this.#codes.redeem(code, proof);
    if (used !== "unknown" && "usedBy" in used) {
      await this.#grants.end(used.usedBy);
      this.#parts.log.warn("a tool was signed out: its code was used again", { address });
    }
    this.#guessed(address);
    throw new OAuthError("invalid_grant", "The code has expired, was used, or is unknown.");
  }

  /** Signs a tool in. @returns `undefined` if its code was used meanwhile. */
  async #issued(
    { accountId, client, grant }: {
      readonly accountId: string;
      readonly client: string;
      readonly grant: GrantOptions;
    },
    isUsed: () => Promise<boolean>,
  ) {
    const account = await this.#parts.accounts.byId(accountId);
    if (account === undefined || account.disabledAtMs !== null) {
      throw new OAuthError("access_denied", "The account that approved this tool is disabled.");
    }
    try {
      return reply(await this.#grants.issue(account, client, grant), account.email);
    } catch (error) {
      // the transaction fails where the code was used meanwhile
      if (!(error instanceof DatabaseError) || !await isUsed()) throw error;
      return undefined;
    }
  }

  async #refreshed(token: string, address: string) {
    const refreshed = await this.#grants.refresh(token);
    if (typeof refreshed !== "string") return reply(refreshed);
    if (refreshed === "unknown") this.#guessed(address);
    else this.#parts.log.warn(`a tool was signed out: ${SIGNED_OUT[refreshed]}`, { address });
    // 401: Claude Code signs in again then (RFC 6749 would have 400)
    throw new OAuthError(
      "invalid_grant",
      "This tool is signed out: sign in again.",
      STATUS_CODE.Unauthorized,
    );
  }

  /** Counts a token or code that is wrong. @throws {OAuthError} If there were too many. */
  #guessed(address: string): void {
    const isBounded = this.#guesses.waitMs(address) > 0 || this.#guessesOfAll.waitMs(ALL) > 0;
    this.#guesses.add(address);
    this.#guessesOfAll.add(ALL);
    if (!isBounded) return;
    throw new OAuthError(
      "temporarily_unavailable",
      "Too many wrong tokens and codes: try again later.",
      STATUS_CODE.TooManyRequests,
    );
  }

  #faultOf(error: Error): OAuthError {
    if (error instanceof OAuthError) return error;
    if (error instanceof DatabaseError) {
      // never "your token is wrong": tools would forget it
      return new OAuthError(
        "temporarily_unavailable",
        "The gateway cannot look up tokens just now: try again.",
        STATUS_CODE.ServiceUnavailable,
      );
    }
    if (error instanceof AccountError) {
      return new OAuthError("access_denied", `${error.message}.`);
    }
    this.#parts.log.error("sign-in of a tool failed", { error: error.stack ?? error.message });
    return new OAuthError(
      "server_error",
      "An internal error occurred.",
      STATUS_CODE.InternalServerError,
    );
  }
}

const SIGNED_OUT = {
  reused: "an old refresh token of it was used",
  refused: "the provider no longer vouches for the person who approved it",
} as const;

const POLLED = {
  authorization_pending: "The tool is not approved yet.",
  slow_down: "The tool asks too often: wait for five seconds more between questions.",
  access_denied: "The tool was denied.",
  expired_token: "The code has expired, was used, or is unknown: begin again.",
} as const;

function reply({ accessToken, refreshToken, forMs }: ToolTokens, email?: string) {
  return {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: forMs / 1_000,
    refresh_token: refreshToken,
    scope: "inference",
    ...(email === undefined ? {} : { email }),
  };
}

async function formOf(request: Request): Promise<URLSearchParams> {
  const bounds = { maxBytes: MAX_FORM_BYTES, maxMs: FORM_MS };
  const text = await readText(request, bounds, (isTooLong) =>
    new OAuthError(
      "invalid_request",
      isTooLong
        ? `The form is larger than ${MAX_FORM_BYTES} bytes.`
        : "The form was not received in full.",
    ));
  return new URLSearchParams(text);
}

function required(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value === null || value === "") throw new OAuthError("invalid_request", `Send ${name}.`);
  return value;
}

/** What a tool is called where it is approved and listed: by what it says of itself, which may be anything. */
function clientOf(form: URLSearchParams): string {
  const [surface = "", id = ""] = [form.get("surface") ?? "", form.get("client_id") ?? ""];
  const known = KNOWN_CLIENTS[surface] ?? KNOWN_CLIENTS[id.replaceAll("-", "_")];
  return known ?? (tidyName(id.replace(/[^\w .()-]/g, "")).slice(0, MAX_CLIENT_CHARS) || "A tool");
}
