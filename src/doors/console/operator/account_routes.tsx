import { type Account, can, ROLES, type Session } from "../../../people/accounts/mod.ts";
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
  mayOperate,
  subjectOfKey,
  subjectsOfKeys,
} from "../../../operating/operations/mod.ts";
import { budgetsOf, creditsOf, entriesOf } from "../../../money/ledger/mod.ts";
import { ReportError, reportUsage, usageQuery } from "../../../money/usage/mod.ts";
import { addressOf, type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";
import { addBudgetForms } from "../budget_form.ts";
import { type ChartProps, MAX_SERIES } from "../chart.tsx";
import { pageWithForms } from "../forms.ts";
import { madeOf } from "../key_form.ts";
import { keysView } from "../keys_view.ts";
import { reportChart } from "../usage_chart.ts";
import { debtOf } from "../../../money/payments/mod.ts";
import { AccountDetailPage } from "./account.tsx";
import type { Membership } from "./account_teams.tsx";
import type { GuardedApp } from "../guard.ts";
import type { MadeKey } from "../pages/key_forms.tsx";
import { DAY_MS } from "../../../ground/time.ts";

const ENTRIES_SHOWN = 20;
/** What the chart of an account shows. */
const USAGE_RANGE = "30d";

/** What the page shows besides the account. */
interface More {
  readonly link?: string;
  readonly made?: MadeKey;
  readonly error?: string;
}

/** One account, and what an operator does for it. */
export function accountRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { accounts, keys, sales, database, now, config, teams, members } = parts;

  /** Its credits of the last 30 days by model, and as a comparison of the 30 before. */
  const usageOf = async ({ id: accountId }: Account): Promise<ChartProps | undefined> => {
    const report = (more: Readonly<Record<string, unknown>>) =>
      reportUsage(parts, usageQuery.parse(more), { accountId }, { reasons: "none" });
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
    more: More = {},
  ) => {
    const own = (await keys.list(account)).filter(({ accountId }) => accountId === account.id);
    const subjects = await subjectsOfKeys(parts, own);
    return await page(
      c,
      <AccountDetailPage
        page={pageOf(c, more.error)}
        account={account}
        credits={await creditsOf(database, account.id, now())}
        debt={await debtOf(database, account.id)}
        teams={await teamsOf(account)}
        entries={await entriesOf(database, { accountId: account.id, limit: ENTRIES_SHOWN })}
        seesKeys={can(session, "account.keys")}
        mayOperate={(operation, more) => mayOperate(session, operation, { account, ...more })}
        mayRevoke={(key) => mayOperate(session, KEY_REVOKE, subjects.get(key.id))}
        view={await keysView(parts, account, own)}
        ownBudgets={await budgetsOf(
          database,
          { owner: "account", ownerId: account.id },
          now(),
        )}
        chart={await usageOf(account)}
        packages={sales.packages}
        address={addressOf(c, config)}
        {...more}
      />,
    );
  };

  const post = pageWithForms<{ readonly account: Account }, More>(app, parts, "/accounts/:id", {
    action: "account.read",
    async find(c) {
      const account = await accounts.byId(c.req.param("id") ?? "");
      return account === undefined ? undefined : { account };
    },
    show: (c, session, { account }, more) => detail(c, session, account, more),
  });
  post("/grant", CREDITS_GRANT, {
    input(form) {
      const days = form.count("days", "Days", DAYS);
      return {
        credits: form.amount("credits", "Credits", CREDITS),
        expires_at: days === undefined ? null : isoOf(now() + days * DAY_MS),
        note: form.text("note"),
        reference: form.reference,
      };
    },
    done: "granted",
  });
  post("/package", CREDITS_SELL, {
    input: (form) => ({
      package: form.text("package"),
      paid: form.text("paid") === "yes",
      reference: form.reference,
    }),
    done: "recorded",
  });
  post("/take-back", CREDITS_TAKE_BACK, {
    input: (form) => ({
      lot: form.text("lot"),
      credits: form.count("credits", "Credits", CREDITS),
      note: form.text("note"),
      reference: form.reference,
    }),
    done: "taken-back",
  });
  post("/disable", ACCOUNT_DISABLE, { done: "disabled" });
  post("/enable", ACCOUNT_ENABLE, { done: "enabled" });
  post("/keys/:key/revoke", KEY_REVOKE, {
    async about(c, { account }) {
      const key = await keys.byId(c.req.param("key") ?? "");
      if (key === undefined || key.accountId !== account.id) return undefined;
      return await subjectOfKey(parts, key);
    },
    missing: "Key not found in this account",
    done: "revoked",
  });
  addBudgetForms(post, parts, {
    path: "",
    owner: ({ account }: { readonly account: Account }) => ({
      owner: "account",
      ownerId: account.id,
    }),
  });
  post("/role", ACCOUNT_ROLE, {
    input: (form) => ({ role: form.choice("role", "a role", ROLES) }),
    done: "role",
  });
  post("/link", ACCOUNT_LINK, { shows: ({ link }) => ({ link: String(link) }) });
  post("/keys", KEY_CREATE, {
    input: (form) => ({ id: form.text("id") || undefined, name: "created by the operator" }),
    shows: madeOf(parts),
  });
}
