import { checkScope } from "../../people/accounts/mod.ts";
import { type Context, Hono } from "@hono/hono";
import type { Catalog } from "../../settings/catalog/mod.ts";
import type { Settings } from "../../settings/config/mod.ts";
import { type Database, refusalOf } from "../../ground/database/mod.ts";
import {
  type DialectName,
  DIALECTS,
  frontSpoken,
  type HeaderLookup,
} from "../../wire/dialects/mod.ts";
import { EMBEDDINGS_PATH } from "../../wire/embeddings/mod.ts";
import { BasePath, Entity } from "../../ground/web/mod.ts";
import { newRequestId } from "../../ground/platform/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { WEBHOOK_PATH } from "../../money/payments/mod.ts";
import type { RelayParts } from "../../requests/relay/mod.ts";
import { isOAuthPath, OAUTH, WELL_KNOWN } from "../oauth/mod.ts";
import { Granted, type Signal, SIGNALS } from "../tools/mod.ts";
import { isAdminPath } from "./admin_path.ts";
import { Callers, type CallersParts } from "./callers.ts";
import { codexModels, isCodex as isFromCodex } from "./codex.ts";
import { crossOriginHeaders, mayConnect, preflight } from "./cross_origin.ts";
import { COUNTING, DIALECT_PATHS } from "./dialect_paths.ts";
import { framingFault } from "./guard.ts";
import { Inference, type InferenceOptions } from "./inference.ts";
import { addMachineEndpoints, type Env, INTERNAL, type MachineParts } from "./machine_endpoints.ts";
import { modelInfo, modelList } from "./models.ts";
import { openApiDocument, openCreditUsage, openToolRequests } from "./on_demand.ts";
import { clientRequestIdOf, isApiPath, isConsolePath, pathOf, withPath } from "./request_line.ts";
import { isScimPath, SCIM_BASE, SCIM_ENDPOINTS } from "./scim_path.ts";
import type { ResponseSockets } from "./response_sockets.ts";
import type { RequestState } from "./request_state.ts";
import { errorResponse, shuttingDown, upgradeRequired } from "./responses.ts";
import type { ToolRequests, ToolRequestsParts } from "./tool_requests.ts";
import { describeWrongPath } from "./wrong_path.ts";

/** What the door leads to. */
export interface AppParts extends RelayParts, CallersParts, ToolRequestsParts, MachineParts {
  readonly sockets: Pick<ResponseSockets, "open">;
  /** The database for reports: what takes long there holds up no request to a model. */
  readonly reports: Database;
  /** The console and the operator's API. */
  readonly pages: Pages;
  /** Handles a call of the payment webhook; `undefined` where payments are not configured. */
  readonly webhook?: (request: Request) => Promise<Response> | undefined;
}

/** Handler of pages for browsers. */
export interface Pages {
  fetch(request: Request, peer: string): Promise<Response>;
}

/** How the door behaves. */
export interface AppOptions extends InferenceOptions {
  readonly settings: Pick<
    Settings,
    | "limits"
    | "cors"
    | "metricsToken"
    | "publicUrl"
    | "responses"
    | "signIn"
    | "credits"
    | "proxies"
  >;
}

/** The only version of RFC 6455. */
const WEBSOCKET_VERSION = "13";

/** Requests to models do not take the router: it would add to each of them what a context costs. */
const DIALECT_AT: ReadonlyMap<string, DialectName> = new Map(DIALECT_PATHS);

/** Where Codex sends its requests. */
const RESPONSES = DIALECTS.responses.front.path;

/** The gateway as one function from request to response. */
export class App {
  readonly #parts: AppParts;
  readonly #options: AppOptions;
  readonly #callers: Callers;
  readonly #granted: Granted;
  readonly #inference: Inference;
  readonly #base: BasePath;
  readonly #hono: Hono<Env>;
  #openApi: Promise<Entity> | undefined;
  #stopping = false;

  constructor(parts: AppParts, options: AppOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#base = new BasePath(options.settings.publicUrl);
    this.#granted = new Granted(parts.reports, parts.now);
    this.#callers = new Callers(parts, this.#granted);
    this.#inference = new Inference(parts, this.#callers, options);
    this.#hono = this.#routes(this.#inference);
  }

  /** All endpoints but those of the operator's API, by method and path. */
  get endpoints(): readonly { readonly method: string; readonly path: string }[] {
    const relayed = [...DIALECT_AT.keys(), EMBEDDINGS_PATH]
      .map((path) => ({ method: "POST", path }));
    const signIn = [
      ...Object.values(WELL_KNOWN).map((path) => ({ method: "GET", path })),
      ...Object.values(OAUTH).map((path) => ({
        method: path === OAUTH.authorize ? "GET" : "POST",
        path,
      })),
    ];
    const scim = SCIM_ENDPOINTS.map(([method, path]) => ({ method, path: `${SCIM_BASE}${path}` }));
    const own = [...relayed, ...signIn, ...scim];
    return [...own, { method: "GET", path: RESPONSES }, ...this.#hono.routes];
  }

  /** Resolves when no request to a model is in progress. For an app that gets no new ones. */
  idle(): Promise<void> {
    return this.#inference.idle();
  }

  /** Rejects new requests from now on. In-flight requests continue. */
  stopTaking(): void {
    this.#stopping = true;
  }

  /**
   * Handles a request. Never rejects: errors become responses.
   *
   * @param info Address of the client's end of the connection.
   */
  readonly fetch = (
    request: Request,
    info?: { readonly remoteAddr: Deno.Addr },
  ): Response | Promise<Response> =>
    this.#options.tracing.within(request, () => this.#answer(request, info));

  #answer(
    request: Request,
    info: { readonly remoteAddr: Deno.Addr } | undefined,
  ): Response | Promise<Response> {
    const state = this.#stateOf(request, info?.remoteAddr);
    const { arrivals } = this.#options;
    arrivals.progressed(state.peer);
    if (request.headers.has("transfer-encoding")) arrivals.narrow(state.peer);
    const fault = framingFault(request.headers, state.path);
    if (fault !== undefined) return this.#refuseConnection(state, fault);
    if (isApiPath(state.path)) {
      if (request.method === "OPTIONS") return preflight(request, state.headers);
      if (this.#stopping) return this.#refuse(state, shuttingDown());
    }
    const dialect = request.method === "POST" ? DIALECT_AT.get(state.path) : undefined;
    if (dialect !== undefined) {
      return this.#inference.relay(request, state, dialect)
        .catch((error) => this.#fail(error, state));
    }
    if (state.path === RESPONSES && request.method === "GET") {
      return this.#socket(request, state).catch((error) => this.#fail(error, state));
    }
    if (request.method === "POST" && state.path === EMBEDDINGS_PATH) {
      return this.#inference.embed(request, state).catch((error) => this.#fail(error, state));
    }
    if (isConsolePath(state.path)) return this.#page(request, state);
    if (isOAuthPath(state.path) && this.#options.settings.signIn !== undefined) {
      return this.#page(request, state);
    }
    const isScim = isScimPath(state.path) && this.#options.settings.signIn !== undefined;
    if (isScim || isAdminPath(state.path)) {
      if (this.#stopping) return this.#refuse(state, shuttingDown());
      return this.#admin(request, state).catch((error) => this.#fail(error, state));
    }
    return this.#hono.fetch(request, state);
  }

  /**
   * Handles a turn of a WebSocket as the request that it is.
   *
   * @param request The request, with the connection's key and headers.
   * @param info Address of the client's end of the connection.
   * @param options Whether the model is to reply.
   * @returns The response. Never rejects.
   */
  async turn(
    request: Request,
    info: { readonly remoteAddr: Deno.Addr } | undefined,
    options: { readonly generates: boolean },
  ): Promise<Response> {
    const state = this.#stateOf(request, info?.remoteAddr);
    if (this.#stopping) return this.#refuse(state, shuttingDown());
    return await this.#inference.relay(request, state, "responses", { ...options, isTurn: true })
      .catch((error) => this.#fail(error, state));
  }

  /** Refuses a request after which nothing on its connection can be trusted. */
  #refuseConnection(state: RequestState, message: string): Response {
    this.#options.arrivals.endSoon(state.peer);
    const headers = { ...state.headers, connection: "close" };
    return this.#refuse({ ...state, headers }, new Refusal("request_invalid", message));
  }

  /** Upgrades a request to a WebSocket over which responses are created. */
  async #socket(request: Request, state: RequestState): Promise<Response> {
    const { settings, tracing } = this.#options;
    tracing.named(`GET ${RESPONSES}`).set({ "sluice.request_id": state.requestId });
    if (state.header("upgrade")?.toLowerCase() !== "websocket") {
      const message = `Send POST ${RESPONSES}, or GET ${RESPONSES} as a WebSocket handshake.`;
      const refusal = new Refusal("path_unknown", message);
      this.#parts.metrics.answeredError(refusal.reason);
      return upgradeRequired(state, refusal);
    }
    if (state.header("sec-websocket-version") !== WEBSOCKET_VERSION) {
      const message =
        `Unknown version of the WebSocket protocol: send Sec-WebSocket-Version: ${WEBSOCKET_VERSION}.`;
      return upgradeRequired(state, new Refusal("path_unknown", message));
    }
    if (!mayConnect(request, settings.cors.origins)) {
      const message = "This browser origin may not connect: add it to the setting cors.origins.";
      throw new Refusal("permission_denied", message);
    }
    const caller = await this.#callers.identify(request, state);
    checkScope(caller, "inference");
    return this.#parts.sockets.open({ request, state, caller, settings });
  }

  /** Its connection is in use meanwhile: an audit of a large database takes minutes. */
  async #page(request: Request, { path, peer }: RequestState): Promise<Response> {
    const { url } = request;
    const plain = pathOf(url) === path ? request : new Request(withPath(url, path), request);
    const free = peer && this.#options.connections.occupy(peer);
    try {
      return await this.#parts.pages.fetch(plain, peer && "hostname" in peer ? peer.hostname : "");
    } finally {
      free?.();
    }
  }

  /** The APIs of operators and directories, which the thread of the console serves as well. */
  async #admin(request: Request, state: RequestState): Promise<Response> {
    const response = await this.#page(request, state);
    for (const [name, value] of Object.entries(state.headers)) response.headers.set(name, value);
    return response;
  }

  #stateOf(request: Request, peer: Deno.Addr | undefined): RequestState {
    const requestId = newRequestId(this.#parts.now());
    const path = this.#pathOf(request.url);
    const clientRequestId = clientRequestIdOf(request.headers);
    const ids = { "x-request-id": clientRequestId ?? requestId, "request-id": requestId };
    const own = this.#options.connections.isPressed ? { ...ids, connection: "close" } : ids;
    const headers = isApiPath(path)
      ? { ...own, ...crossOriginHeaders(request, this.#options.settings.cors.origins) }
      : own;
    const header: HeaderLookup = (name) => request.headers.get(name);
    const isCodex = path.startsWith(RESPONSES) && isFromCodex(header);
    return { requestId, clientRequestId, path, headers, peer, header, isCodex };
  }

  /** The path as if the gateway were at the root of its host. */
  #pathOf(url: string): string {
    const sent = pathOf(url);
    const path = this.#base.strip(sent);
    return INTERNAL.includes(path) ? sent : path;
  }

  #routes(inference: Inference): Hono<Env> {
    // the router goes by the same path as the door, percent signs and all
    const app = new Hono<Env>({ getPath: ({ url }) => this.#pathOf(url) });
    for (const counting of COUNTING) {
      app.post(counting.path, ({ req, env }) => inference.count(req.raw, env, counting));
    }
    app.get("/user/credits", (c) => this.#credits(c));
    app.get("/v1/models", (c) => {
      if (c.req.query("client_version") !== undefined) return this.#models(c, codexModels);
      const { listsAliases } = frontSpoken(c.env.header);
      return this.#models(c, (catalog) => modelList(catalog, { listsAliases }));
    });
    app.get("/v1/models/:id{.+}", (c) => {
      const id = c.req.param("id");
      return this.#models(c, (catalog) => modelInfo(id, catalog.resolve(id)));
    });
    addMachineEndpoints(app, this.#parts, {
      metricsToken: this.#options.settings.metricsToken,
      isStopping: () => this.#stopping,
      refuse: (state, refusal) => this.#refuse(state, refusal),
    });
    app.get("/openapi.json", async (c) => {
      const servers = [{ url: this.#base.path || "/" }];
      const document = this.#openApi ??= openApiDocument()
        .then((described) => Entity.ofJson({ ...described, servers }));
      return (await document).respond(c.req.raw, { "cache-control": "no-cache" });
    });

    if (this.#options.settings.signIn !== undefined) this.#toolRoutes(app);
    app.post(WEBHOOK_PATH, (c) => this.#parts.webhook?.(c.req.raw) ?? this.#unknownPath(c));

    app.notFound((c) => this.#unknownPath(c));
    app.onError((error, { env }) => this.#fail(error, env));
    return app;
  }

  /** What signed-in tools ask for. */
  #toolRoutes(app: Hono<Env>): void {
    const { settings } = this.#options;
    const parts = { ...this.#parts, callers: this.#callers, granted: this.#granted, settings };
    let opened: Promise<ToolRequests> | undefined;
    const tools = () => opened ??= openToolRequests(parts);
    app.get("/api/oauth/usage", async ({ req, env }) => (await tools()).usage(req.raw, env));
    app.get(
      "/managed/settings",
      async ({ req, env }) => (await tools()).managedSettings(req.raw, env),
    );
    for (const signal of Object.keys(SIGNALS) as Signal[]) {
      app.post(signal, async ({ req, env }) => (await tools()).telemetry(req.raw, env, signal));
    }
  }

  #unknownPath(c: Context<Env>): Response {
    const { publicUrl } = this.#options.settings;
    const base = publicUrl ?? new URL(c.req.raw.url).origin;
    const { method } = c.req;
    const message = describeWrongPath({ method, path: c.env.path, base });
    return this.#refuse(c.env, new Refusal("path_unknown", message));
  }

  /** The caller's credits, lots and recent use. */
  async #credits({ req: { raw: request }, env: state }: Context<Env>): Promise<Response> {
    const caller = await this.#callers.identify(request, state);
    const query = new URL(request.url).searchParams;
    const { reports, readFor, now } = this.#parts;
    const creditUsage = await openCreditUsage();
    const body = await readFor(
      caller.accountId,
      () => creditUsage(reports, { caller, query, nowMs: now() }),
    );
    return Response.json(body, { headers: await this.#callers.headers(state) });
  }

  /** The body may be anyone's, the headers are the caller's own. */
  async #models(
    { req: { raw: request }, env: state }: Context<Env>,
    describe: (catalog: Catalog) => unknown,
  ): Promise<Response> {
    const headers = await this.#callers.publicHeaders(request, state);
    const entity = await Entity.ofJson(describe(this.#parts.catalog()));
    return entity.respond(request, { ...headers, "cache-control": "private, no-cache" });
  }

  async #fail(error: Error, state: RequestState): Promise<Response> {
    const refusal = refusalOf(error);
    const { log } = this.#parts;
    const fields = { id: state.requestId, path: state.path };
    const isOurs = refusal.status >= 500 && refusal.reason !== "upstream_unavailable" &&
      refusal.cause !== undefined; // without a cause, it only asks the caller to wait
    if (isOurs) {
      log.error("request failed", { ...fields, error: textOf(refusal.cause ?? refusal) });
    } else {
      log.info("request refused", { ...fields, status: refusal.status, reason: refusal.reason });
    }
    // the error is told even if the database cannot say where the caller stands
    await this.#callers.headers(state).catch(() => {});
    return this.#refuse(state, refusal);
  }

  #refuse(state: RequestState, refusal: Refusal): Response {
    this.#parts.metrics.answeredError(refusal.reason);
    return errorResponse(state, refusal, this.#parts.now());
  }
}

/** Our own faults are logged whole; their messages hold no keys or prompts. */
function textOf(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}
