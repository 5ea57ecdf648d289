import { type Context, Hono } from "@hono/hono";
import { AccountDisabled, type Caller, type KeyRing } from "../accounts/mod.ts";
import { databaseRefusal } from "../database/mod.ts";
import {
  chatDialect,
  type Dialect,
  messagesDialect,
  readAside,
  readCount,
} from "../dialects/mod.ts";
import type { FairShare, Share } from "../fair_share/mod.ts";
import type { JsonBody } from "../blobs/mod.ts";
import { newRequestId } from "../ids.ts";
import { asRefusal, Refusal } from "../refusal.ts";
import { relay, type RelayParts, type RelayReply } from "../relay/mod.ts";
import type { Tracing } from "../telemetry/mod.ts";
import type { Upstreams } from "../upstreams/mod.ts";
import { type AnswerBase, errorAnswer, standingHeaders } from "./answer.ts";
import { type BodyLimits, readJson, skipBody } from "./body.ts";
import type { Connections } from "./connections.ts";
import { creditUsage } from "./credits.ts";
import { crossOriginHeaders, preflight } from "./cross_origin.ts";
import { hasSaneHost, presentedKeys, sameSecret } from "./guard.ts";
import { watchLeaving } from "./leaving.ts";
import { MinuteQuota } from "./minute_quota.ts";
import { modelInfo, modelList } from "./models.ts";
import { openApiDocument } from "./openapi/document.ts";
import {
  apiVersions,
  clientRequestIdOf,
  isApiPath,
  isConsolePath,
  pathOf,
} from "./request_line.ts";

/** Dependencies of {@linkcode App}. */
export interface AppParts extends RelayParts {
  readonly keyRing: KeyRing;
  readonly upstreams: Upstreams;
  /** Handler of the console's pages. */
  readonly pages: Pages;
}

/** Handler of pages for browsers. */
export interface Pages {
  fetch(request: Request, peer: string): Promise<Response>;
}

/** Limits and settings of {@linkcode App}. */
export interface AppOptions {
  readonly bodyLimits: BodyLimits;
  /** Max `count_tokens` requests per key and minute. */
  readonly countsPerMinute: number;
  /** Max bytes of rejected bodies and of `count_tokens` per key and minute. */
  readonly unbilledBytesPerMinute: number;
  /** Pools of in-flight requests, shared by accounts and by keys. */
  readonly openRequests: { readonly accounts: FairShare; readonly keys: FairShare };
  readonly connections: Connections;
  /** Token required for `/metrics`; `undefined` for none. */
  readonly metricsToken: string | undefined;
  readonly tracing: Tracing;
  /** Browser origins allowed below `/v1` and `/user`; `*` allows any. */
  readonly corsOrigins: readonly string[];
}

/** Context of a request. */
interface Env {
  Bindings: AnswerBase;
}

/** A write, since a read-only database is not ready. */
const PROBE = `insert into revisions (noun, number) values ('probe', 1)
  on conflict (noun) do update set number = number + 1`;

/** Handles HTTP requests of the API, the console and the operator's endpoints. */
export class App {
  readonly #parts: AppParts;
  readonly #options: AppOptions;
  readonly #hono: Hono<Env>;
  readonly #counts: MinuteQuota;
  readonly #unbilledBytes: MinuteQuota;
  #stopping = false;

  constructor(parts: AppParts, options: AppOptions) {
    this.#parts = parts;
    this.#options = options;
    const { now } = parts;
    this.#counts = new MinuteQuota({
      limit: options.countsPerMinute,
      units: "count_tokens requests",
      now,
    });
    this.#unbilledBytes = new MinuteQuota({
      limit: options.unbilledBytesPerMinute,
      units: "bytes in rejected and count_tokens requests",
      now,
    });
    this.#hono = this.#routes();
  }

  /** All endpoints, by method and path. */
  get endpoints(): readonly { readonly method: string; readonly path: string }[] {
    return this.#hono.routes;
  }

  /** Rejects new requests from now on. In-flight requests continue. */
  stopTaking(): void {
    this.#stopping = true;
  }

  /**
   * Handles a request. Never rejects: errors become responses.
   *
   * @param request The request.
   * @param info Address of the client's end of the connection.
   * @returns The response.
   */
  readonly fetch = (
    request: Request,
    info?: { readonly remoteAddr: Deno.Addr },
  ): Response | Promise<Response> => {
    const base = this.#base(request, info?.remoteAddr);
    if (!hasSaneHost(request)) {
      const message = "Invalid Host header: it must be a host name with an optional port.";
      return this.#refuse(base, new Refusal("request_invalid", message));
    }
    if (isApiPath(base.path)) {
      if (request.method === "OPTIONS") return preflight(request, base.headers);
      if (this.#stopping) return this.#refuse(base, stopping());
    }
    if (isConsolePath(base.path)) {
      const { peer } = base;
      return this.#parts.pages.fetch(request, peer && "hostname" in peer ? peer.hostname : "");
    }
    return this.#hono.fetch(request, base);
  };

  #base(request: Request, peer: Deno.Addr | undefined): AnswerBase {
    const requestId = newRequestId(this.#parts.now());
    const path = pathOf(request.url);
    const clientRequestId = clientRequestIdOf(request.headers);
    const ids = { "x-request-id": clientRequestId ?? requestId, "request-id": requestId };
    const headers = isApiPath(path)
      ? { ...ids, ...crossOriginHeaders(request, this.#options.corsOrigins) }
      : ids;
    return { requestId, clientRequestId, path, headers, peer };
  }

  #routes(): Hono<Env> {
    // route by the same undecoded path that is checked above
    const app = new Hono<Env>({ getPath: ({ url }) => pathOf(url) });
    app.post("/v1/chat/completions", (c) => this.#relay(c, chatDialect));
    app.post("/v1/messages", (c) => this.#relay(c, messagesDialect));
    app.post("/v1/messages/count_tokens", (c) => this.#count(c));
    app.get("/user/credits", (c) => this.#credits(c));
    app.get("/v1/models", async (c) => {
      const headers = await this.#publicHeaders(c);
      const withAliases = c.req.header("anthropic-version") !== undefined;
      return c.json(modelList(this.#parts.catalog, { withAliases }), 200, headers);
    });
    app.get("/v1/models/:id{.+}", async (c) => {
      const headers = await this.#publicHeaders(c);
      const id = c.req.param("id");
      const route = this.#parts.catalog.resolve(id);
      return c.json(modelInfo(id, route), 200, headers);
    });
    app.get("/healthz", (c) => c.json({ status: "ok" }));
    app.get("/readyz", (c) => this.#ready(c));
    app.get("/metrics", (c) => this.#metrics(c));
    app.get("/openapi.json", (c) => c.json(openApiDocument()));

    app.notFound((c) => {
      const message = `Unknown endpoint: ${c.req.method} ${
        c.env.path.slice(0, 200)
      }. GET /openapi.json lists the endpoints.`;
      return this.#refuse(c.env, new Refusal("path_unknown", message));
    });
    app.onError((error, c) => this.#answerError(error, c));
    return app;
  }

  async #relay(c: Context<Env>, dialect: Dialect): Promise<Response> {
    const startedTick = performance.now();
    const request = c.req.raw;
    const { requestId, clientRequestId, path } = c.env;
    const trace = this.#options.tracing(`POST ${path}`);
    trace.set({ "http.route": path, "sluice.request_id": requestId });
    const reading = trace.begin("read");
    const caller = await this.#identify(c);
    const over = this.#enter(c, caller);
    const reply = await this.#read(c, caller, (body) => {
      reading.end();
      return relay(this.#parts, {
        dialect,
        caller,
        body,
        requestId,
        clientRequestId,
        trace,
        versions: apiVersions(request.headers),
        leaving: watchLeaving(request, {
          timers: this.#options.bodyLimits.timers,
          connections: this.#options.connections,
          peer: c.env.peer,
        }),
        startedTick,
        stands: (standing) => c.env.standing = standing,
        over,
      });
    }).catch((error) => {
      over();
      throw error;
    });
    return await this.#respond(c, reply);
  }

  /**
   * Counts an in-flight request of the account and the key.
   *
   * @returns An idempotent function that ends the count.
   * @throws {Refusal} `gateway_unavailable` if the gateway, the account or the key has too many requests in flight.
   */
  #enter({ env: { peer } }: Context<Env>, { accountId, keyId }: Caller): () => void {
    const { openRequests: { accounts, keys }, connections } = this.#options;
    const ofKey = keys.takeNow(keyId, 1);
    let ofAccount: Share;
    try {
      ofAccount = accounts.takeNow(accountId, 1);
    } catch (error) {
      ofKey.release();
      throw error;
    }
    const freeConnection = peer && connections.occupy(peer);
    return () => {
      ofKey.release();
      ofAccount.release();
      freeConnection?.();
    };
  }

  async #respond({ env }: Context<Env>, { settled, ...reply }: RelayReply): Promise<Response> {
    const kind = typeof reply.body === "string" ? JSON_REPLY : EVENT_STREAM;
    const standing = { ...env.standing!, ...(settled && { balance: settled.balance }) };
    try {
      return new Response(reply.body, {
        headers: {
          ...env.headers,
          ...kind,
          ...standingHeaders(standing, this.#parts.now()),
          ...(settled && { "x-sluice-credits": String(settled.charged) }),
          ...reply.headers,
        },
      });
    } catch (error) {
      // nothing will read the stream; cancelling it settles the request
      if (typeof reply.body !== "string") await reply.body.cancel();
      throw error;
    }
  }

  /** Reads a body and uses it. Bytes of rejected bodies count towards the key's quota of unbilled bytes. */
  async #read<T>(
    { req: { raw: request } }: Context<Env>,
    { accountId, keyId }: Caller,
    use: (body: JsonBody) => T | Promise<T>,
  ): Promise<T> {
    try {
      this.#unbilledBytes.check(keyId);
    } catch (error) {
      await skipBody(request);
      throw error;
    }
    let bytes = 0;
    const owner = { account: accountId, received: (more: number) => bytes += more };
    try {
      const body = await readJson(request, this.#options.bodyLimits, owner);
      try {
        return await use(body);
      } finally {
        body.blobs.release();
      }
    } catch (error) {
      if (!(error instanceof Refusal) || error.status < 500) this.#unbilledBytes.add(keyId, bytes);
      throw error;
    }
  }
  /** Authenticates the caller, and records it for the headers of the response. */
  async #identify(c: Context<Env>): Promise<Caller> {
    try {
      const caller = await this.#parts.keyRing.identify(presentedKeys(c.req.raw.headers));
      c.env.caller = caller;
      return caller;
    } catch (error) {
      if (error instanceof AccountDisabled) c.env.caller = error.caller;
      throw error;
    }
  }

  /** Returns the headers of a public endpoint's response, with the caller's balance if a valid key was sent. */
  async #publicHeaders(c: Context<Env>): Promise<Record<string, string>> {
    if (presentedKeys(c.req.raw.headers).length > 0) {
      await this.#identify(c).catch(() => {}); // public endpoints ignore invalid keys
    }
    return await this.#headers(c);
  }

  /** Returns the headers of a response, with the caller's balance and rate window. */
  async #headers({ env }: Context<Env>): Promise<Record<string, string>> {
    if (env.caller === undefined) return { ...env.headers };
    env.standing ??= await this.#parts.admission.standing(env.caller);
    return { ...env.headers, ...standingHeaders(env.standing, this.#parts.now()) };
  }

  /** Returns the caller's credits, lots and recent usage. */
  async #credits(c: Context<Env>): Promise<Response> {
    const { accountId } = await this.#identify(c);
    const query = new URL(c.req.url).searchParams;
    const { database, now } = this.#parts;
    const body = await creditUsage(database, { accountId, query, nowMs: now() });
    return c.json(body, 200, await this.#headers(c));
  }

  /** Counts the input tokens of a messages request. Nothing is sent upstream, and nothing is charged. */
  async #count(c: Context<Env>): Promise<Response> {
    const request = c.req.raw;
    const caller = await this.#identify(c);
    this.#counts.check(caller.keyId);
    this.#counts.add(caller.keyId, 1);
    const over = this.#enter(c, caller);
    const beta = request.headers.has("anthropic-beta");
    const counted = await this.#read(c, caller, (body) => {
      const asked = readAside(body, (json) => readCount(json, { beta }));
      this.#parts.catalog.resolve(asked.model);
      this.#unbilledBytes.add(caller.keyId, body.bytes);
      return { input_tokens: messagesDialect.countInput(asked) };
    }).finally(over);
    return c.json(counted, 200, await this.#headers(c));
  }

  async #ready(c: Context<Env>): Promise<Response> {
    const faults: string[] = [];
    if (this.#stopping) faults.push("the gateway is shutting down");
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

  /** Prometheus metrics. Requires the metrics token if one is configured. */
  async #metrics(c: Context<Env>): Promise<Response> {
    const { metricsToken } = this.#options;
    if (metricsToken !== undefined) {
      const given = presentedKeys(c.req.raw.headers);
      if (!given.some((one) => sameSecret(one, metricsToken))) {
        const message =
          "Missing or wrong metrics token. Send it as 'Authorization: Bearer …' or as 'X-API-Key: …'.";
        return this.#refuse(c.env, new Refusal("key_invalid", message));
      }
    }
    return c.text(await this.#parts.metrics.text(), 200, { "content-type": PROMETHEUS_TEXT });
  }

  async #answerError(error: Error, c: Context<Env>): Promise<Response> {
    const { env: base } = c;
    const refusal = asRefusal(databaseRefusal(error));
    const { log } = this.#parts;
    const fields = { id: base.requestId, path: base.path };
    const isOurs = refusal.status >= 500 && refusal.reason !== "upstream_unavailable" &&
      refusal.cause !== undefined; // without a cause, it only asks the caller to wait
    if (isOurs) {
      log.error("request failed", { ...fields, error: describe(refusal.cause ?? refusal) });
    } else {
      log.info("request refused", { ...fields, status: refusal.status, reason: refusal.reason });
    }
    // the error is returned even if the database cannot provide the caller's balance
    await this.#headers(c).catch(() => {});
    return this.#refuse(base, refusal);
  }

  #refuse(base: AnswerBase, refusal: Refusal): Response {
    this.#parts.metrics.answeredError(refusal.reason);
    return errorAnswer(base, refusal, this.#parts.now());
  }
}

const JSON_REPLY = { "content-type": "application/json" };
const EVENT_STREAM = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

const PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8";

function stopping(): Refusal {
  return new Refusal("gateway_unavailable", "The gateway is shutting down. Please try again.", {
    retryAfterMs: 2_000,
  });
}

/** Returns an error for the log, with its stack. Messages of errors contain no keys or prompts. */
function describe(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}
