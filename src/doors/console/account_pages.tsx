import type { Account, Session } from "../../people/accounts/mod.ts";
import { markRead, noticesOf, type Reader } from "../../operating/alerts/mod.ts";
import { KEY_CREATE, subjectOfKey } from "../../operating/operations/mod.ts";
import type { Invitation } from "../../money/billing/mod.ts";
import { creditsOf } from "../../money/ledger/mod.ts";
import { creditStatement, creditStatementCsv } from "../../money/usage/mod.ts";
import { Copyable, Stat, Table, Time } from "./components.tsx";
import { csvReply } from "./csv_reply.ts";
import { dollarRateOf } from "./dollars.ts";
import { number } from "./format.ts";
import { pageWithForms } from "./forms.ts";
import { type GuardedApp, may } from "./guard.ts";
import { addKeyForms, madeOf, newKeyIn } from "./key_form.ts";
import { mayChangeOf } from "./key_rights.ts";
import { keysView } from "./keys_view.ts";
import { Layout } from "./layout.tsx";
import { BalanceStat } from "./live_stats.tsx";
import { shopOf } from "./shop.ts";
import { CreditStatementSection, type StatementView } from "./pages/credit_statement.tsx";
import { JOINED_SHOWN, OtherJoined } from "./pages/joined.tsx";
import { Debt, Packages } from "./pages/packages.tsx";
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
  const shop = await shopOf(parts, session, { account });
  return await page(
    c,
    <Layout page={pageOf(c, error)} title="Credits">
      <Debt shop={shop} />
      <dl class="stats">
        <Stat {...BalanceStat({ balance, held: 0, perUsd: dollarRateOf(config) })} />
        <Stat name="Invited" value={joined.length} note="people" />
        <Stat
          name="Earned by inviting"
          value={joined.reduce((sum, { earned }) => sum + earned, 0)}
          note="credits"
        />
      </dl>
      <nav class="tabs" aria-label="On this page">
        <a href="#buy">Buy</a>
        <a href="#statement">Statement</a>
        <a href="#invite">Invite</a>
      </nav>
      <h2 id="buy">Packages</h2>
      <Packages packages={sales.packages} shop={shop} />
      <CreditStatementSection {...view} />
      <h2 id="invite">Invite others</h2>
      <p>
        You earn credits for everyone who registers with your code, and more at their first payment.
      </p>
      <div class="grid">
        <Copyable text={code} label="your invite code" />
        <Copyable text={link} label="your invite link" />
      </div>
      <h2>Invited people</h2>
      <Table<Invitation>
        caption="People who joined with your code, newest first"
        rows={joined.toReversed().slice(0, JOINED_SHOWN)}
        empty="Nobody has joined with your code yet."
        columns={[
          { name: "email", cell: ({ email }) => email },
          { name: "joined", cell: ({ joinedAtMs }) => <Time ms={joinedAtMs} dayOnly /> },
          { name: "earned", role: "figure", cell: ({ earned }) => number(earned) },
        ]}
      />
      <OtherJoined all={joined.length} />
    </Layout>,
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
