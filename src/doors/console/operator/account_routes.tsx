import {
  type Account,
  AccountError,
  type Action,
  can,
  DuplicateKey,
  type Role,
  ROLES,
  type Session,
} from "../../../people/accounts/mod.ts";
import { CREDITS, DAYS } from "../../../settings/config/mod.ts";
import {
  ACCOUNT_DISABLE,
  ACCOUNT_ENABLE,
  ACCOUNT_LINK,
  ACCOUNT_ROLE,
  CREDITS_GRANT,
  CREDITS_SELL,
  CREDITS_TAKE_BACK,
  isoOf,
  KEY_CREATE,
  KEY_REVOKE,
} from "../../../operating/operations/mod.ts";
import { budgetsOf, budgetsOfKeys, creditsOf, entriesOf } from "../../../money/ledger/mod.ts";
import { ReportError, reportUsage, spentByKey, usageQuery } from "../../../money/usage/mod.ts";
import { STATUS_CODE } from "../../../ground/std/mod.ts";
import {
  addressOf,
  type ConsoleParts,
  doneOf,
  notFound,
  operate,
  page,
  pageOf,
  type PageRequest,
  seeOther,
} from "../request.tsx";
import { BUDGET_FORMS, type Change } from "../budget_form.ts";
import { type ChartProps, MAX_SERIES } from "../chart.tsx";
import { reportChart } from "../usage_chart.ts";
import { debtOf } from "../../../money/payments/mod.ts";
import { AccountDetailPage } from "./account.tsx";
import type { Membership } from "./account_teams.tsx";
import { type GuardedApp, may } from "../guard.ts";

const ENTRIES_SHOWN = 20;
/** What the chart of an account shows. */
const USAGE_RANGE = "30d";
const DAY_MS = 86_400_000;

/** One account, and what an operator does for it. */
export function accountRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { accounts, keys, sales, database, catalog, now, config, teams, members } = parts;

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

  /** Its credits of the last 30 days by model, and as a comparison of the 30 before. */
  const usageOf = async ({ id: accountId }: Account): Promise<ChartProps | undefined> => {
    const usage = { database, accounts, teams, now };
    const report = (more: Readonly<Record<string, unknown>>) =>
      reportUsage(usage, usageQuery.parse(more), { accountId }, { reasons: "none" });
    try {
      const latest = await report({
        by: "day,model",
        since: USAGE_RANGE,
        compare: true,
        top: MAX_SERIES,
      });
      if (latest.rows.length === 0) return undefined;
      const { since, until } = latest.previous!;
      return reportChart(latest, await report({ by: "day", since, until }));
    } catch (error) {
      if (error instanceof ReportError) return undefined; // too many models for a chart
      throw error;
    }
  };

  const teamsOf = async (account: Account): Promise<readonly Membership[]> => {
    if (account.kind === "pool") {
      return (await teams.list()).filter(({ poolId }) => poolId === account.id)
        .map(({ id, name }) => ({ teamId: id, teamName: name }));
    }
    return (await members.ofAccount(account)).map(({ teamId, teamName, role, stoppedAtMs }) => ({
      teamId,
      teamName,
      role,
      isStopped: stoppedAtMs !== null,
    }));
  };

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
        debt={await debtOf(database, account.id)}
        teams={await teamsOf(account)}
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
        chart={await usageOf(account)}
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
    write("credits.move", async (c, account, session) => {
      const { form } = c.var;
      const days = form.count("days", "Days", DAYS);
      await operate(c, parts, session, [CREDITS_GRANT, {
        account: account.id,
        credits: form.amount("credits", "Credits", CREDITS),
        expires_at: days === undefined ? null : isoOf(now() + days * DAY_MS),
        note: form.text("note"),
        reference: form.reference,
      }]);
      return "granted";
    }),
  );
  app.post(
    "/accounts/:id/package",
    write("credits.move", async (c, account, session) => {
      const { form } = c.var;
      await operate(c, parts, session, [CREDITS_SELL, {
        account: account.id,
        package: form.text("package"),
        paid: form.text("paid") === "yes",
        reference: form.reference,
      }]);
      return "recorded";
    }),
  );
  app.post(
    "/accounts/:id/take-back",
    write("credits.move", async (c, account, session) => {
      const { form } = c.var;
      await operate(c, parts, session, [CREDITS_TAKE_BACK, {
        account: account.id,
        lot: form.text("lot"),
        credits: form.count("credits", "Credits", CREDITS),
        note: form.text("note"),
        reference: form.reference,
      }]);
      return "taken-back";
    }),
  );
  app.post(
    "/accounts/:id/disable",
    write("account.manage", async (c, account, session) => {
      await operate(c, parts, session, [ACCOUNT_DISABLE, { account: account.id }]);
      return "disabled";
    }),
  );
  app.post(
    "/accounts/:id/enable",
    write("account.manage", async (c, account, session) => {
      await operate(c, parts, session, [ACCOUNT_ENABLE, { account: account.id }]);
      return "enabled";
    }),
  );
  app.post(
    "/accounts/:id/keys/:key/revoke",
    write("account.manage", async (c, account, session) => {
      const key = await keys.byId(c.req.param("key") ?? "");
      if (key === undefined || key.accountId !== account.id) {
        throw new AccountError("Key not found in this account");
      }
      await operate(c, parts, session, [KEY_REVOKE, { key: key.id }]);
      return "revoked";
    }),
  );
  for (const [path, change] of Object.entries(BUDGET_FORMS)) {
    app.post(
      `/accounts/:id/${path}`,
      write("account.budgets", async (c, { id }, session) => {
        const owner = { owner: "account", ownerId: id } as const;
        const carryOut = (one: Change) => operate(c, parts, session, one);
        return await change({ database, owner, form: c.var.form, nowMs: now(), carryOut });
      }),
    );
  }
  app.post(
    "/accounts/:id/role",
    write("account.role", async (c, account, session) => {
      const role = c.var.form.choice("role", "a role", ROLES);
      if (!can(session, actionOfRole(account, role))) {
        throw new AccountError("Only an owner can make other owners");
      }
      await operate(c, parts, session, [ACCOUNT_ROLE, { account: account.id, role }]);
      return "role";
    }),
  );
  app.post(
    "/accounts/:id/link",
    about("account.manage", async (c, session, account) => {
      try {
        const about = { account: account.id };
        const { link } = await operate(c, parts, session, [ACCOUNT_LINK, about]);
        return await detail(c, session, account, { link: String(link) });
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
        const { key } = await operate(c, parts, session, [KEY_CREATE, {
          account: account.id,
          id,
          name: "created by the operator",
        }]);
        return await detail(c, session, account, { made: String(key) });
      } catch (error) {
        // the page that shows it was loaded again
        if (error instanceof DuplicateKey) {
          return seeOther(c, `/console/operator/accounts/${account.id}`);
        }
        if (!(error instanceof AccountError)) throw error;
        return await detail(c, session, account, { error: `${error.message}.` });
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
