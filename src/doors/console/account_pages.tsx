import {
  type Account,
  AccountError,
  can,
  DuplicateKey,
  type Key,
  type Session,
} from "../../people/accounts/mod.ts";
import { markRead, noticesOf, type Reader } from "../../operating/alerts/mod.ts";
import {
  KEEP_HOURS,
  KEY_CREATE,
  KEY_REVOKE,
  KEY_ROTATE,
  KEY_UPDATE,
} from "../../operating/operations/mod.ts";
import { budgetsOfKeys, creditsOf } from "../../money/ledger/mod.ts";
import { creditStatement, creditStatementCsv, spentByKey } from "../../money/usage/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { BUDGET_FORMS, budgetsOfForm, type Change } from "./budget_form.ts";
import { csvReply } from "./csv_reply.ts";
import { dollarRateOf } from "./dollars.ts";
import { expiryOf, keyChanges, modelsOf } from "./key_form.ts";
import { type Notice, noticeOf } from "./layout.tsx";
import { shopOf } from "./shop.ts";
import type { StatementView } from "./pages/credit_statement.tsx";
import { CreditsPage } from "./pages/credits.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { NoticesPage } from "./pages/notices.tsx";
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
} from "./request.tsx";

const PAGE_ROWS = 50;
const MAX_MONTHS = 120;
const HOUR_SECONDS = 3_600;

/** What everybody sees of their own account, besides Home. */
export class AccountPages {
  readonly #parts: ConsoleParts;

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
  }

  async keys(
    c: PageRequest,
    session: Session,
    more: { error?: string; made?: string } = {},
    status: number = STATUS_CODE.OK,
  ) {
    const { keys, catalog, database, now, teams } = this.#parts;
    const { account } = session;
    const own = await keys.list(account);
    const spent = await Promise.all(
      [...new Set([account.id, ...own.map(({ accountId }) => accountId)])]
        .map((payerId) => spentByKey(database, payerId)),
    );
    const inTeams = own.some(({ teamId }) => teamId !== null);
    const names = inTeams ? (await teams.list()).map(({ id, name }) => [id, name] as const) : [];
    return await page(
      c,
      <KeysPage
        page={pageOf(c)}
        csrf={session.csrfToken}
        keys={own.toReversed()}
        budgets={await budgetsOfKeys(database, own.map(({ id }) => id), now())}
        lastUse={await keys.lastUse(account)}
        spent={new Map(spent.flatMap((one) => [...one]))}
        teams={inTeams ? new Map(names) : undefined}
        mayChange={(key) => mayChange(session, key)}
        mayBudget={(key) => mayBudget(session, key)}
        models={catalog().routes.map(({ id }) => id)}
        address={addressOf(c, this.#parts.config)}
        done={doneOf(c)}
        nowMs={now()}
        {...more}
      />,
      status,
    );
  }

  async makeKey(c: PageRequest, session: Session): Promise<Response> {
    const { catalog, now } = this.#parts;
    const { form } = c.var;
    try {
      const { key } = await operate(c, this.#parts, session, [KEY_CREATE, {
        account: session.account.id,
        id: form.text("id") || undefined,
        name: form.text("name"),
        models: modelsOf(form, catalog()),
        expires_at: expiryOf(form, now()),
        budgets: budgetsOfForm(form),
      }]);
      return await this.keys(c, session, { made: String(key) });
    } catch (error) {
      // the page that shows a key was loaded again: it has been made, and is not shown twice
      if (error instanceof DuplicateKey) return seeOther(c, "/console/keys");
      if (!(error instanceof AccountError)) throw error;
      return await this.keys(c, session, { error: `${error.message}.` }, STATUS_CODE.BadRequest);
    }
  }

  /** The key in the path, if it is one that the visitor pays for or uses. */
  async #ownKey(c: PageRequest, { account }: Session): Promise<Key | undefined> {
    const key = await this.#parts.keys.byId(c.req.param("id") ?? "");
    const isOwn = key !== undefined &&
      (key.accountId === account.id || key.memberId === account.id);
    return isOwn ? key : undefined;
  }

  async revokeKey(c: PageRequest, session: Session): Promise<Response> {
    const key = await this.#ownKey(c, session);
    if (key === undefined) return notFound(c);
    await operate(c, this.#parts, session, [KEY_REVOKE, { key: key.id }]);
    return seeOther(c, "/console/keys?done=revoked");
  }

  async updateKey(c: PageRequest, session: Session): Promise<Response> {
    const { catalog, now } = this.#parts;
    return await this.#changeKey(c, session, async (key) => {
      const changes = keyChanges(c.var.form, key, { catalog: catalog(), nowMs: now() });
      await operate(c, this.#parts, session, [KEY_UPDATE, { key: key.id, ...changes }]);
      return seeOther(c, "/console/keys?done=key");
    });
  }

  /** Sets, raises or removes a budget of a key. */
  async budgetOfKey(c: PageRequest, session: Session, form: string): Promise<Response> {
    const { database, now } = this.#parts;
    return await this.#changeKey(c, session, async (key) => {
      if (!mayBudget(session, key)) return notFound(c);
      const owner = { owner: "key", ownerId: key.id } as const;
      const write = {
        database,
        owner,
        form: c.var.form,
        nowMs: now(),
        carryOut: (change: Change) => operate(c, this.#parts, session, change),
      };
      return seeOther(c, `/console/keys?done=${await BUDGET_FORMS[form]!(write)}`);
    });
  }

  async rotateKey(c: PageRequest, session: Session): Promise<Response> {
    return await this.#changeKey(c, session, async ({ id }) => {
      const hours = c.var.form.count("hours", "Hours", KEEP_HOURS) ?? 0;
      const input = {
        key: id,
        keep_seconds: hours * HOUR_SECONDS,
        end_earlier: c.var.form.has("end_earlier"),
      };
      const { key } = await operate(c, this.#parts, session, [KEY_ROTATE, input]);
      return await this.keys(c, session, { made: String(key) });
    });
  }

  async #changeKey(
    c: PageRequest,
    session: Session,
    work: (key: Key) => Promise<Response>,
  ): Promise<Response> {
    const key = await this.#ownKey(c, session);
    if (key === undefined || !mayChange(session, key)) return notFound(c);
    try {
      return await work(key);
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      return await this.keys(c, session, { error: `${error.message}.` }, STATUS_CODE.BadRequest);
    }
  }

  async notices(c: PageRequest, session: Session): Promise<Response> {
    const { database, now } = this.#parts;
    return await page(
      c,
      <NoticesPage
        page={pageOf(c)}
        title="Notices"
        action="/console/notices"
        csrf={session.csrfToken}
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
    notice: Notice | undefined = noticeOf({ done: doneOf(c) }),
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
        page={pageOf(c)}
        balance={balance}
        perUsd={dollarRateOf(config)}
        packages={sales.packages}
        shop={await shopOf(this.#parts, session, { account })}
        notice={notice}
        view={view}
        invite={{ code, link }}
        joined={joined}
      />,
      notice?.tone === "bad" ? STATUS_CODE.BadRequest : STATUS_CODE.OK,
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

/** Whether the visitor may change and rotate a key that it pays for or uses: not in a team where it was stopped. */
export function mayChange({ teams }: Session, { teamId, memberId }: Key): boolean {
  return teamId === null || memberId === null || teams.has(teamId);
}

/** Whether the visitor may set budgets of a key that it may change: those that a pool pays for are the lead's. */
function mayBudget(session: Session, key: Key): boolean {
  if (!mayChange(session, key)) return false;
  return key.accountId === session.account.id || key.teamId === null ||
    can(session, "team.budgets", { teamId: key.teamId });
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
