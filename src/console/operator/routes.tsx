import { Hono } from "@hono/hono";
import { type Account, AccountError, KeyThere, type Session } from "../../accounts/mod.ts";
import { databaseFile, effectiveSettings } from "../../config/mod.ts";
import { backUp } from "../../database/mod.ts";
import { randomText } from "../../ids.ts";
import { audit, balancesOf, creditsOf, entriesOf } from "../../ledger/mod.ts";
import { configuredUpstreams } from "../../upstreams/mod.ts";
import {
  addressOf,
  type ConsoleParts,
  doneOf,
  type Env,
  notFound,
  page,
  pageOf,
  type PageRequest,
} from "../request.tsx";
import { AccountDetailPage, AccountsPage } from "./accounts.tsx";
import {
  AuditPage,
  InvitesPage,
  LivePage,
  RoutesPage,
  SettingsPage,
  UpstreamsPage,
} from "./pages.tsx";

const ACCOUNTS_SHOWN = 100;
const ENTRIES_SHOWN = 20;
const DAY_MS = 86_400_000;

type Operator = (c: PageRequest, session: Session) => Response | Promise<Response>;

/** Pages for operators. Everyone else gets a 404. */
export function operatorRoutes(parts: ConsoleParts): Hono<Env> {
  const { accounts, keys, sales, database, sessions, catalog, upstreams, running, now, config } =
    parts;
  const app = new Hono<Env>();

  const only = (handler: Operator) => (c: PageRequest) => {
    const { session } = c.var;
    if (session === undefined) return c.redirect("/console/sign-in", 303);
    return session.account.role === "owner" ? handler(c, session) : notFound(c);
  };
  /** Wraps a handler of pages about one account. */
  const about = (
    handler: (c: PageRequest, session: Session, account: Account) => Promise<Response>,
  ) =>
    only(async (c, session) => {
      const account = await accounts.byId(c.req.param("id") ?? "");
      return account === undefined ? notFound(c) : await handler(c, session, account);
    });

  const list = async (c: PageRequest, session: Session, error?: string) => {
    const query = (c.req.query("q") ?? "").slice(0, 200);
    const found = await accounts.search(query, ACCOUNTS_SHOWN);
    const balances = await balancesOf(database, found.map(({ id }) => id));
    const rows = found.map((account) => ({
      account,
      ...(balances.get(account.id) ?? { balance: 0, consumed: 0, requests: 0 }),
    }));
    return await page(
      c,
      <AccountsPage
        page={pageOf(c)}
        csrf={session.csrfToken}
        rows={rows}
        query={query}
        error={error}
        most={ACCOUNTS_SHOWN}
      />,
      error === undefined ? 200 : 400,
    );
  };

  const detail = async (
    c: PageRequest,
    session: Session,
    account: Account,
    more: { link?: string; made?: string; error?: string } = {},
  ) => {
    return await page(
      c,
      <AccountDetailPage
        page={pageOf(c)}
        csrf={session.csrfToken}
        account={account}
        credits={await creditsOf(database, account.id, now())}
        entries={await entriesOf(database, { accountId: account.id, limit: ENTRIES_SHOWN })}
        keys={(await keys.list(account)).toReversed()}
        lastUse={await keys.lastUse(account)}
        packages={sales.packages}
        models={catalog.routes.map(({ id }) => id)}
        address={addressOf(c, config)}
        done={doneOf(c)}
        nowMs={now()}
        {...more}
      />,
      more.error === undefined ? 200 : 400,
    );
  };

  /** Wraps a write to an account. Errors are shown on the account's page. */
  const write = (work: (c: PageRequest, account: Account) => Promise<string>) =>
    about(async (c, session, account) => {
      try {
        const done = await work(c, account);
        return c.redirect(`/console/operator/accounts/${account.id}?done=${done}`, 303);
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await detail(c, session, account, { error: `${error.message}.` });
      }
    });

  app.get("/accounts", only((c, session) => list(c, session)));
  app.post(
    "/accounts",
    only(async (c, session) => {
      const { form } = c.var;
      try {
        const made = await parts.registration.register({
          email: form.text("email"),
          name: form.text("name"),
        });
        return c.redirect(`/console/operator/accounts/${made.id}`, 303);
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await list(c, session, `${error.message}.`);
      }
    }),
  );
  app.get("/accounts/:id", about((c, session, account) => detail(c, session, account)));
  app.post(
    "/accounts/:id/grant",
    write(async ({ var: { form } }, account) => {
      const days = form.count("days");
      await sales.grant(account, {
        credits: form.count("credits") ?? 0,
        expiresAtMs: days === undefined ? null : now() + days * DAY_MS,
        note: form.text("note"),
        reference: form.reference,
      });
      return "granted";
    }),
  );
  app.post(
    "/accounts/:id/package",
    write(async ({ var: { form } }, account) => {
      const bought = sales.package(form.text("package"));
      const { reference } = form;
      await sales.sell(account, bought, { paid: form.text("paid") === "yes", reference });
      return "recorded";
    }),
  );
  app.post(
    "/accounts/:id/take-back",
    write(async ({ var: { form } }, account) => {
      await sales.takeBack(account, {
        lotId: form.text("lot"),
        credits: form.count("credits"),
        note: form.text("note"),
        reference: form.reference,
      });
      return "taken-back";
    }),
  );
  app.post(
    "/accounts/:id/disable",
    write(async (_c, account) => {
      await accounts.disable(account.email);
      return "disabled";
    }),
  );
  app.post(
    "/accounts/:id/enable",
    write(async (_c, account) => {
      await accounts.enable(account.email);
      return "enabled";
    }),
  );
  app.post(
    "/accounts/:id/keys/:key/revoke",
    write(async (c, account) => {
      const key = await keys.byId(c.req.param("key") ?? "");
      if (key === undefined || key.accountId !== account.id) {
        throw new AccountError("Key not found in this account");
      }
      await keys.revoke(key.id);
      return "revoked";
    }),
  );
  app.post(
    "/accounts/:id/link",
    about(async (c, session, account) => {
      try {
        const link = `${addressOf(c, config)}/console/link/${await sessions.makeLink(account)}`;
        return await detail(c, session, account, { link });
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await detail(c, session, account, { error: `${error.message}.` });
      }
    }),
  );
  app.post(
    "/accounts/:id/keys",
    about(async (c, session, account) => {
      try {
        const id = c.var.form.text("id") || undefined;
        const { secret } = await keys.issue(account, { id, name: "created by the operator" });
        return await detail(c, session, account, { made: secret });
      } catch (error) {
        if (!(error instanceof KeyThere)) throw error; // the page with the new key was reloaded
        return c.redirect(`/console/operator/accounts/${account.id}`, 303);
      }
    }),
  );

  app.get(
    "/live",
    only((c) => page(c, <LivePage page={pageOf(c)} running={running.all} nowMs={now()} />)),
  );
  const hosts = Object.fromEntries(
    Object.entries(configuredUpstreams(config.settings)).map((
      [name, { url }],
    ) => [name, new URL(url).host]),
  );
  app.get(
    "/upstreams",
    only((c) =>
      page(
        c,
        <UpstreamsPage page={pageOf(c)} upstreams={upstreams.all} hosts={hosts} nowMs={now()} />,
      )
    ),
  );
  app.get("/routes", only((c) => page(c, <RoutesPage page={pageOf(c)} routes={catalog.routes} />)));
  app.get(
    "/settings",
    only((c) => page(c, <SettingsPage page={pageOf(c)} settings={effectiveSettings(config)} />)),
  );
  app.get(
    "/invites",
    only(async (c) => {
      const inviters = await parts.registration.inviters();
      return await page(c, <InvitesPage page={pageOf(c)} inviters={inviters} />);
    }),
  );

  const file = databaseFile(config.settings);
  app.get(
    "/audit",
    only((c, { csrfToken }) =>
      page(c, <AuditPage page={pageOf(c)} csrf={csrfToken} canBackUp={file !== undefined} />)
    ),
  );
  app.post(
    "/audit",
    only(async (c, { csrfToken }) => {
      const startedTick = performance.now();
      const report = await parts.aside((database) => audit(database));
      const tookMs = performance.now() - startedTick;
      return await page(
        c,
        <AuditPage
          page={pageOf(c)}
          csrf={csrfToken}
          report={report}
          tookMs={tookMs}
          canBackUp={file !== undefined}
        />,
      );
    }),
  );
  app.post(
    "/backup",
    only(async (c) => {
      if (file === undefined) return await notFound(c);
      const copy = `${file}.download-${randomText(8)}`;
      await parts.aside((database) => backUp(database, copy));
      const opened = await Deno.open(copy);
      const { size } = await opened.stat();
      await Deno.remove(copy); // the open file stays readable until it is sent
      const day = new Date(now()).toISOString().slice(0, 10);
      return c.body(opened.readable, 200, {
        "content-type": "application/vnd.sqlite3",
        "content-length": String(size),
        "content-disposition": `attachment; filename="sluice-${day}.db"`,
      });
    }),
  );
  return app;
}
