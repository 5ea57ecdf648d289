import {
  type Account,
  AccountError,
  type Action,
  can,
  DuplicateKey,
  type Role,
  ROLES,
  type Session,
} from "../../accounts/mod.ts";
import { budgetsOf, budgetsOfKeys, creditsOf, entriesOf } from "../../ledger/mod.ts";
import { spentByKey } from "../../usage/mod.ts";
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
import { BUDGET_FORMS } from "../budget_form.ts";
import { AccountDetailPage } from "./account.tsx";
import { type GuardedApp, may } from "../guard.ts";

const ENTRIES_SHOWN = 20;
const DAY_MS = 86_400_000;

/** One account, and what an operator does for it. */
export function accountRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { accounts, keys, sales, database, sessions, catalog, now, config } = parts;

  /** For pages about one account; what is managed of an owner's account needs more. */
  const about = (
    action: Action,
    handler: (c: PageRequest, session: Session, account: Account) => Promise<Response>,
  ) =>
    may(action, async (c, session) => {
      const account = await accounts.byId(c.req.param("id") ?? "");
      if (account === undefined) return notFound(c);
      return can(session, actionOn(account, action))
        ? await handler(c, session, account)
        : notFound(c);
    });

  const detail = async (
    c: PageRequest,
    session: Session,
    account: Account,
    more: { link?: string; made?: string; error?: string } = {},
  ) => {
    const own = (await keys.list(account)).filter(({ accountId }) => accountId === account.id);
    return await page(
      c,
      <AccountDetailPage
        page={pageOf(c)}
        csrf={session.csrfToken}
        account={account}
        credits={await creditsOf(database, account.id, now())}
        entries={await entriesOf(database, { accountId: account.id, limit: ENTRIES_SHOWN })}
        may={(action) => can(session, actionOn(account, action))}
        keys={own.toReversed()}
        budgets={await budgetsOfKeys(database, own.map(({ id }) => id), now())}
        ownBudgets={await budgetsOf(
          database,
          { owner: "account", ownerId: account.id },
          now(),
        )}
        lastUse={await keys.lastUse(account)}
        spent={await spentByKey(database, account.id)}
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
  const write = (
    action: Action,
    work: (c: PageRequest, account: Account, session: Session) => Promise<string>,
  ) =>
    about(action, async (c, session, account) => {
      try {
        const done = await work(c, account, session);
        return seeOther(c, `/console/operator/accounts/${account.id}?done=${done}`);
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await detail(c, session, account, { error: `${error.message}.` });
      }
    });

  app.get(
    "/accounts/:id",
    about("account.read", (c, session, account) => detail(c, session, account)),
  );
  app.post(
    "/accounts/:id/grant",
    write("credits.move", async ({ var: { form } }, account) => {
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
    write("credits.move", async ({ var: { form } }, account) => {
      const bought = sales.package(form.text("package"));
      const { reference } = form;
      await sales.sell(account, bought, { paid: form.text("paid") === "yes", reference });
      return "recorded";
    }),
  );
  app.post(
    "/accounts/:id/take-back",
    write("credits.move", async ({ var: { form } }, account) => {
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
    write("account.manage", async (_c, account) => {
      await accounts.disable(account.email);
      return "disabled";
    }),
  );
  app.post(
    "/accounts/:id/enable",
    write("account.manage", async (_c, account) => {
      await accounts.enable(account.email);
      return "enabled";
    }),
  );
  app.post(
    "/accounts/:id/keys/:key/revoke",
    write("account.manage", async (c, account) => {
      const key = await keys.byId(c.req.param("key") ?? "");
      if (key === undefined || key.accountId !== account.id) {
        throw new AccountError("Key not found in this account");
      }
      await keys.revoke(key.id);
      return "revoked";
    }),
  );
  for (const [path, change] of Object.entries(BUDGET_FORMS)) {
    app.post(
      `/accounts/:id/${path}`,
      write("account.budgets", async ({ var: { form } }, { id }) => {
        const owner = { owner: "account", ownerId: id } as const;
        return await change({ database, owner, form, nowMs: now() });
      }),
    );
  }
  app.post(
    "/accounts/:id/role",
    write("account.role", async ({ var: { form } }, account, session) => {
      const wanted = form.text("role");
      const role = ROLES.find((one) => one === wanted);
      if (role === undefined) throw new AccountError("Select a role");
      if (!can(session, actionOfRole(account, role))) {
        throw new AccountError("Only an owner can make other owners");
      }
      await accounts.setRole(account.email, role);
      return "role";
    }),
  );
  app.post(
    "/accounts/:id/link",
    about("account.manage", async (c, session, account) => {
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
    about("account.manage", async (c, session, account) => {
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

/** The action that is needed on an account instead of another: managing an owner's takes an owner. */
function actionOn({ role }: Account, action: Action): Action {
  if (role !== "owner") return action;
  if (action === "account.manage") return "account.manage_owner";
  if (action === "account.budgets") return "account.manage_owner";
  return action === "account.role" ? "account.role_owner" : action;
}

/** The action of giving an account a role. */
function actionOfRole(account: Account, role: Role): Action {
  return role === "owner" ? "account.role_owner" : actionOn(account, "account.role");
}
