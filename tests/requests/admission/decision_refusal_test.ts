/** What a client is told for each way in which a request is not admitted, and when to come again. */

import type { Decision } from "../../../src/money/ledger/mod.ts";
import type { Caller } from "../../../src/people/accounts/mod.ts";
import { refusalOf } from "../../../src/requests/admission/decision_refusal.ts";
import { assertEquals, assertMatch } from "../../assert.ts";

const NOW = Date.UTC(2030, 0, 2, 3, 4, 5);
const MINUTE = { of: "key", span: "minute", limit: 10, used: 3 } as const;
const HOUR = { of: "account", span: "hour", limit: 20, used: 20 } as const;
const BUDGET = {
  owner: "key",
  period: "day",
  credits: 10,
  raise: null,
  spent: 9,
  held: 0,
  renewsAtMs: Date.UTC(2030, 0, 3),
  zone: "UTC",
} as const;

interface Case extends Partial<Omit<Decision, "verdict" | "windows" | "budget">> {
  readonly verdict: string;
  readonly windows?: readonly object[];
  readonly budget?: object;
  readonly atOnce?: number;
  readonly reason: string;
  readonly says: RegExp;
  readonly retryAfterMs?: number;
}

const CASES: readonly Case[] = [
  {
    verdict: "rate",
    windows: [MINUTE],
    atOnce: 2,
    reason: "rate_exceeded",
    says: /^Too many requests at once: the limit is 2 for this key\./,
    retryAfterMs: 1_000,
  },
  // a window that is full, or over since its limit was lowered, says so, whatever is in flight
  ...[{ atOnce: 2 }, {}].flatMap((more) =>
    [10, 11].map((used): Case => ({
      ...more,
      verdict: "rate",
      windows: [{ ...MINUTE, used }],
      reason: "rate_exceeded",
      says: /^Rate limit reached: 10 requests per minute for this key\. .* in 55 s\.$/,
      retryAfterMs: 55_000,
    }))
  ),
  {
    verdict: "rate",
    windows: [MINUTE, HOUR],
    reason: "rate_exceeded",
    says: /^Rate limit reached: 20 requests per hour for this account\. .* in 3355 s\.$/,
    retryAfterMs: 3_355_000,
  },
  {
    verdict: "rate",
    windows: [MINUTE],
    reason: "rate_exceeded",
    says: /^Rate limit reached: 10 requests per minute for this key\./,
    retryAfterMs: 55_000,
  },
  ...[{ atOnce: 2 }, {}].map((more): Case => ({
    ...more,
    verdict: "uncollected",
    reason: "rate_exceeded",
    says: /uncollected charges/,
    retryAfterMs: 2_000,
  })),
  {
    verdict: "unreserved",
    reason: "rate_exceeded",
    says: /Such requests run one at a time/,
    retryAfterMs: 2_000,
  },
  {
    verdict: "budget",
    budget: BUDGET,
    reason: "budget_spent",
    says:
      /^The daily budget of this API key .* at least 5 credits: 9 of 10 credits are spent\. It renews at .*2030.*\. Raise/,
  },
  {
    verdict: "budget",
    budget: { ...BUDGET, owner: "team", period: "life", held: 1, renewsAtMs: null },
    reason: "budget_spent",
    says: /lifetime budget of the team T .* spent, and requests in progress hold 1\. It does not/,
  },
  {
    verdict: "budget",
    budget: { ...BUDGET, owner: "member", raise: { credits: 5, untilMs: 0 } },
    reason: "budget_spent",
    says: /budget of a@b in the team T .* 9 of 15 credits are spent\. It renews/,
  },
  {
    verdict: "budget",
    budget: { ...BUDGET, owner: "account" },
    reason: "budget_spent",
    says: /budget of this account /,
  },
  {
    verdict: "budget",
    budget: BUDGET,
    lentMs: 0,
    reason: "budget_spent",
    says: /^The daily budget of this API key .* What that gateway was lent is free again when/,
  },
  {
    verdict: "budget",
    budget: BUDGET,
    lentMs: 1_001,
    reason: "gateway_unavailable",
    says: /^Part of a budget is lent to a gateway that does not answer.* for another 2 s, /,
    retryAfterMs: 1_001,
  },
  { verdict: "period", reason: "gateway_unavailable", says: /budget cannot be renewed/ },
  { verdict: "credits", lentMs: 0, reason: "gateway_unavailable", says: /a gateway that is gone/ },
  {
    verdict: "credits",
    lentMs: 1_001,
    reason: "gateway_unavailable",
    says: /for another 2 s,/,
    retryAfterMs: 1_001,
  },
  // the gateway may come back before
  {
    verdict: "credits",
    lentMs: 660_000,
    reason: "gateway_unavailable",
    says: /for another 660 s,/,
    retryAfterMs: 60_000,
  },
  {
    verdict: "credits",
    balance: 7,
    windows: [],
    reason: "credits_short",
    says: /^No rate-limit tier covers a balance of 7 credits\./,
  },
  { verdict: "credits", balance: 0, windows: [], reason: "credits_short", says: /is 0 credits\./ },
  { verdict: "credits", balance: 0, reason: "credits_short", says: /is 0 credits\./ },
  ...([
    [4, 0, "balance of 4 credits does not cover\\. Add"],
    [1, 0, "balance of 1 credit does not cover\\. Add"],
    [5, 0, "does not cover, because other requests hold part of it\\."],
    [9, 4, "does not cover, because other requests hold part of it\\."],
    [9, 5, "does not cover, because 5 credits of it pay for other models only\\."],
    [5, 1, "does not cover, because 1 credit of it pay for other models only\\."],
    [4, 4, "balance of 4 credits does not cover\\. Add"],
  ] as const).map(([balance, bound, says]): Case => ({
    verdict: "credits",
    balance,
    bound,
    reason: "credits_short",
    says: new RegExp(`^This request costs at least 5 credits, which the .*${says}`),
  })),
];

Deno.test("each way in which a request is not admitted has its reason, its words and its time to wait", () => {
  for (const { reason, says, retryAfterMs, atOnce = null, ...some } of CASES) {
    const decision = { balance: 100, bound: 0, windows: [MINUTE], ...some } as unknown as Decision;
    const caller = { atOnce, teamName: "T", memberEmail: "a@b" } as unknown as Caller;
    const refusal = refusalOf(decision, { caller, least: 5, nowMs: NOW });
    const what = JSON.stringify(some);
    assertEquals([refusal.reason, refusal.retryAfterMs], [reason, retryAfterMs], what);
    assertMatch(refusal.message, says, what);
  }
});
