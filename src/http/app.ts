import { type Context, Hono } from "@hono/hono";
import { cors } from "@hono/hono/cors";
import { type KeyRing, randomText } from "../accounts/mod.ts";
import type { Catalog } from "../catalog/mod.ts";
import { type Database, databaseRefusal } from "../database/mod.ts";
import { chatDialect, type Dialect } from "../dialects/mod.ts";
import { asRefusal, Refusal } from "../refusal.ts";
import { relay, type RelayParts } from "../relay/mod.ts";
import type { Upstreams } from "../upstreams/mod.ts";
import { errorAnswer, idHeaders } from "./answer.ts";
import { type BodyLimits, readJson } from "./body.ts";
import { hasSaneHost, presentedKeys } from "./guard.ts";
import { modelInfo, modelList } from "./models.ts";

/** What the door leads to. */
export interface AppParts extends RelayParts {
  readonly keyRing: KeyRing;
  readonly catalog: Catalog;
  readonly database: Database;
  readonly upstreams: Upstreams;
}

/** How the door behaves. */
export interface AppOptions {
  readonly bodyLimits: BodyLimits;
  /** Browser origins served below `/v1` and `/user`; `*` for any. */
  readonly corsOrigins: readonly string[];
}

/** What a request carries through the door. */
interface Env {
  Variables: { requestId: string };
}

/** Headers that browsers may read. */
const EXPOSED = [
  "X-Request-Id",
  "request-id",
  "X-Credits-Remaining",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "Retry-After",
  "x-should-retry",
  "X-Sluice-Upstream",
  "X-Sluice-Credits",
  "X-Sluice-Ignored",
  "X-Sluice-Simulated",
];

/** A write that commits: a database that only reads is not ready. */
const PROBE = `insert into revisions (noun, number) values ('probe', 1)
  on conflict (noun) do update set number = number + 1`;

/** The gateway as one function from request to response. */
export class App {
  readonly #parts: AppParts;
  readonly #options: AppOptions;
  readonly #hono: Hono<Env>;
  #stopping = false;

  constructor(parts: AppParts, options: AppOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#hono = this.#routes();
  }

  /** From now on new requests are refused; running ones go on. */
  stopTaking(): void {
    this.#stopping = true;
  }

  /** Answers one request; never rejects. */
  readonly fetch = (request: Request): Response | Promise<Response> => {
    if (!hasSaneHost(request)) {
      const refusal = new Refusal(
        "request_invalid",
        "The Host header must be a host name with an optional port.",
      );
      return errorAnswer("", refusal, newRequestId());
    }
    return this.#hono.fetch(request);
  };

  #routes(): Hono<Env> {
    const app = new Hono<Env>();
    const origins = this.#options.corsOrigins;
    const crossOrigin = cors({
      origin: origins.includes("*") ? "*" : [...origins],
      allowMethods: ["GET", "POST", "OPTIONS"],
      exposeHeaders: EXPOSED,
      maxAge: 600,
    });

    app.use(async function requestId(c, next) {
      c.set("requestId", newRequestId());
      await next();
    });
    for (const path of ["/v1/*", "/user/*"]) {
      app.use(path, crossOrigin);
      app.use(path, this.#refuseWhenStopping);
    }

    app.post("/v1/chat/completions", (c) => this.#relay(c, chatDialect));
    app.get("/v1/models", (c) => {
      const withAliases = c.req.header("anthropic-version") !== undefined;
      return c.json(
        modelList(this.#parts.catalog, { withAliases }),
        200,
        idHeaders(c.var.requestId),
      );
    });
    app.get("/v1/models/:id{.+}", (c) => {
      const id = c.req.param("id");
      const route = this.#parts.catalog.resolve(id);
      return c.json(modelInfo(id, route), 200, idHeaders(c.var.requestId));
    });
    app.get("/healthz", (c) => c.json({ status: "ok" }));
    app.get("/readyz", (c) => this.#ready(c));

    app.notFound((c) => {
      const message = `There is no endpoint ${c.req.method} ${c.req.path.slice(0, 200)}.`;
      return errorAnswer(c.req.path, new Refusal("path_unknown", message), c.var.requestId);
    });
    app.onError((error, c) => this.#answerError(error, c));
    return app;
  }

  readonly #refuseWhenStopping = async (_c: Context<Env>, next: () => Promise<void>) => {
    if (this.#stopping) {
      throw new Refusal("gateway_unavailable", "The gateway is stopping. Please try again.", {
        retryAfterMs: 2_000,
      });
    }
    await next();
  };

  async #relay(c: Context<Env>, dialect: Dialect): Promise<Response> {
    const startedTick = performance.now();
    const request = c.req.raw;
    const requestId = c.var.requestId;
    // Reading the signal makes the platform watch the connection from now on.
    const signal = request.signal;
    const caller = await this.#parts.keyRing.identify(presentedKeys(request.headers));
    const body = await readJson(request, this.#options.bodyLimits);
    const reply = await relay(this.#parts, {
      dialect,
      caller,
      body,
      requestId,
      signal,
      startedTick,
    });
    const streamed = typeof reply.body !== "string";
    return new Response(reply.body, {
      headers: {
        "content-type": streamed ? "text/event-stream; charset=utf-8" : "application/json",
        ...(streamed
          ? { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" }
          : {}),
        ...idHeaders(requestId),
        ...reply.headers,
      },
    });
  }

  async #ready(c: Context<Env>): Promise<Response> {
    const faults: string[] = [];
    if (this.#stopping) faults.push("the gateway is stopping");
    if (!this.#parts.upstreams.usable) faults.push("no upstream is usable");
    try {
      await this.#parts.database.batch([{ sql: PROBE }]);
    } catch {
      faults.push("the database is not writable");
    }
    return faults.length === 0
      ? c.json({ status: "ready" })
      : c.json({ status: "not ready", faults }, 503, { "retry-after": "2" });
  }

  #answerError(error: Error, c: Context<Env>): Response {
    const refusal = asRefusal(databaseRefusal(error));
    const requestId = c.var.requestId;
    if (refusal.status >= 500 && refusal.reason !== "upstream_unavailable") {
      this.#parts.log.error("request failed", {
        id: requestId,
        path: c.req.path,
        error: describe(refusal.cause ?? refusal),
      });
    } else {
      this.#parts.log.debug("request refused", {
        id: requestId,
        path: c.req.path,
        status: refusal.status,
        reason: refusal.reason,
      });
    }
    return errorAnswer(c.req.path, refusal, requestId);
  }
}

function newRequestId(): string {
  return `req_${randomText(24)}`;
}

/** Our own faults are logged whole; their messages hold no keys or prompts. */
function describe(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}
