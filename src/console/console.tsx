import { Hono } from "@hono/hono";
import {
  type Account,
  AccountError,
  checkAccount,
  checkPassword,
  type Session,
} from "../accounts/mod.ts";
import { creditsOf, entriesOf, entriesOfCause } from "../ledger/mod.ts";
import {
  type Grouping,
  GROUPINGS,
  requestRecord,
  requestRecords,
  usageReport,
} from "../usage/mod.ts";
import { asset } from "./assets.ts";
import { Attempts } from "./attempts.ts";
import { operatorRoutes } from "./operator/routes.tsx";
import { AccountPage } from "./pages/account.tsx";
import { CreditsPage } from "./pages/credits.tsx";
import { DocsPage } from "./pages/docs.tsx";
import { HomePage } from "./pages/home.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { MessagePage } from "./pages/message.tsx";
import { ModelsPage } from "./pages/models.tsx";
import { PlaygroundPage } from "./pages/playground.tsx";
import { RequestPage, RequestsPage } from "./pages/requests.tsx";
import { RegisterPage, SignInPage } from "./pages/sign_in.tsx";
import { PERIODS, usageCsv, UsagePage } from "./pages/usage.tsx";
import {
  addressOf,
  type ConsoleParts,
  doneOf,
  type Env,
  FormFields,
  notFound,
  page,
  pageOf,
  type PageRequest,
} from "./request.tsx";
import { isSameOrigin, type Visitor, visitorOf } from "./visitor.ts";

type Handler = (c: PageRequest) => Response | Promise<Response>;

const MAX_FORM_BYTES = 64 * 1_024;
const PAGE_ROWS = 50;
const DAY_MS = 86_400_000;
const PLAYGROUND_KEY_MS = 3_600_000;
const SESSION_SECONDS = 30 * 86_400;
/** Keys whose windows the first page shows. */
const LIMITS_SHOWN = 3;

/** No script or style stands in a page, and nothing comes from elsewhere. */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
  "cache-control": "no-store",
};

const SIGN_IN_REFUSED = "The email or the password is not right.";

/** The pages as one function from request to response. */
export class Console {
  readonly #parts: ConsoleParts;
  readonly #attempts: Attempts;
  readonly #hono: Hono<Env>;

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
    this.#attempts = new Attempts(parts.now);
    this.#hono = this.#routes();
  }

  /** Answers one request. @param peer Address of the other end of the connection. */
  async fetch(request: Request, peer: string): Promise<Response> {
    const response = await this.#hono.fetch(request, { visitor: visitorOf(request, peer) });
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
      if (!response.headers.has(name)) response.headers.set(name, value);
    }
    return response;
  }

  #routes(): Hono<Env> {
    const app = new Hono<Env>({ strict: false });
    app.get("/console/assets/:name", (c) => asset(c.req.param("name")));
    app.use(async (c, next) => {
      const token = tokenOf(c);
      c.set("token", token);
      c.set("session", token === undefined ? undefined : await this.#parts.sessions.find(token));
      await next();
    });
    app.on("POST", "/console/*", async (c, next) => {
      return await this.#readForm(c) ?? await next();
    });

    app.get("/", (c) => c.redirect("/console/", 303));
    app.get("/docs", (c) => page(c, <DocsPage page={pageOf(c)} document={this.#parts.openApi} />));
    app.get(
      "/console/models",
      (c) => page(c, <ModelsPage page={pageOf(c)} routes={this.#parts.catalog.routes} />),
    );
    app.get(
      "/console/sign-in",
      (c) => c.var.session === undefined ? this.#signInPage(c) : c.redirect("/console/", 303),
    );
    app.post("/console/sign-in", (c) => this.#signIn(c));
    app.get("/console/link/:token", (c) => this.#useLink(c));
    app.get("/console/register", (c) => this.#registerPage(c));
    app.post("/console/register", (c) => this.#register(c));

    const own =
      (handler: (c: PageRequest, session: Session) => Response | Promise<Response>): Handler =>
      (c) =>
        c.var.session === undefined
          ? c.redirect("/console/sign-in", 303)
          : handler(c, c.var.session);
    app.get("/console", own((c, session) => this.#home(c, session)));
    app.get("/console/keys", own((c, session) => this.#keys(c, session)));
    app.post("/console/keys", own((c, session) => this.#makeKey(c, session)));
    app.post("/console/keys/:id/revoke", own((c, session) => this.#revokeKey(c, session)));
    app.get("/console/usage", own((c, session) => this.#usage(c, session)));
    app.get("/console/usage.csv", own((c, session) => this.#usageCsv(c, session)));
    app.get("/console/requests", own((c, session) => this.#requests(c, session)));
    app.get("/console/requests/:id", own((c, session) => this.#request(c, session)));
    app.get("/console/credits", own((c, session) => this.#credits(c, session)));
    app.get(
      "/console/playground",
      own((c, session) =>
        page(
          c,
          <PlaygroundPage
            page={pageOf(c)}
            csrf={session.csrfToken}
            routes={this.#parts.catalog.routes}
          />,
        )
      ),
    );
    app.post(
      "/console/playground/key",
      own(async (c, { account }) => {
        const key = await this.#parts.keys.issue(account, {
          name: "playground",
          expiresAtMs: this.#parts.now() + PLAYGROUND_KEY_MS,
        });
        return c.json({ key: key.secret });
      }),
    );
    app.get("/console/account", own((c, session) => this.#accountPage(c, session)));
    app.post("/console/account/password", own((c, session) => this.#setPassword(c, session)));
    app.post(
      "/console/account/sign-out-everywhere",
      own(async (c, { account }) => {
        await this.#parts.sessions.endAll(account);
        return this.#signedOut(c, "signed-out-everywhere");
      }),
    );
    app.post(
      "/console/sign-out",
      own(async (c) => {
        await this.#parts.sessions.end(c.var.token!);
        return this.#signedOut(c, "signed-out");
      }),
    );

    app.route("/console/operator", operatorRoutes(this.#parts));
    app.notFound((c) => notFound(c));
    app.onError((error, c) => this.#failed(error, c));
    return app;
  }

  /** Reads a form and makes sure that it is ours; answers what to refuse it with. */
  async #readForm(c: PageRequest): Promise<Response | undefined> {
    const request = c.req.raw;
    const length = Number(request.headers.get("content-length") ?? MAX_FORM_BYTES + 1);
    const type = request.headers.get("content-type") ?? "";
    if (length > MAX_FORM_BYTES || !type.startsWith("application/x-www-form-urlencoded")) {
      return refused(c, "The form could not be read.");
    }
    if (!isSameOrigin(request)) return refused(c, "The form was not sent from this console.");
    const form = new FormFields(await request.text());
    c.set("form", form);
    const { session } = c.var;
    if (session !== undefined && form.raw("csrf") !== session.csrfToken) {
      // signing in and registering again is not a write to this session
      const free = ["/console/sign-in", "/console/register"].includes(c.req.path);
      if (!free) {
        return refused(c, "The form is out of date: go back, reload the page, and send it again.");
      }
    }
    return undefined;
  }

  async #failed(error: Error, c: PageRequest): Promise<Response> {
    this.#parts.log.error("console page failed", {
      path: c.req.path,
      error: error.stack ?? error.message,
    });
    return await page(
      c,
      <MessagePage
        page={{ session: undefined, path: c.req.path }}
        title="That did not work"
        text="The gateway met a fault, which its log tells. Please try again."
        link={{ href: "/console/", words: "To the first page" }}
      />,
      500,
    );
  }

  #signInPage(
    c: PageRequest,
    error?: string,
    email = "",
    status = 200,
  ): Response | Promise<Response> {
    const { registration } = this.#parts.config.settings;
    return page(
      c,
      <SignInPage
        page={pageOf(c)}
        registration={registration}
        error={error}
        done={doneOf(c)}
        email={email}
      />,
      status,
    );
  }

  async #signIn(c: PageRequest): Promise<Response> {
    const { accounts, passwords } = this.#parts;
    const { address } = c.env.visitor;
    const email = c.var.form.text("email").toLowerCase().slice(0, 254);
    const waitMs = this.#attempts.waitMs(email, address);
    if (waitMs > 0) {
      const minutes = Math.ceil(waitMs / 60_000);
      c.header("retry-after", String(Math.ceil(waitMs / 1_000)));
      const wait = `Too many tries. Wait ${minutes} ${
        minutes === 1 ? "minute" : "minutes"
      }, or use a sign-in link.`;
      return this.#signInPage(c, wait, email, 429);
    }
    // noted before it is known, so that many tries at once are all counted
    this.#attempts.failed(email, address);
    const account = await accounts.find(email);
    const right = await passwords.matches(account, c.var.form.raw("password"));
    if (!right || account === undefined || account.disabledAtMs !== null) {
      return this.#signInPage(c, SIGN_IN_REFUSED, email, 401);
    }
    this.#attempts.succeeded(email, address);
    return await this.#begin(c, account, false);
  }

  async #useLink(c: PageRequest): Promise<Response> {
    if (c.req.method !== "GET") return notFound(c); // whoever looks ahead does not use it up
    const account = await this.#parts.sessions.useLink(c.req.param("token") ?? "");
    if (account !== undefined) return await this.#begin(c, account, true);
    return await page(
      c,
      <MessagePage
        page={pageOf(c)}
        title="This link does not work"
        text="It was used before, is older than a day, or is not whole. Ask for another one."
        link={{ href: "/console/sign-in", words: "Sign in" }}
      />,
      404,
    );
  }

  async #begin(c: PageRequest, account: Account, byLink: boolean): Promise<Response> {
    const token = await this.#parts.sessions.begin(account, { before: c.var.token, byLink });
    c.header("set-cookie", cookie(c.env.visitor, token, SESSION_SECONDS));
    return c.redirect("/console/", 303);
  }

  #signedOut(c: PageRequest, done: string): Response {
    c.header("set-cookie", cookie(c.env.visitor, "", 0));
    return c.redirect(`/console/sign-in?done=${done}`, 303);
  }

  #registerPage(c: PageRequest, error?: string, status = 200): Response | Promise<Response> {
    const { registration } = this.#parts.config.settings;
    if (registration === "closed") return notFound(c);
    const form = c.req.method === "POST" ? c.var.form : undefined;
    return page(
      c,
      <RegisterPage
        page={pageOf(c)}
        registration={registration}
        error={error}
        email={form?.text("email") ?? ""}
        name={form?.text("name") ?? ""}
        code={form?.text("code") ?? c.req.query("code")?.slice(0, 100) ?? ""}
      />,
      status,
    );
  }

  /** Says the same whether the address was used before or not. */
  async #register(c: PageRequest): Promise<Response> {
    const { config, registration, accounts, passwords } = this.#parts;
    const mode = config.settings.registration;
    if (mode === "closed") return notFound(c);
    const { form } = c.var;
    const { address } = c.env.visitor;
    const [email, name, code] = [form.text("email"), form.text("name"), form.text("code")];
    const password = form.raw("password");
    const waitMs = this.#attempts.registerWaitMs(address);
    if (waitMs > 0) {
      const minutes = Math.ceil(waitMs / 60_000);
      c.header("retry-after", String(Math.ceil(waitMs / 1_000)));
      return this.#registerPage(
        c,
        `Too many tries from your address. Wait ${minutes} minutes.`,
        429,
      );
    }
    try {
      if (mode === "invite" && code === "") throw new AccountError("An invite code is needed here");
      // the same faults are told whether the address was used before or not
      checkPassword(password);
      checkAccount({ email, name });
      const inviteCode = code === "" ? undefined : code;
      await registration.inviterOf(inviteCode);
      const known = await accounts.find(email);
      if (known === undefined) {
        const made = await registration.register({
          email,
          name,
          inviteCode,
        });
        await passwords.set(made, password);
      } else {
        await passwords.matches(undefined, password); // takes the same time
      }
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      return this.#registerPage(c, `${error.message}.`, 400);
    }
    return c.redirect("/console/sign-in?done=registered", 303);
  }

  async #home(c: PageRequest, { account }: Session): Promise<Response> {
    const { database, keys, admission, now } = this.#parts;
    const nowMs = now();
    const [credits, days, own, lastUse] = await Promise.all([
      creditsOf(database, account.id, nowMs),
      usageReport(database, {
        accountId: account.id,
        by: "day",
        sinceMs: Math.floor(nowMs / DAY_MS - 29) * DAY_MS,
      }),
      keys.list(account),
      keys.lastUse(account),
    ]);
    const active = own.filter(({ revokedAtMs, expiresAtMs }) =>
      revokedAtMs === null && (expiresAtMs === null || expiresAtMs > nowMs)
    ).toSorted((a, b) => (lastUse.get(b.id) ?? 0) - (lastUse.get(a.id) ?? 0));
    const limits = credits.balance === 0 ? [] : await Promise.all(
      active.slice(0, LIMITS_SHOWN).map(async (key) => ({
        key,
        standing: await admission.standing({ accountId: account.id, keyId: key.id }),
      })),
    );
    return await page(
      c,
      <HomePage
        page={pageOf(c)}
        credits={credits}
        days={days}
        limits={limits}
        keys={active.length}
        nowMs={nowMs}
      />,
    );
  }

  async #keys(
    c: PageRequest,
    session: Session,
    more: { error?: string; made?: string } = {},
    status = 200,
  ) {
    const { keys, catalog, now } = this.#parts;
    const { account } = session;
    return await page(
      c,
      <KeysPage
        page={pageOf(c)}
        csrf={session.csrfToken}
        keys={(await keys.list(account)).toReversed()}
        lastUse={await keys.lastUse(account)}
        models={catalog.routes.map(({ id }) => id)}
        address={addressOf(c, this.#parts.config)}
        done={doneOf(c)}
        nowMs={now()}
        {...more}
      />,
      status,
    );
  }

  async #makeKey(c: PageRequest, session: Session): Promise<Response> {
    const { keys, catalog, now } = this.#parts;
    const { form } = c.var;
    try {
      const chosen = form.all("models").filter((id) => catalog.find(id) !== undefined);
      const days = form.count("expires");
      const made = await keys.issue(session.account, {
        name: form.text("name").slice(0, 200),
        models: chosen.length === 0 ? undefined : chosen,
        expiresAtMs: days === undefined ? undefined : now() + days * DAY_MS,
        budgetCredits: form.count("budget"),
      });
      return await this.#keys(c, session, { made: made.secret });
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      return await this.#keys(c, session, { error: `${error.message}.` }, 400);
    }
  }

  async #revokeKey(c: PageRequest, { account }: Session): Promise<Response> {
    const { keys } = this.#parts;
    const key = await keys.byId(c.req.param("id") ?? "");
    if (key === undefined || key.accountId !== account.id) return notFound(c);
    await keys.revoke(key.id);
    return c.redirect("/console/keys?done=revoked", 303);
  }

  async #report(c: PageRequest, account: Account) {
    const asked = c.req.query("by");
    const by: Grouping = GROUPINGS.find((one) => one === asked) ?? "day";
    const { database, keys, now } = this.#parts;
    const sinceMs = Math.floor((now() - PERIODS[by].ms) / 3_600_000 + 1) * 3_600_000;
    const rows = await usageReport(database, { accountId: account.id, by, sinceMs });
    const names = new Map(
      by === "key" ? (await keys.list(account)).map((key) => [key.id, key.name || key.hint]) : [],
    );
    return { by, rows, names };
  }

  async #usage(c: PageRequest, { account }: Session): Promise<Response> {
    const report = await this.#report(c, account);
    return await page(c, <UsagePage page={pageOf(c)} {...report} nowMs={this.#parts.now()} />);
  }

  async #usageCsv(c: PageRequest, { account }: Session): Promise<Response> {
    const { by, rows, names } = await this.#report(c, account);
    const named = rows.map((row) => ({ ...row, group: names.get(row.group) ?? row.group }));
    return c.body(usageCsv(by, named), 200, {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="usage-by-${by}.csv"`,
    });
  }

  async #requests(c: PageRequest, { account }: Session): Promise<Response> {
    const { database, catalog, keys } = this.#parts;
    const [model, key, ending] = ["model", "key", "ending"].map((name) =>
      (c.req.query(name) ?? "").slice(0, 100)
    ) as [string, string, string];
    const [startedAtMs, requestId] = cursorOf(c);
    const records = await requestRecords(database, {
      accountId: account.id,
      route: model || undefined,
      keyId: key || undefined,
      ending: ending || undefined,
      before: requestId === undefined ? undefined : { startedAtMs, requestId },
      limit: PAGE_ROWS,
    });
    const last = records.at(-1);
    const more = records.length < PAGE_ROWS || last === undefined
      ? undefined
      : new URLSearchParams({ model, key, ending, before: `${last.startedAtMs}.${last.requestId}` })
        .toString();
    return await page(
      c,
      <RequestsPage
        page={pageOf(c)}
        records={records}
        filter={{ model, key, ending }}
        models={catalog.routes.map(({ id }) => id)}
        keys={await keys.list(account)}
        more={more}
      />,
    );
  }

  async #request(c: PageRequest, { account }: Session): Promise<Response> {
    const { database, catalog, keys, accounts } = this.#parts;
    const record = await requestRecord(database, (c.req.param("id") ?? "").slice(0, 100));
    const isOperator = account.role === "owner";
    if (record === undefined || (record.accountId !== account.id && !isOperator)) {
      return notFound(c);
    }
    const key = await keys.byId(record.keyId);
    const owner = record.accountId === account.id
      ? undefined
      : await accounts.byId(record.accountId);
    return await page(
      c,
      <RequestPage
        page={pageOf(c)}
        record={record}
        route={catalog.find(record.route)}
        entries={await entriesOfCause(database, record.requestId)}
        keyName={key === undefined ? record.keyId : key.name || key.hint}
        email={owner?.email}
      />,
    );
  }

  async #credits(c: PageRequest, { account }: Session): Promise<Response> {
    const { database, accounts, registration, sales, config, now } = this.#parts;
    const [atMs, causeId, lotId] = cursorOf(c);
    const [{ balance }, entries, code, joined] = await Promise.all([
      creditsOf(database, account.id, now()),
      entriesOf(database, {
        accountId: account.id,
        before: causeId === undefined || lotId === undefined ? undefined : { atMs, causeId, lotId },
        limit: PAGE_ROWS,
      }),
      accounts.inviteCode(account),
      registration.invitations(account),
    ]);
    const last = entries.at(-1);
    const link = `${addressOf(c, config)}/console/register?code=${code}`;
    return await page(
      c,
      <CreditsPage
        page={pageOf(c)}
        balance={balance}
        packages={sales.packages}
        entries={entries}
        invite={{ code, link }}
        joined={joined}
        operator={config.settings.owner.email}
        more={entries.length < PAGE_ROWS
          ? undefined
          : `before=${last!.atMs}.${last!.causeId}.${last!.lotId}`}
      />,
    );
  }

  async #accountPage(
    c: PageRequest,
    session: Session,
    error?: string,
    status = 200,
  ): Promise<Response> {
    const hasPassword = await this.#parts.passwords.isSet(session.account);
    return await page(
      c,
      <AccountPage
        page={pageOf(c)}
        session={session}
        hasPassword={hasPassword}
        error={error}
        done={doneOf(c)}
      />,
      status,
    );
  }

  async #setPassword(c: PageRequest, session: Session): Promise<Response> {
    const { passwords, sessions } = this.#parts;
    const { account } = session;
    const { address } = c.env.visitor;
    const { form } = c.var;
    if (!session.byLink && await passwords.isSet(account)) {
      if (this.#attempts.waitMs(account.email, address) > 0) {
        return await this.#accountPage(c, session, "Too many tries. Wait ten minutes.", 429);
      }
      if (!await passwords.matches(account, form.raw("current"))) {
        this.#attempts.failed(account.email, address);
        return await this.#accountPage(c, session, "The present password is not right.", 400);
      }
    }
    try {
      await passwords.set(account, form.raw("password"));
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      return await this.#accountPage(c, session, `${error.message}.`, 400);
    }
    await sessions.endAll(account, c.var.token);
    return c.redirect("/console/account?done=password", 303);
  }
}

function refused(c: PageRequest, text: string): Promise<Response> {
  return page(
    c,
    <MessagePage
      page={pageOf(c)}
      title="The form was refused"
      text={text}
      link={{ href: "/console/", words: "To the first page" }}
    />,
    403,
  );
}

/** Where the page before ended: its last row's time, then its ids. */
function cursorOf(c: PageRequest): [number, string | undefined, string | undefined] {
  const [time = "", first, second] = (c.req.query("before") ?? "").slice(0, 200).split(".");
  return /^\d{1,15}$/.test(time) ? [Number(time), first, second] : [0, undefined, undefined];
}

/** Only a name with this prefix cannot be set by another host of the domain; it needs TLS. */
const SECURE_NAME = "__Host-sluice";
const PLAIN_NAME = "sluice";

function cookie({ secure }: Visitor, token: string, seconds: number): string {
  return `${secure ? SECURE_NAME : PLAIN_NAME}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; ` +
    `SameSite=Lax${secure ? "; Secure" : ""}`;
}

function tokenOf(c: PageRequest): string | undefined {
  const name = c.env.visitor.secure ? SECURE_NAME : PLAIN_NAME;
  const pattern = new RegExp(`(?:^|;\\s*)${name}=([A-Za-z0-9]{32})(?:;|$)`);
  return pattern.exec(c.req.header("cookie") ?? "")?.[1];
}
