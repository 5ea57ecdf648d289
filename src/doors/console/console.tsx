import { Hono } from "@hono/hono";
import { AccountError } from "../../people/accounts/mod.ts";
import { Assets } from "./assets.ts";
import { AuthPages, tokenOf } from "./auth_pages.tsx";
import { operatorRoutes } from "./operator/routes.tsx";
import { usageRoutes } from "./usage_pages.tsx";
import { ownRoutes } from "./account_pages.tsx";
import { homeRoutes } from "./home_pages.tsx";
import { DetachedPages } from "./detached.tsx";
import { deviceRoutes } from "./device_pages.tsx";
import { dollarRateOf } from "./dollars.ts";
import { pageWithForms } from "./forms.ts";
import { type GuardedRoute, guardedRoutes, may } from "./guard.ts";
import { addUpstreamKeyForms } from "./own_keys.ts";
import { passkeyRoutes } from "./passkey_pages.tsx";
import { paymentRoutes } from "./payment_pages.tsx";
import { ComponentsPage } from "./pages/components.tsx";
import { requestRoutes } from "./request_pages.tsx";
import { DocsPage } from "./pages/docs.tsx";
import { ModelsPage } from "./pages/models.tsx";
import { playgroundBody } from "./playground_body.ts";
import { ProviderPages } from "./provider_pages.tsx";
import { PlaygroundPage } from "./pages/playground.tsx";
import {
  addressOf,
  type ConsoleParts,
  type Env,
  FormFields,
  messagePage,
  notFound,
  operate,
  page,
  pageOf,
  type PageRequest,
  recordOf,
  seeOther,
  strangersPage,
} from "./request.tsx";
import { findModels, modelSearch } from "./model_search.ts";
import { isoOf, KEY_CREATE } from "../../operating/operations/mod.ts";
import { teamRoutes } from "./team_pages.tsx";
import { toolRoutes } from "./tool_pages.tsx";
import { respondWithEvents } from "./event_pages.ts";
import { AccountSource } from "./live_account.tsx";
import { PageSource } from "./live_pages.ts";
import { LiveStreams } from "./live_streams.ts";
import { CONTENT_POLICY } from "./content_policy.ts";
import { DatabaseError } from "../../ground/database/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import {
  BasePath,
  BodyTooLong,
  isSameOrigin,
  readBounded,
  TrustedProxies,
  visitorOf,
} from "../../ground/web/mod.ts";

/** Max time to receive a form. */
const FORM_MS = 10_000;
const MAX_FORM_BYTES = 64 * 1_024;
const PLAYGROUND_KEY_MS = 3_600_000;

/** Forbid inline scripts and styles, and anything from other hosts. */
const SECURITY_HEADERS = {
  "content-security-policy": CONTENT_POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
  "cache-control": "no-store",
};

/** Serves all pages. */
export class Console {
  readonly #parts: ConsoleParts;
  readonly #hono: Hono<Env>;
  readonly #trusted: TrustedProxies;
  readonly #base: BasePath;
  readonly #streams: LiveStreams;
  readonly #detached: DetachedPages;

  constructor(given: Omit<ConsoleParts, "livePages">) {
    const parts = { ...given, livePages: new PageSource() };
    this.#parts = parts;
    this.#base = new BasePath(parts.config.settings.publicUrl);
    this.#streams = new LiveStreams({ ...parts, base: this.#base }, [
      new AccountSource({ ...parts, perUsd: dollarRateOf(parts.config) }),
      parts.livePages,
    ]);
    this.#trusted = new TrustedProxies(parts.config.settings.trustedProxies);
    this.#detached = new DetachedPages(parts);
    this.#hono = this.#routes();
  }

  /**
   * Handles a request.
   *
   * @param request A request for a page, an asset or a form's write.
   * @param peer IP address of the other end of the connection.
   * @returns The response, with security headers. All that it leads to is below the path of the public URL.
   */
  async fetch(request: Request, peer: string): Promise<Response> {
    const response = await this.#led(
      await this.#hono.fetch(request, {
        visitor: visitorOf(request, peer, this.#trusted),
        base: this.#base,
      }),
    );
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
      if (!response.headers.has(name)) response.headers.set(name, value);
    }
    return response;
  }

  /** Puts the path of the public URL before what a response leads to: pages are written as those of a host of their own. */
  async #led(response: Response): Promise<Response> {
    if (this.#base.path === "") return response;
    const { headers } = response;
    const location = headers.get("location");
    if (location !== null) headers.set("location", this.#base.link(location));
    if (response.body === null || !headers.get("content-type")?.startsWith("text/html")) {
      return response;
    }
    return new Response(this.#base.page(await response.text()), response);
  }

  /** Ends the event streams; pages that are open connect again, to the console that takes its place. */
  close(): void {
    this.#streams.close();
  }

  /** The pages and forms, with the actions that guard them. */
  get routes(): readonly GuardedRoute[] {
    return guardedRoutes(this.#hono);
  }

  #routes(): Hono<Env> {
    const app = new Hono<Env>({ strict: false });
    const entrance = new AuthPages(this.#parts);
    const assets = new Assets();
    app.get("/console/assets/:name", (c) => assets.respond(c.req.param("name"), c.req.raw));
    app.use(async (c, next) => {
      const token = tokenOf(c);
      c.set("token", token);
      if (this.#detached.isDetached && c.req.method === "GET") return this.#detached.respond(c);
      const session = token === undefined ? undefined : await this.#parts.sessions.find(token);
      if (token !== undefined) this.#detached.found(token, session);
      c.set("session", session);
      return await this.#parts.readFor(session?.account.id ?? c.env.visitor.address, next);
    });
    app.on("POST", "/console/*", async (c, next) => {
      return await this.#readForm(c) ?? await next();
    });

    app.get("/", (c) => seeOther(c, "/console/"));
    app.get("/docs", async (c) => {
      const { openApi, config } = this.#parts;
      const address = addressOf(c, config);
      return page(c, <DocsPage page={pageOf(c)} document={await openApi()} address={address} />);
    });
    app.get("/console/models", (c) => this.#models(c));
    if (this.#parts.config.settings.consoleComponents) {
      app.get(
        "/console/_components",
        (c) => page(c, <ComponentsPage page={pageOf(c)} nowMs={this.#parts.now()} />),
      );
    }
    app.get(
      "/console/sign-in",
      (c) => c.var.session === undefined ? entrance.signInPage(c) : seeOther(c, "/console/"),
    );
    app.post("/console/sign-in", (c) => entrance.signIn(c));
    // without the setting there is nothing of it
    const providers = this.#parts.config.settings.signIn &&
      new ProviderPages(this.#parts, entrance);
    if (providers !== undefined) {
      app.get("/console/sign-in/oidc/:provider", (c) => providers.visit(c));
      app.get("/console/sign-in/oidc/:provider/callback", (c) => providers.callback(c));
      app.post("/console/sign-in/oidc/:provider/logout", (c) => providers.loggedOut(c));
    }
    app.get("/console/link/:token", (c) => entrance.useLink(c));
    app.get("/console/register", (c) => entrance.registerPage(c));
    app.post("/console/register", (c) => entrance.register(c));

    homeRoutes(app, this.#parts);
    app.get(
      "/console/events",
      may("self.use", (c, session) =>
        respondWithEvents(c, session, {
          streams: this.#streams,
          livePages: this.#parts.livePages,
        })),
    );
    ownRoutes(app, this.#parts);
    if (this.#parts.config.settings.signIn?.passkeys) passkeyRoutes(app, this.#parts, entrance);
    if (providers !== undefined) {
      deviceRoutes(app, this.#parts);
      toolRoutes(app, this.#parts);
    }
    usageRoutes(app, this.#parts);
    requestRoutes(app, this.#parts);
    paymentRoutes(app, this.#parts);
    app.get(
      "/console/playground",
      may("self.use", (c) =>
        page(
          c,
          <PlaygroundPage
            page={pageOf(c)}
            routes={this.#parts.catalog().routes}
          />,
        )),
    );
    app.post(
      "/console/playground/key",
      may("self.use", async (c, session) => {
        const { key } = await operate(c, this.#parts, session, [KEY_CREATE, {
          account: session.account.id,
          name: "playground",
          expires_at: isoOf(this.#parts.now() + PLAYGROUND_KEY_MS),
        }]);
        return c.json({ key });
      }),
    );
    app.post(
      "/console/playground/body",
      may("self.use", (c) => {
        const body = playgroundBody(c.var.form.raw("request"));
        return body === undefined ? refused(c, "The request could not be read.") : c.json(body);
      }),
    );
    app.post(
      "/console/account/password",
      may("self.use", (c, session) => entrance.setPassword(c, session)),
    );
    app.post("/console/account/sign-in-again", may("self.use", (c) => entrance.signInAgain(c)));
    if (providers !== undefined) {
      app.post(
        "/console/account/sessions/:session/end",
        may("self.use", (c, session) => entrance.endSession(c, session)),
      );
      app.post(
        "/console/account/unlink",
        may("self.use", (c, session) => entrance.unlink(c, session)),
      );
      app.post(
        "/console/account/link/:provider",
        may("self.use", (c, session) => providers.visit(c, session)),
      );
    }
    const ofAccount = pageWithForms(app, this.#parts, "/console/account", {
      action: "self.use",
      show: (c, session, _page, { error }) => entrance.accountPage(c, session, error),
    });
    addUpstreamKeyForms(ofAccount, ({ account }) => ({ accountId: account.id }));
    app.post(
      "/console/account/sign-out-everywhere",
      may("self.use", async (c, session) => {
        const operation = "account.sign_out_everywhere";
        const record = recordOf(c, this.#parts, { session, operation });
        await this.#parts.sessions.endAll(session.account, { also: [record] });
        return entrance.signedOut(c, "signed-out-everywhere");
      }),
    );
    app.post(
      "/console/sign-out",
      may("self.use", async (c) => {
        const elsewhere = await providers?.logoutUrl(c);
        await this.#parts.sessions.end(c.var.token!);
        return entrance.signedOut(c, "signed-out", elsewhere);
      }),
    );

    teamRoutes(app, this.#parts);
    app.route("/console/operator", operatorRoutes(this.#parts));
    app.notFound((c) => notFound(c));
    app.onError((error, c) => this.#failed(error, c));
    return app;
  }

  #models(c: PageRequest): Promise<Response> {
    const { config } = this.#parts;
    const catalog = this.#parts.catalog();
    const search = modelSearch(new URL(c.req.url).searchParams);
    return page(
      c,
      <ModelsPage
        page={pageOf(c)}
        models={findModels(catalog, search)}
        total={catalog.routes.length}
        search={search}
        creditsPerUsd={dollarRateOf(config)}
      />,
    );
  }

  /** Reads a form and checks its origin and token. Returns the error page to reject it with, if any. */
  async #readForm(c: PageRequest): Promise<Response | undefined> {
    const request = c.req.raw;
    const type = request.headers.get("content-type") ?? "";
    if (request.body === null || !type.startsWith("application/x-www-form-urlencoded")) {
      return refused(c, "The form data could not be read.");
    }
    if (!isSameOrigin(request)) return refused(c, "The form was not submitted from this console.");
    let text: string;
    try {
      const bytes = await readBounded(request, { maxBytes: MAX_FORM_BYTES, maxMs: FORM_MS });
      text = new TextDecoder().decode(bytes);
    } catch (error) {
      // else the visitor's connection, not a fault of ours
      return refused(
        c,
        error instanceof BodyTooLong
          ? "The form data could not be read."
          : "The form was not received in full.",
      );
    }
    const form = new FormFields(text);
    c.set("form", form);
    const { session } = c.var;
    if (session !== undefined && form.raw("csrf") !== session.csrfToken) {
      // signing in or registering again does not write to this session
      const free = /^\/console\/(?:sign-in(?:\/passkey(?:\/options)?)?|register)$/.test(c.req.path);
      if (!free) {
        return refused(c, "This form has expired. Go back, reload the page, and submit it again.");
      }
    }
    return undefined;
  }

  async #failed(error: Error, c: PageRequest): Promise<Response> {
    if (error instanceof AccountError) {
      return await refused(c, `${error.message}.`, STATUS_CODE.BadRequest);
    }
    if (error instanceof DatabaseError) {
      this.#parts.log.warn("console page failed", {
        path: c.req.routePath,
        error: error.message,
      });
      return await this.#detached.respond(c);
    }
    this.#parts.log.error("console page failed", {
      path: c.req.routePath, // a path may contain the token of a sign-in link
      error: error.stack ?? error.message,
    });
    return await messagePage(c, {
      page: strangersPage(c),
      title: "Something went wrong",
      text: "An internal error occurred; see the gateway log. Please try again.",
      status: STATUS_CODE.InternalServerError,
    });
  }
}

function refused(
  c: PageRequest,
  text: string,
  status: number = STATUS_CODE.Forbidden,
): Promise<Response> {
  return messagePage(c, { title: "Form rejected", text, status });
}
