import { type Context, Hono } from "@hono/hono";
import type { KeyRing } from "../../people/accounts/mod.ts";
import { type ReadFor, refusalOf } from "../../ground/database/mod.ts";
import { DIALECTS } from "../../wire/dialects/mod.ts";
import {
  asOperationError,
  type By,
  keyActor,
  OperationError,
  type StoredReply,
} from "../../people/operation_log/mod.ts";
import {
  errorBody,
  type Operation,
  type OperationParts,
  OPERATIONS,
  perform,
  performCsv,
  performOnce,
  performRead,
  type ReadOperation,
} from "../../operating/operations/mod.ts";
import type { RateLimit } from "../../ground/rate_limits/mod.ts";
import { invalid } from "../../ground/refusal.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { readText, textStream, TrustedProxies, visitorOf } from "../../ground/web/mod.ts";
import { jsonIn } from "../../ground/platform/mod.ts";
import { ADMIN_BASE } from "./admin_path.ts";
import { keyFor } from "./key_for.ts";
import { pathOf } from "./request_line.ts";

/** Dependencies of {@linkcode Admin}. */
export interface AdminParts {
  readonly operations: Omit<OperationParts, "address">;
  readonly readFor: ReadFor;
  readonly keyRing: KeyRing;
  /** Requests of each account per minute. */
  readonly rate: RateLimit;
  readonly log: Log;
}

const MAX_BODY_BYTES = 256 * 1_024;
const BODY_MS = 10_000;
/** 1 to 255 printable characters. */
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;
interface Env {
  Bindings: { readonly peer: string };
}

/** The operator's HTTP API: its routes are made from the definitions of operations. */
export class Admin {
  readonly #parts: AdminParts;
  readonly #trusted: TrustedProxies;
  readonly #hono: Hono<Env>;

  constructor(parts: AdminParts) {
    this.#parts = parts;
    this.#trusted = new TrustedProxies(parts.operations.config.settings.trustedProxies);
    this.#hono = this.#routes();
  }

  /**
   * Handles a request. Never rejects: errors become responses.
   *
   * @param peer IP address of the other end of the connection.
   */
  async fetch(request: Request, peer: string): Promise<Response> {
    return await this.#hono.fetch(request, { peer });
  }

  #routes(): Hono<Env> {
    const app = new Hono<Env>({ getPath: ({ url }) => pathOf(url) });
    for (const operation of OPERATIONS) {
      app.on(operation.method, routeOf(operation), (c) => this.#respond(c, operation));
    }
    app.notFound((c) => {
      const { method } = c.req;
      const path = pathOf(c.req.url).slice(0, 200);
      return errorReply(
        new OperationError("not_found", `Unknown endpoint ${method} ${path}. See /openapi.json.`),
      );
    });
    app.onError((error) => this.#fail(error));
    return app;
  }

  async #respond(c: Context<Env>, operation: Operation): Promise<Response> {
    const request = c.req.raw;
    const by = await this.#identify(c, operation);
    const { origin } = visitorOf(request, c.env.peer, this.#trusted);
    const { publicUrl } = this.#parts.operations.config.settings;
    const parts: OperationParts = {
      ...this.#parts.operations,
      address: () => Promise.resolve(publicUrl ?? origin),
    };
    const params = c.req.param() as Record<string, string>;
    if (operation.kind === "read") {
      const { readFor } = this.#parts;
      const query = merged(queryOf(request.url), params);
      return await readFor(
        by.actor.account?.id ?? "",
        () => readReply(parts, by, operation, query),
      );
    }
    const key = request.headers.get("idempotency-key");
    if (key !== null && !IDEMPOTENCY_KEY.test(key)) {
      throw new OperationError(
        "invalid_request",
        "Invalid Idempotency-Key: it must be 1 to 255 printable ASCII characters.",
        { param: "Idempotency-Key" },
      );
    }
    const input = merged(await bodyOf(request), params);
    if (key !== null) return stored(await performOnce(parts, by, operation, { input, key }));
    return Response.json(await perform(parts, by, operation, input), { status: operation.status });
  }

  async #identify(c: Context<Env>, { scopes }: Operation): Promise<By> {
    const { keyRing, rate, operations: { accounts, keys } } = this.#parts;
    const request = c.req.raw;
    const { account, key } = await keyFor(request, { scopes, keyRing, rate, accounts, keys });
    const { address } = visitorOf(request, c.env.peer, this.#trusted);
    return { actor: keyActor(account, key.id), origin: { door: "api", address } };
  }

  #fail(error: Error): Response {
    const failure = asOperationError(error);
    const { log } = this.#parts;
    if (failure !== undefined) {
      log.info("admin request refused", { status: failure.status, reason: failure.code });
      return errorReply(failure);
    }
    const refusal = refusalOf(error);
    if (refusal.cause !== undefined) {
      log.error("admin request failed", {
        error: error.stack ?? error.message,
        status: refusal.status,
      });
    } else {
      log.info("admin request refused", { status: refusal.status, reason: refusal.reason });
    }
    const headers: Record<string, string> = { "cache-control": "no-store" };
    if (refusal.retryAfterMs !== undefined) {
      headers["retry-after"] = String(Math.max(1, Math.ceil(refusal.retryAfterMs / 1_000)));
    }
    if (!refusal.retryable) headers["x-should-retry"] = "false";
    const body = DIALECTS.chat.front.errorBody(refusal, "");
    return Response.json(body, { status: refusal.status, headers });
  }
}

/** The pattern of an operation's path for the router. */
export function routeOf({ path }: Pick<Operation, "path">): string {
  return `${ADMIN_BASE}${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
}

/** The reply of a read: JSON, or CSV where the operation has that and it is asked for. */
async function readReply(
  parts: OperationParts,
  by: By,
  operation: ReadOperation,
  query: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const { csv: kind, ...input } = query;
  if (operation.csv.size === 0 || kind === undefined) {
    return Response.json(await performRead(parts, by, operation, query));
  }
  const text = await performCsv(parts, by, operation, { input, kind: String(kind) });
  return new Response(typeof text === "string" ? text : textStream(text), {
    headers: { "content-type": "text/csv; charset=utf-8" },
  });
}

function stored({ status, body }: StoredReply): Response {
  return new Response(body, {
    status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      ...(status >= 400 ? { "x-should-retry": "false" } : {}),
    },
  });
}

function errorReply(failure: OperationError): Response {
  const headers: Record<string, string> = { "cache-control": "no-store" };
  if (failure.retryAfterMs === undefined) headers["x-should-retry"] = "false";
  else headers["retry-after"] = String(Math.ceil(failure.retryAfterMs / 1_000));
  return Response.json(errorBody(failure), { status: failure.status, headers });
}

/** Parameters of the path are not sent a second time. */
function merged(
  given: Readonly<Record<string, unknown>>,
  params: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  for (const name of Object.keys(params)) {
    if (Object.hasOwn(given, name)) {
      throw new OperationError("invalid_request", `${name} is part of the path: omit it here.`, {
        param: name,
      });
    }
  }
  return { ...given, ...params };
}

function queryOf(url: string): Readonly<Record<string, string>> {
  const query = new URL(url).searchParams;
  const names = [...query.keys()];
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  if (repeated !== undefined) {
    throw new OperationError("invalid_request", `${repeated.slice(0, 100)} was sent twice.`, {
      param: repeated.slice(0, 100),
    });
  }
  return Object.fromEntries(query);
}

/** Reads a body within bounds; none is an empty object. */
async function bodyOf(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw invalid(undefined, "Compressed request bodies are not supported.");
  }
  const bounds = { maxBytes: MAX_BODY_BYTES, maxMs: BODY_MS };
  const text = await readText(request, bounds, (isTooLong) =>
    invalid(
      undefined,
      isTooLong
        ? `Request body too large: the limit is ${MAX_BODY_BYTES / 1_024} KiB.`
        : "The request body was not received in full.",
    ));
  if (text.trim() === "") return {};
  const body = jsonIn(text);
  if (body === undefined) throw invalid(undefined, "Request body is not valid JSON.");
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw invalid(undefined, "Request body must be a JSON object.");
  }
  return { ...body };
}
