import { Hono } from "@hono/hono";
import type { ContentfulStatusCode } from "@hono/hono/utils/http-status";
import {
  type Accounts,
  CLAUDE_CODE,
  DeviceCodes,
  ToolGrants,
  type ToolTokens,
} from "../../people/accounts/mod.ts";
import { type Database, DatabaseError } from "../../ground/database/mod.ts";
import { tidyName } from "../../ground/platform/mod.ts";
import { RateLimit } from "../../ground/rate_limits/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { MINUTE_MS } from "../../ground/time.ts";
import { BodyTooLong, readBounded, type Visitor } from "../../ground/web/mod.ts";
import { OAUTH, WELL_KNOWN } from "./oauth_path.ts";

/** Dependencies of {@linkcode OAuth}. */
export interface OAuthParts {
  readonly database: Database;
  readonly accounts: Pick<Accounts, "byId">;
  readonly sealKey: () => Promise<Uint8Array>;
  readonly now: () => number;
  readonly log: Log;
}

/** Errors of RFC 6749, section 5.2, and RFC 8628, section 3.5. */
type Fault =
  | "invalid_request"
  | "invalid_grant"
  | "unsupported_grant_type"
  | "authorization_pending"
  | "slow_down"
  | "access_denied"
  | "expired_token"
  | "temporarily_unavailable"
  | "server_error";

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const MAX_FORM_BYTES = 16 * 1_024;
const FORM_MS = 10_000;
const MAX_CLIENT_CHARS = 60;
const RETRY_SECONDS = "5";
/** Tokens and codes that are wrong, from one address and from all. */
const GUESSES = { limit: 30, windowMs: 10 * MINUTE_MS };
const GUESSES_OF_ALL = { limit: 3_000, windowMs: 10 * MINUTE_MS };
const ALL = "";

/** What some tools call themselves, by what they send. */
const KNOWN_CLIENTS: Readonly<Record<string, string>> = {
  claude_code: CLAUDE_CODE,
  codex: "Codex",
};

/** A reply that says why a tool gets no tokens. */
class OAuthError extends Error {
  readonly fault: Fault;
  readonly status: ContentfulStatusCode;

  constructor(
    fault: Fault,
    message: string,
    status: ContentfulStatusCode = STATUS_CODE.BadRequest,
  ) {
    super(message);
    this.fault = fault;
    this.status = status;
  }
}

interface Env {
  Bindings: { readonly visitor: Visitor; readonly base: string };
}

/**
 * The authorization server by which tools sign in: device codes (RFC 8628), refresh (RFC 6749) and revocation (RFC 7009) for public
 * clients. Fields and headers that it does not know are no reason to refuse.
 */
export class OAuth {
  readonly #parts: OAuthParts;
  readonly #codes: DeviceCodes;
  readonly #grants: ToolGrants;
  readonly #guesses: RateLimit;
  readonly #guessesOfAll: RateLimit;
  readonly #hono: Hono<Env>;

  constructor(parts: OAuthParts) {
    const { database, sealKey: key, now } = parts;
    this.#parts = parts;
    this.#codes = new DeviceCodes(database, now);
    this.#grants = new ToolGrants({ database, key, now });
    this.#guesses = new RateLimit({ ...GUESSES, now });
    this.#guessesOfAll = new RateLimit({ ...GUESSES_OF_ALL, now });
    this.#hono = this.#routes();
  }

  /**
   * Handles a request.
   *
   * @param visitor Who asks.
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
        device_authorization_endpoint: `${base}${OAUTH.device}`,
        token_endpoint: `${base}${OAUTH.token}`,
        revocation_endpoint: `${base}${OAUTH.revoke}`,
        token_endpoint_auth_methods_supported: ["none"],
        revocation_endpoint_auth_methods_supported: ["none"],
        grant_types_supported: [DEVICE_GRANT, "refresh_token"],
        response_types_supported: [],
        scopes_supported: ["inference"],
      }));
    app.get(WELL_KNOWN.resource, ({ json, env: { base } }) =>
      json({
        resource: base,
        authorization_servers: [base],
        scopes_supported: ["inference"],
        bearer_methods_supported: ["header"],
      }));
    app.post(OAUTH.device, async ({ req, env, json }) => {
      const form = await formOf(req.raw);
      const code = await this.#codes.begin(clientOf(form), env.visitor.address);
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
      this.#checkGuesses(address);
      switch (form.get("grant_type")) {
        case DEVICE_GRANT:
          return json(await this.#approved(required(form, "device_code"), address));
        case "refresh_token":
          return json(await this.#refreshed(required(form, "refresh_token"), address));
        default:
          throw new OAuthError(
            "unsupported_grant_type",
            `Unknown grant_type: send ${DEVICE_GRANT} or refresh_token.`,
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
    const polled = await this.#codes.askedFor(code);
    if (typeof polled === "string") {
      if (polled === "expired_token") this.#guessed(address);
      throw new OAuthError(polled, POLLED[polled]);
    }
    const account = await this.#parts.accounts.byId(polled.accountId);
    if (account === undefined || account.disabledAtMs !== null) {
      throw new OAuthError("access_denied", "The account that approved this tool is disabled.");
    }
    try {
      return reply(await this.#grants.issue(account, polled.client, polled.use), account.email);
    } catch (error) {
      // the transaction fails where the code was used meanwhile
      if (
        !(error instanceof DatabaseError) || await this.#codes.askedFor(code) !== "expired_token"
      ) {
        throw error;
      }
      throw new OAuthError("expired_token", POLLED.expired_token);
    }
  }

  async #refreshed(token: string, address: string) {
    const refreshed = await this.#grants.refresh(token);
    if (typeof refreshed !== "string") return reply(refreshed);
    if (refreshed === "unknown") this.#guessed(address);
    else {this.#parts.log.warn("a tool was signed out: an old refresh token of it was used", {
        address,
      });}
    // 401: Claude Code signs in again then (RFC 6749 would have 400)
    throw new OAuthError(
      "invalid_grant",
      "This tool is signed out: sign in again.",
      STATUS_CODE.Unauthorized,
    );
  }

  #checkGuesses(address: string): void {
    if (this.#guesses.waitMs(address) === 0 && this.#guessesOfAll.waitMs(ALL) === 0) return;
    throw new OAuthError(
      "temporarily_unavailable",
      "Too many wrong tokens and codes: try again later.",
      STATUS_CODE.TooManyRequests,
    );
  }

  #guessed(address: string): void {
    this.#guesses.add(address);
    this.#guessesOfAll.add(ALL);
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
    this.#parts.log.error("sign-in of a tool failed", { error: error.stack ?? error.message });
    return new OAuthError(
      "server_error",
      "An internal error occurred.",
      STATUS_CODE.InternalServerError,
    );
  }
}

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
  try {
    const bytes = await readBounded(request, { maxBytes: MAX_FORM_BYTES, maxMs: FORM_MS });
    return new URLSearchParams(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new OAuthError(
      "invalid_request",
      error instanceof BodyTooLong
        ? `The form is larger than ${MAX_FORM_BYTES} bytes.`
        : "The form was not received in full.",
    );
  }
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
