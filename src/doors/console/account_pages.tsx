import { type Account, type Key, type Session } from "../../people/accounts/mod.ts";
import { markRead, noticesOf, type Reader } from "../../operating/alerts/mod.ts";
import {
  KEY_UPDATE,
  mayOperate,
  ORDER_CREATE,
  subjectsOfKeys,
  type WriteOperation,
} from "../../operating/operations/mod.ts";
import {
  balancesOf,
  type Budget,
  budgetsOfKeys,
  budgetsOn,
  creditsOf,
  type WindowState,
} from "../../money/ledger/mod.ts";
import {
  creditStatement,
  creditStatementCsv,
  daysSince,
  monthStart,
  reportUsage,
  spentByKey,
  usageOverTime,
  type UsagePoint,
  usageQuery,
} from "../../money/usage/mod.ts";
import { debtOf } from "../../money/payments/mod.ts";
import { toldApart } from "../../ground/platform/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { burnRateOf, comparedMonths } from "./burn_rate.ts";
import { csvReply } from "./csv_reply.ts";
import { dollarRateOf } from "./dollars.ts";
import { type Notice, noticeOf } from "./layout.tsx";
import { shopOf } from "./shop.ts";
import type { StatementView } from "./pages/credit_statement.tsx";
import { CreditsPage } from "./pages/credits.tsx";
import { HomePage, type UsedLimit } from "./pages/home.tsx";
import { POOLS_SHOWN, type TeamPool } from "./pages/home_pools.tsx";
import { isActive, KeysPage } from "./pages/keys.tsx";
import { NoticesPage } from "./pages/notices.tsx";
import {
  addressOf,
  type ConsoleParts,
  doneOf,
  page,
  pageOf,
  type PageRequest,
  seeOther,
} from "./request.tsx";

const PAGE_ROWS = 50;
const DAY_MS = 86_400_000;
const MAX_MONTHS = 120;
/** Number of keys whose nearest rate limit the home page shows. */
const LIMITS_SHOWN = 8;

/** What everybody sees of their own account. */
export class AccountPages {
  readonly #parts: ConsoleParts;

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
  }

  async home(c: PageRequest, session: Session): Promise<Response> {
    const { account } = session;
    const { catalog, database, keys, config, liveRequests, now } = this.#parts;
    const nowMs = now();
    const months = comparedMonths(nowMs);
    const lastDayMs = startOfDay(months.lastUntilMs);
    const [credits, points, lastDay, own, lastUse, inFlight, debt] = await Promise.all([
      creditsOf(database, account.id, nowMs),
      usageOverTime(database, {
        accountId: account.id,
        span: "day",
        sinceMs: Math.min(daysSince(nowMs, 60), months.lastSinceMs),
      }),
      // of that day of last month, the hours until now
      usageOverTime(database, {
        accountId: account.id,
        span: "hour",
        sinceMs: lastDayMs,
        untilMs: months.lastUntilMs,
      }),
      keys.list(account),
      keys.lastUse(account),
      liveRequests(),
      debtOf(database, account.id),
    ]);
    const active = own.filter((key) => isActive(key, nowMs))
      .toSorted((a, b) => (lastUse.get(b.id) ?? 0) - (lastUse.get(a.id) ?? 0));
    const mayChange = await this.#mayChange(session, active);
    const between = (sinceMs: number, untilMs: number) =>
      points.filter(({ atMs }) => atMs >= sinceMs && atMs < untilMs);
    const month = between(months.thisSinceMs, Infinity);
    const before = [...between(months.lastSinceMs, lastDayMs), ...lastDay];
    const today = between(startOfDay(nowMs), Infinity);
    // accounts of another gateway may have been imported with what they had used
    const createdAtMs = Math.min(account.createdAtMs, points[0]?.atMs ?? Infinity);
    return await page(
      c,
      <HomePage
        page={pageOf(c)}
        credits={credits}
        perUsd={dollarRateOf(config)}
        rate={burnRateOf(new Map(points.map(({ atMs, credits }) => [atMs, credits])), {
          createdAtMs,
          lots: credits.lots,
          nowMs,
        })}
        today={{ credits: creditsIn(today), requests: requestsIn(today) }}
        month={{
          credits: creditsIn(month),
          requests: requestsIn(month),
          before: createdAtMs > months.lastSinceMs ? undefined : creditsIn(before),
          beforeSinceMs: months.lastSinceMs,
          beforeUntilMs: months.lastUntilMs,
        }}
        debt={debt}
        inFlight={inFlight.filter(({ accountId }) => accountId === account.id).length}
        points={points}
        {...await this.#limits(active, { account, lastUse, nowMs })}
        budgets={await this.#budgetsOn(active.filter((key) => mayChange(key, KEY_UPDATE)), session)}
        keys={active}
        pools={await this.#pools(session, { own, active, lastUse })}
        models={catalog().routes.length}
        nowMs={nowMs}
      />,
    );
  }

  /** Pools of the teams that the visitor is in, with what the visitor's keys spent of them this month. */
  async #pools(
    session: Session,
    { own, active, lastUse }: {
      own: readonly Key[];
      active: readonly Key[];
      lastUse: ReadonlyMap<string, number>;
    },
  ): Promise<readonly TeamPool[]> {
    const { accounts, database, teams, now } = this.#parts;
    const all = await Promise.all([...session.teams.keys()].map((id) => teams.byId(id)));
    const pooled = all.flatMap((team) =>
      team === undefined || team.poolId === null || team.disabledAtMs !== null
        ? []
        : [{ ...team, poolId: team.poolId }]
    );
    if (pooled.length === 0) return [];
    const balances = await balancesOf(database, pooled.map(({ poolId }) => poolId));
    const usage = { database, accounts, teams, now };
    const query = usageQuery.parse({ by: "month", since: "month", member: session.account.email });
    const found = pooled.map((team) => {
      const keys = own.filter(({ teamId }) => teamId === team.id);
      return {
        team,
        balance: balances.get(team.poolId)?.balance ?? 0,
        keys: active.filter(({ teamId }) => teamId === team.id).length,
        mayBuy: mayOperate(session, ORDER_CREATE, { team }),
        usedAtMs: Math.max(0, ...keys.map(({ id }) => lastUse.get(id) ?? 0)),
      };
    }).toSorted((a, b) => b.usedAtMs - a.usedAtMs || (a.team.name < b.team.name ? -1 : 1));
    return await Promise.all(found.map(async (pool, at) => ({
      ...pool,
      month: at >= POOLS_SHOWN || pool.usedAtMs < monthStart(now())
        ? { credits: 0, requests: 0 }
        : (await reportUsage(usage, query, { teamId: pool.team.id }, { reasons: "none" })).totals,
    })));
  }

  /** Of each key that was used today the limit that is nearest, if any of it is used; and the limits of a key. */
  async #limits(
    active: readonly Key[],
    { account, lastUse, nowMs }: {
      account: Account;
      lastUse: ReadonlyMap<string, number>;
      nowMs: number;
    },
  ): Promise<{ limits: readonly UsedLimit[]; tier: readonly WindowState[] }> {
    const { admission } = this.#parts;
    const statusOf = (accountId: string, keyId: string) =>
      admission.accountStatus({ accountId, keyId });
    const recent = active.filter(({ id }) => (lastUse.get(id) ?? 0) >= startOfDay(nowMs))
      .slice(0, LIMITS_SHOWN);
    const [own, ...ofKeys] = await Promise.all([
      statusOf(account.id, ""),
      ...recent.map(({ id, accountId }) => statusOf(accountId, id)),
    ]);
    const nearest = (key: Key | undefined, windows: readonly WindowState[]): UsedLimit[] =>
      windows.filter(({ used, of }) => used > 0 && of === (key === undefined ? "account" : "key"))
        .toSorted((a, b) => b.used / b.limit - a.used / a.limit)
        .slice(0, 1).map((window) => ({ key, window }));
    return {
      limits: [
        ...nearest(undefined, own!.windows),
        ...ofKeys.flatMap(({ windows }, at) => nearest(recent[at], windows)),
      ],
      tier: own!.windows.filter(({ of }) => of === "key"),
    };
  }

  /** The budgets that apply to keys, with the names of their owners. */
  async #budgetsOn(
    keys: readonly Key[],
    { account }: Session,
  ): Promise<{ budget: Budget; of: string }[]> {
    const { database, now, teams } = this.#parts;
    const budgets = await budgetsOn(database, keys.map(({ id }) => id), now());
    const teamNames = new Map<string, string>();
    for (const teamId of new Set(keys.flatMap(({ teamId }) => teamId ?? []))) {
      teamNames.set(teamId, (await teams.byId(teamId))?.name ?? teamId);
    }
    const labels = toldApart(keys);
    const nameOf = ({ owner, ownerId }: Budget) => {
      if (owner === "key") return `the key ${labels.get(ownerId) ?? ownerId}`;
      if (owner === "team") return `the team ${teamNames.get(ownerId)}`;
      if (owner === "member") return `your keys of ${teamNames.get(ownerId.split(":")[0]!)}`;
      return ownerId === account.id ? "this account" : "the team's pool";
    };
    return budgets.map((budget) => ({ budget, of: nameOf(budget) }));
  }

  /** Returns what says whether the visitor may do a write of one of the keys. */
  async #mayChange(session: Session, all: readonly Key[]) {
    const subjects = await subjectsOfKeys(this.#parts, all);
    return (key: Key, operation: WriteOperation) =>
      mayOperate(session, operation, subjects.get(key.id));
  }

  async keys(
    c: PageRequest,
    session: Session,
    more: { error?: string; made?: string } = {},
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
        mayChange={await this.#mayChange(session, own)}
        models={catalog().routes.map(({ id }) => id)}
        address={addressOf(c, this.#parts.config)}
        done={doneOf(c)}
        nowMs={now()}
        {...more}
      />,
      more.error === undefined ? STATUS_CODE.OK : STATUS_CODE.BadRequest,
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

function creditsIn(points: readonly UsagePoint[]): number {
  return points.reduce((sum, { credits }) => sum + credits, 0);
}

function requestsIn(points: readonly UsagePoint[]): number {
  return points.reduce((sum, { requests }) => sum + requests, 0);
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
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
