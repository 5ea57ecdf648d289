import type { Caller } from "../../people/accounts/mod.ts";
import { type Database, readTogether } from "../../ground/database/mod.ts";
import {
  creditsReading,
  expireLotsOf,
  heldByKeyReading,
  keyBudgetsReading,
  openPeriodsOfKey,
} from "../../money/ledger/mod.ts";
import { describeBudget } from "../../operating/operations/mod.ts";
import { AmountError, wholeIn } from "../../ground/amounts/mod.ts";
import { invalid } from "../../ground/refusal.ts";
import {
  daysSince,
  hoursSince,
  keyTotalsReading,
  untilNow,
  usageReading,
  type UsageSum,
} from "../../money/usage/mod.ts";

const MAX_DAYS = 366;
const MAX_HOURS = 31 * 24;

/**
 * Reads the body of `GET /user/credits`: balance, lots, the budgets of the key and recent usage, in one statement.
 *
 * A key that the pool of a team pays for sees the pool's balance, since requests are rejected without it, and the budgets
 * that apply to it. All other figures are the key's use: only leads and operators see the use of others in the team, and
 * the pool's lots.
 *
 * @param request Caller, query (`days` 1 to 366, `hours` 1 to 744), and the current time in milliseconds.
 * @returns The body as `/openapi.json` describes it.
 * @throws {Refusal} `request_invalid` if a query parameter is invalid.
 */
export async function creditUsage(
  database: Database,
  { caller, query, nowMs }: {
    readonly caller: Pick<Caller, "accountId" | "keyId" | "teamId" | "memberId" | "hasBudget">;
    readonly query: URLSearchParams;
    readonly nowMs: number;
  },
) {
  const { accountId, keyId, teamId, memberId, hasBudget } = caller;
  const days = wholeNumber(query, "days", { byDefault: 30, most: MAX_DAYS });
  const hours = wholeNumber(query, "hours", { byDefault: 48, most: MAX_HOURS });
  const isPaidByPool = teamId !== null && accountId !== memberId;
  const whose = {
    accountIds: [accountId],
    keyIds: isPaidByPool ? [keyId] : undefined,
    untilMs: untilNow(nowMs),
  };
  await expireLotsOf(database, accountId, nowMs);
  if (hasBudget) await openPeriodsOfKey(database, keyId, nowMs);
  const { credits, budgets, byDay, byHour, ofKey, heldByKey } = await readTogether(database, {
    credits: creditsReading(accountId),
    budgets: keyBudgetsReading(keyId, nowMs),
    byDay: usageReading({ ...whose, by: ["day"], sinceMs: daysSince(nowMs, days) }),
    byHour: usageReading({ ...whose, by: ["hour"], sinceMs: hoursSince(nowMs, hours) }),
    ...(isPaidByPool
      ? { ofKey: keyTotalsReading([accountId], keyId), heldByKey: heldByKeyReading(keyId) }
      : {}),
  });
  const [used] = ofKey ?? [];
  const own = isPaidByPool
    ? {
      consumed: used?.credits ?? 0,
      held: heldByKey ?? 0,
      requests: used?.requests ?? 0,
      inputTokens: used?.input_tokens ?? 0,
      outputTokens: used?.output_tokens ?? 0,
      lots: [],
    }
    : credits;
  const tokens = own.inputTokens + own.outputTokens;
  return {
    object: "credit_usage",
    credits_remaining: credits.balance,
    credits_consumed: own.consumed,
    credits_held: own.held,
    requests: own.requests,
    average_tokens_per_request: own.requests === 0
      ? 0
      : Math.round(tokens / own.requests * 100) / 100,
    budgets: budgets.map(describeBudget),
    usage_by_day: byDay.map(({ day, ...used }) => ({
      date: new Date(day).toISOString().slice(0, 10),
      ...shown(used),
    })),
    usage_by_hour: byHour.map(({ hour, ...used }) => ({
      hour: `${new Date(hour).toISOString().slice(0, 13)}:00Z`,
      ...shown(used),
    })),
    lots: own.lots.map(({ id, source, models, granted, remaining, expiresAtMs }) => ({
      id,
      source,
      models,
      granted,
      remaining,
      expires_at: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
    })),
  };
}

function shown({ requests, input_tokens, output_tokens, credits }: UsageSum<never>) {
  return { requests, input_tokens, output_tokens, credits };
}

function wholeNumber(
  query: URLSearchParams,
  name: string,
  { byDefault, most }: { byDefault: number; most: number },
): number {
  const text = query.get(name);
  if (text === null) return byDefault;
  try {
    return wholeIn(text, { min: 1, max: most });
  } catch (error) {
    if (!(error instanceof AmountError)) throw error;
    throw invalid(name, `${name} ${error.message}.`);
  }
}
