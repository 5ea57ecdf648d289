import type { Account, Session } from "../../people/accounts/mod.ts";
import { markRead, noticesOf, type Reader } from "../../operating/alerts/mod.ts";
import { KEY_CREATE, subjectOfKey } from "../../operating/operations/mod.ts";
import { creditsOf } from "../../money/ledger/mod.ts";
import { creditStatement, creditStatementCsv } from "../../money/usage/mod.ts";
import { csvReply } from "./csv_reply.ts";
import { dollarRateOf } from "./dollars.ts";
import { pageWithForms } from "./forms.ts";
import { type GuardedApp, may } from "./guard.ts";
import { addKeyForms, madeOf, newKeyIn } from "./key_form.ts";
import { mayChangeOf } from "./key_rights.ts";
import { keysView } from "./keys_view.ts";
import { shopOf } from "./shop.ts";
import type { StatementView } from "./pages/credit_statement.tsx";
import { CreditsPage } from "./pages/credits.tsx";
import type { MadeKey } from "./pages/key_forms.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { toolGrantsOf } from "./tool_pages.tsx";
import { NoticesPage } from "./pages/notices.tsx";
import {
  addressOf,
  type ConsoleParts,
  page,
  pageOf,
  type PageRequest,
  seeOther,
} from "./request.tsx";

const PAGE_ROWS = 50;
const MAX_MONTHS = 120;

/** Adds what everybody sees of their own account, besides Home and what is bought. */
export function ownRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { catalog, database, keys, now } = parts;
  const post = pageWithForms<Pick<Session, "account">, { readonly made?: MadeKey }>(
    app,
    parts,
    "/console/keys",
    { action: "self.use", show: (c, session, _page, more) => keysPage(c, parts, session, more) },
  );
  post("", KEY_CREATE, { input: (form) => newKeyIn(form, catalog(), now()), shows: madeOf(parts) });
  addKeyForms(post, parts, "/:id", {
    async about(c, { account: { id } }) {
      const key = await keys.byId(c.req.param("id") ?? "");
      return key === undefined || ![key.accountId, key.memberId].includes(id)
        ? undefined
        : await subjectOfKey(parts, key);
    },
  });
  app.get(
    "/console/notices",
    may("self.use", async (c, session) =>
      await page(
        c,
        <NoticesPage
          page={pageOf(c)}
          title="Notices"
          action="/console/notices"
          notices={await noticesOf(database, readerOf(session), PAGE_ROWS)}
          nowMs={now()}
          isRead={({ accountReadAtMs }) => accountReadAtMs !== null}
          shows="nothing else"
        />,
      )),
  );
  app.post(
    "/console/notices",
    may("self.use", async (c, session) => {
      const upToMs = c.var.form.count("up_to");
      if (upToMs !== undefined) {
        await markRead(database, { upToMs, nowMs: now(), reader: readerOf(session) });
      }
      return seeOther(c, "/console/notices");
    }),
  );
  app.get(
    "/console/credits.csv",
    may("self.use", async (c, { account }) => {
      const { statement } = await statementOf(c, parts, account);
      return csvReply(`credits-${statement.month}.csv`, creditStatementCsv(statement));
    }),
  );
}

async function keysPage(
  c: PageRequest,
  parts: ConsoleParts,
  session: Session,
  more: { readonly error?: string; readonly made?: MadeKey },
): Promise<Response> {
  const { keys, teams } = parts;
  const { account } = session;
  const grants = toolGrantsOf(parts);
  const all = await keys.list(account);
  const ofTools = await grants.keysAmong(all.map(({ id }) => id));
  const own = all.filter(({ id }) => !ofTools.has(id));
  const inTeams = own.some(({ teamId }) => teamId !== null);
  const names = inTeams ? (await teams.list()).map(({ id, name }) => [id, name] as const) : [];
  return await page(
    c,
    <KeysPage
      page={pageOf(c, more.error)}
      view={await keysView(parts, account, own)}
      teams={inTeams ? new Map(names) : undefined}
      mayChange={await mayChangeOf(parts, session, own)}
      address={addressOf(c, parts.config)}
      tools={await grants.list(account)}
      {...more}
    />,
  );
}

/** Shows the credits of the visitor's account, with what they can buy. */
export async function creditsPage(
  c: PageRequest,
  parts: ConsoleParts,
  session: Session,
  error?: string,
): Promise<Response> {
  const { account } = session;
  const { database, accounts, registration, sales, config, now } = parts;
  const [{ balance }, view, code, joined] = await Promise.all([
    creditsOf(database, account.id, now()),
    statementOf(c, parts, account),
    accounts.inviteCode(account),
    registration.invitations(account),
  ]);
  const link = `${addressOf(c, config)}/console/register?code=${code}`;
  return await page(
    c,
    <CreditsPage
      page={pageOf(c, error)}
      balance={balance}
      perUsd={dollarRateOf(config)}
      packages={sales.packages}
      shop={await shopOf(parts, session, { account })}
      view={view}
      invite={{ code, link }}
      joined={joined}
    />,
  );
}

/** The statement of the month in the address, or of this one. */
async function statementOf(
  c: PageRequest,
  { database, now }: ConsoleParts,
  { id, createdAtMs }: Account,
): Promise<StatementView> {
  const months = monthsSince(createdAtMs, now());
  const wanted = c.req.query("month") ?? "";
  const month = /^20\d\d-(0[1-9]|1[0-2])$/.test(wanted)
    ? wanted
    : new Date(months[0]!).toISOString().slice(0, 7);
  const statement = await creditStatement(database, { accountId: id, month, nowMs: now() });
  return { statement, months };
}

/** Starts of the UTC months from one that a time is in, newest first; at most ten years of them. */
function monthsSince(firstMs: number, nowMs: number): readonly number[] {
  const at = new Date(nowMs);
  const months = Array.from(
    { length: MAX_MONTHS },
    (_, back) => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - back),
  );
  return months.filter((_, back) => back === 0 || months[back - 1]! > firstMs);
}

/** Whose notices a session shows. */
function readerOf({ account, teams }: Session): Reader {
  const leads = [...teams].filter(([, role]) => role === "lead").map(([id]) => id);
  return { accountId: account.id, leads };
}
