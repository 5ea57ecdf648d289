import type { Account, Session } from "../../people/accounts/mod.ts";
import { markRead, noticesOf, type Reader } from "../../operating/alerts/mod.ts";
import { creditsOf } from "../../money/ledger/mod.ts";
import { creditStatement, creditStatementCsv } from "../../money/usage/mod.ts";
import { csvReply } from "./csv_reply.ts";
import { dollarRateOf } from "./dollars.ts";
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

/** What everybody sees of their own account, besides Home. */
export class AccountPages {
  readonly #parts: ConsoleParts;

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
  }

  async keys(
    c: PageRequest,
    session: Session,
    more: { error?: string; made?: MadeKey } = {},
  ) {
    const { keys, teams } = this.#parts;
    const { account } = session;
    const grants = toolGrantsOf(this.#parts);
    const all = await keys.list(account);
    const ofTools = await grants.keysAmong(all.map(({ id }) => id));
    const own = all.filter(({ id }) => !ofTools.has(id));
    const inTeams = own.some(({ teamId }) => teamId !== null);
    const names = inTeams ? (await teams.list()).map(({ id, name }) => [id, name] as const) : [];
    return await page(
      c,
      <KeysPage
        page={pageOf(c, more.error)}
        view={await keysView(this.#parts, account, own)}
        teams={inTeams ? new Map(names) : undefined}
        mayChange={await mayChangeOf(this.#parts, session, own)}
        address={addressOf(c, this.#parts.config)}
        tools={await grants.list(account)}
        {...more}
      />,
    );
  }

  async notices(c: PageRequest, session: Session): Promise<Response> {
    const { database, now } = this.#parts;
    return await page(
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
    );
  }

  async readNotices(c: PageRequest, session: Session): Promise<Response> {
    const { database, now } = this.#parts;
    const upToMs = c.var.form.count("up_to");
    if (upToMs !== undefined) {
      await markRead(database, { upToMs, nowMs: now(), reader: readerOf(session) });
    }
    return seeOther(c, "/console/notices");
  }

  async credits(
    c: PageRequest,
    session: Session,
    error?: string,
  ): Promise<Response> {
    const { account } = session;
    const { database, accounts, registration, sales, config, now } = this.#parts;
    const [{ balance }, view, code, joined] = await Promise.all([
      creditsOf(database, account.id, now()),
      this.#statement(c, account),
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
        shop={await shopOf(this.#parts, session, { account })}
        view={view}
        invite={{ code, link }}
        joined={joined}
      />,
    );
  }

  /** The statement of the month in the address, as CSV. */
  async creditsCsv(c: PageRequest, { account }: Session): Promise<Response> {
    const { statement } = await this.#statement(c, account);
    return csvReply(`credits-${statement.month}.csv`, creditStatementCsv(statement));
  }

  /** The statement of the month in the address, or of this one. */
  async #statement(c: PageRequest, { id, createdAtMs }: Account): Promise<StatementView> {
    const { database, now } = this.#parts;
    const months = monthsSince(createdAtMs, now());
    const wanted = c.req.query("month") ?? "";
    const month = /^20\d\d-(0[1-9]|1[0-2])$/.test(wanted)
      ? wanted
      : new Date(months[0]!).toISOString().slice(0, 7);
    const statement = await creditStatement(database, { accountId: id, month, nowMs: now() });
    return { statement, months };
  }
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
