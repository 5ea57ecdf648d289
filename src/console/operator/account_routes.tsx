import { type Account, AccountError, DuplicateKey, type Session } from "../../accounts/mod.ts";
import { budgetsOfKeys, creditsOf, entriesOf } from "../../ledger/mod.ts";
import { STATUS_CODE } from "../../std/mod.ts";
import {
  addressOf,
  type ConsoleParts,
  doneOf,
  notFound,
  page,
  pageOf,
  type PageRequest,
  seeOther,
} from "../request.tsx";
import { AccountDetailPage } from "./account.tsx";
import { type OperatorApp, operatorOnly } from "./operator_only.ts";

const ENTRIES_SHOWN = 20;
const DAY_MS = 86_400_000;

/** One account, and what an operator does for it. */
export function accountRoutes(app: OperatorApp, parts: ConsoleParts): void {
  const { accounts, keys, sales, database, sessions, catalog, now, config } = parts;

  /** For pages about one account. */
  const about = (
    handler: (c: PageRequest, session: Session, account: Account) => Promise<Response>,
  ) =>
    operatorOnly(async (c, session) => {
      const account = await accounts.byId(c.req.param("id") ?? "");
      return account === undefined ? notFound(c) : await handler(c, session, account);
    });

  const detail = async (
    c: PageRequest,
    session: Session,
    account: Account,
    more: { link?: string; made?: string; error?: string } = {},
  ) => {
    const own = await keys.list(account);
    return await page(
      c,
      <AccountDetailPage
        page={pageOf(c)}
        csrf={session.csrfToken}
        account={account}
        credits={await creditsOf(database, account.id, now())}
        entries={await entriesOf(database, { accountId: account.id, limit: ENTRIES_SHOWN })}
        keys={own.toReversed()}
        budgets={await budgetsOfKeys(database, own.map(({ id }) => id), now())}
        lastUse={await keys.lastUse(account)}
        packages={sales.packages}
        models={catalog().routes.map(({ id }) => id)}
        address={addressOf(c, config)}
        done={doneOf(c)}
        nowMs={now()}
        {...more}
      />,
      more.error === undefined ? STATUS_CODE.OK : STATUS_CODE.BadRequest,
    );
  };

  /** A write about one account; errors are shown on the account's page. */
  const write = (work: (c: PageRequest, account: Account) => Promise<string>) =>
    about(async (c, session, account) => {
      try {
        const done = await work(c, account);
        return seeOther(c, `/console/operator/accounts/${account.id}?done=${done}`);
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await detail(c, session, account, { error: `${error.message}.` });
      }
    });

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
        if (!(error instanceof DuplicateKey)) throw error; // the page that shows it was loaded again
        return seeOther(c, `/console/operator/accounts/${account.id}`);
      }
    }),
  );
}
