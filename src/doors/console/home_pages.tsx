import type { Account, Key, Session } from "../../people/accounts/mod.ts";
import {
  balancesOf,
  type Budget,
  budgetsOn,
  creditsOf,
  type WindowState,
} from "../../money/ledger/mod.ts";
import {
  accountUsage,
  creditsIn,
  daysSince,
  monthStart,
  reportUsage,
  untilNow,
  usageQuery,
} from "../../money/usage/mod.ts";
import { KEY_UPDATE, mayOperate, ORDER_CREATE } from "../../operating/operations/mod.ts";
import { debtOf } from "../../money/payments/mod.ts";
import { toldApart } from "../../ground/platform/mod.ts";
import { burnRateOf, comparedMonths } from "./burn_rate.ts";
import { dollarRateOf } from "./dollars.ts";
import { type GuardedApp, may } from "./guard.ts";
import { mayChangeOf } from "./key_rights.ts";
import { HomePage } from "./pages/home.tsx";
import type { UsedLimit } from "./pages/home_props.ts";
import { POOLS_SHOWN, type TeamPool } from "./pages/home_pools.tsx";
import { isActive } from "./pages/key_table.tsx";
import { type ConsoleParts, page, pageOf } from "./request.tsx";
import { toolGrantsOf } from "./tool_pages.tsx";
import { DAY_MS, startOf } from "../../ground/time.ts";

/** Number of keys whose nearest rate limit the page shows. */
const LIMITS_SHOWN = 8;

/** Adds Home: what an account has, spends and is limited by. */
export function homeRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { catalog, config, database, keys, liveRequests, now } = parts;
  app.get(
    "/console",
    may("self.use", async (c, session) => {
      const { account } = session;
      const nowMs = now();
      const months = comparedMonths(nowMs);
      const lastDayMs = startOf(months.lastUntilMs, DAY_MS);
      const [credits, points, lastDay, own, lastUse, inFlight, debt] = await Promise.all([
        creditsOf(database, account.id, nowMs),
        accountUsage(database, {
          accountIds: [account.id],
          by: ["day"],
          sinceMs: Math.min(daysSince(nowMs, 60), months.lastSinceMs),
          untilMs: untilNow(nowMs),
        }),
        // of that day of last month, the hours until now
        accountUsage(database, {
          accountIds: [account.id],
          by: [],
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
      const ofTools = await toolGrantsOf(parts).keysAmong(active.map(({ id }) => id));
      const mayChange = await mayChangeOf(parts, session, active);
      const between = (sinceMs: number, untilMs: number) =>
        points.filter(({ day }) => day >= sinceMs && day < untilMs);
      const month = between(months.thisSinceMs, Infinity);
      const before = [...between(months.lastSinceMs, lastDayMs), ...lastDay];
      const today = between(startOf(nowMs, DAY_MS), Infinity);
      // accounts of another gateway may have been imported with what they had used
      const createdAtMs = Math.min(account.createdAtMs, points[0]?.day ?? Infinity);
      return await page(
        c,
        <HomePage
          page={pageOf(c)}
          credits={credits}
          perUsd={dollarRateOf(config)}
          rate={burnRateOf(new Map(points.map(({ day, credits }) => [day, credits])), {
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
          {...await limitsOf(parts, active, { account, lastUse, nowMs })}
          budgets={await namedBudgets(
            parts,
            active.filter((key) => mayChange(key, KEY_UPDATE)),
            session,
          )}
          keys={active.filter(({ id }) => !ofTools.has(id))}
          pools={await poolsOf(parts, session, { own, active, lastUse })}
          models={catalog().routes.length}
          nowMs={nowMs}
        />,
      );
    }),
  );
}

/** Pools of the teams that the visitor is in, with what the visitor's keys spent of them this month. */
async function poolsOf(
  parts: ConsoleParts,
  session: Session,
  { own, active, lastUse }: {
    own: readonly Key[];
    active: readonly Key[];
    lastUse: ReadonlyMap<string, number>;
  },
): Promise<readonly TeamPool[]> {
  const { database, teams, now } = parts;
  const all = await Promise.all([...session.teams.keys()].map((id) => teams.byId(id)));
  const pooled = all.flatMap((team) =>
    team === undefined || team.poolId === null || team.disabledAtMs !== null
      ? []
      : [{ ...team, poolId: team.poolId }]
  );
  if (pooled.length === 0) return [];
  const balances = await balancesOf(database, pooled.map(({ poolId }) => poolId));
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
      : (await reportUsage(parts, query, { teamId: pool.team.id }, { reasons: "none" })).totals,
  })));
}

/** Of each key that was used today the limit that is nearest, if any of it is used; and the limits of a key. */
async function limitsOf(
  { admission }: ConsoleParts,
  active: readonly Key[],
  { account, lastUse, nowMs }: {
    account: Account;
    lastUse: ReadonlyMap<string, number>;
    nowMs: number;
  },
): Promise<{ limits: readonly UsedLimit[]; tier: readonly WindowState[] }> {
  const statusOf = (accountId: string, keyId: string) =>
    admission.accountStatus({ accountId, keyId });
  const recent = active.filter(({ id }) => (lastUse.get(id) ?? 0) >= startOf(nowMs, DAY_MS))
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
async function namedBudgets(
  { database, now, teams }: ConsoleParts,
  keys: readonly Key[],
  { account }: Session,
): Promise<{ budget: Budget; of: string }[]> {
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

function requestsIn(points: readonly { readonly requests: number }[]): number {
  return points.reduce((sum, { requests }) => sum + requests, 0);
}
